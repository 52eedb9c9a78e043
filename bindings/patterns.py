# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting with patterns: to a fixed point (`apply_greedy`), or in a single walk (`apply_walk`).

    def remove_double_negation(op, rewriter):
        inner = defining_op(op.x, "relax.negative")
        return inner.x if inner is not None else None

    apply_greedy(module, [Pattern("relax.negative", remove_double_negation)])

A pattern's function returns one of:

- the replacement of the operation's results: a value, an operation, a list, or () for no or unused results;
- UPDATED if the function has changed the operation in place;
- None if the pattern does not apply.

New operations are inserted before the matched operation, with its location. In `apply_greedy`, a pattern may also
replace other operations, and erase dead operations (`op.erase()`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..support.callbacks import Entrance, callback, enters, fragile
from ..support.context import holding
from ..support.errors import RelaxError
from .handles import erasing
from .ir import Location, Operation, OperationBase, OpView
from .mlir import ir, rewrite
from .navigation import Holder, defining_op, operations_in
from .rewriting import (
    UPDATED,
    Outcome,
    PatternCall,
    blaming_at,
    function_name,
    is_used,
    located_error,
    op_name,
    pattern_error,
    replacement,
)

__all__ = ["UPDATED", "Outcome", "Pattern", "Rewriter", "apply_greedy", "apply_walk", "defining_op"]


# Number of applications per round that never counts as endless.
_FEW = 1000


#: `function(op, rewriter)`: returns the replacement of the operation's results.
_Function = Callable[[OpView, "Rewriter"], Outcome]
#: Predicate on the names of an operation and of its operands' defining operations (empty for arguments).
_MayApply = Callable[[str, Sequence[str]], bool]


class _Candidate(NamedTuple):
    """Pattern for operations of one name."""

    label: str
    function: _Function
    after: frozenset[str]
    only_after: frozenset[str]
    may_match: _MayApply | None

    @property
    def asks_makers(self) -> bool:
        return bool(self.after or self.only_after or self.may_match)

    def may_apply(self, name: str, makers: Sequence[str]) -> bool:
        if self.only_after and not self.only_after.issuperset(makers):
            return False
        if self.after and self.after.isdisjoint(makers):
            return False
        return self.may_match is None or self.may_match(name, makers)


class Pattern(NamedTuple):
    """Function that rewrites operations of one or several kinds. Higher benefits are tried first."""

    ops: object
    function: _Function
    benefit: int = 1
    name: str = ""
    #: Names of operations. At least one operand must be defined by one of them, as inner in outer(inner(x)).
    after: Sequence[str] = ()
    #: Names of operations. All operands must be defined by one of them.
    only_after: Sequence[str] = ()
    #: Filter on the names of the operation and of its operands' defining operations, evaluated once per combination.
    may_match: _MayApply | None = None

    @property
    def label(self) -> str:
        return self.name or function_name(self.function)

    @property
    def op_names(self) -> list[str]:
        ops = self.ops if isinstance(self.ops, (list, tuple, set, frozenset)) else (self.ops,)
        return [op_name(op) for op in ops]


class _Candidates(NamedTuple):
    """Patterns for operations of one name, in the order of trial."""

    patterns: list[_Candidate]
    #: True if a pattern filters by the operands' defining operations.
    ask_makers: bool


class PatternSet:
    """Patterns grouped by the names of matched operations. A set can serve any number of runs."""

    def __init__(self, patterns: Iterable[Pattern]):
        self.patterns = tuple(patterns)
        by_name = _group_by_name(self.patterns)
        self.by_name: Mapping[str, _Candidates] = {
            name: _Candidates(value, any(each.asks_makers for each in value)) for name, value in by_name.items()
        }


class Rewriter:
    """Additional actions for patterns, besides the creation of operations."""

    def __init__(self, driver: _Driver):
        self._driver = driver
        #: The bindings' own rewriter, which checks nothing.
        self.mlir_rewriter: Any = None

    def replace(self, op: OperationBase, values: object) -> None:
        """Replace an operation other than the matched operation. Not available in a walk."""
        self._driver.replace_other(self.mlir_rewriter, op.operation, values)


@enters
def apply_greedy(
    op: Holder, patterns: PatternSet | Iterable[Pattern], *, max_iterations: int = 10, what: str = "rewriting"
) -> bool:
    """Apply patterns to all nested operations until none applies, and remove dead pure operations.

    Returns True if a pattern applied. Raises RelaxError if patterns still apply after `max_iterations` rounds, and any
    exception of a pattern.
    """
    if max_iterations < 1:
        raise RelaxError(f"max_iterations must be 1 or more, got {max_iterations}")
    driver = _Driver(op, patterns, what, rounds=max_iterations)
    config = rewrite.GreedyRewriteConfig()
    config.max_iterations = max_iterations
    config.use_top_down_traversal = True
    # Apply nothing but the patterns. Upstream's folds are part of `canonicalize`.
    config.enable_folding = False
    config.enable_constant_cse = False
    config.region_simplification_level = rewrite.GreedySimplifyRegionLevel.DISABLED
    driver.run(lambda frozen: rewrite.apply_patterns_and_fold_greedily(driver.root, frozen, config))
    return bool(driver.applied)


@enters
def apply_walk(op: Holder, patterns: PatternSet | Iterable[Pattern], *, what: str = "rewriting") -> bool:
    """Apply patterns once to each nested operation.

    Operations that patterns create are not visited.

    A walk is faster than apply_greedy. Patterns may only erase or replace the matched operation. Returns True if a
    pattern applied.
    """
    driver = _Driver(op, patterns, what, rounds=0)
    driver.run(lambda frozen: rewrite.walk_and_apply_patterns(driver.root, frozen))
    return bool(driver.applied)


_applications: ContextVar[Counter[str] | None] = ContextVar("applications", default=None)


@contextmanager
def counting_applications() -> Iterator[Counter[str]]:
    """Count the applications of each pattern inside, by name."""
    counter: Counter[str] = Counter()
    with holding(_applications, counter):
        yield counter


def count_applications(name: str, count: int) -> None:
    """Count rewrites without a driver as applications of the named pattern."""
    if (counter := _applications.get()) is not None and count:
        counter[name] += count


class _Driver:
    """Single run of a C++ driver with Python patterns."""

    def __init__(self, op: Holder, patterns: PatternSet | Iterable[Pattern], what: str, rounds: int):
        self.root = op.operation
        self.applied: Counter[tuple[str, str]] = Counter()
        self._what = what
        #: 0 for a walk, which visits each operation once.
        self._rounds = rounds
        self._total, self._most, self._is_counted = 0, rounds * _FEW, False
        self._last: tuple[str, str, Location] | None = None
        self._changed_others = False
        self._by_name = (patterns if isinstance(patterns, PatternSet) else PatternSet(patterns)).by_name
        #: Cached patterns for an operation name and the names of its operands' defining operations.
        self._behind: dict[tuple[str, tuple[str, ...]], list[_Candidate]] = {}
        self._rewriter = Rewriter(self)
        self._call = PatternCall(self.root)

    def run(self, work: Callable[[object], object]) -> None:
        """Run the driver. A driver can run only once."""
        self._call.erase_other = self._erase_other
        try:
            self._run(work)
        finally:
            # Break reference cycles, which would keep the module alive until the next garbage collection.
            self._call.erase_other = None
            del self._rewriter

    def _run(self, work: Callable[[object], object]) -> None:
        context = self.root.context
        with erasing(self.root, self._what), context, self._call:
            patterns = rewrite.RewritePatternSet(context)
            match = callback(failed=True, clean_up=self._call.discard)(self._match)
            for name in self._by_name:
                patterns.add(name, match)
            frozen = patterns.freeze()
            try:
                with Entrance() as entrance:
                    work(frozen)
            except RuntimeError:
                # Raised if the patterns do not converge. Exceptions of patterns are stored in the entrance.
                if self._last is None:
                    raise
                raise self._endless(self._last) from None
            entrance.check()
        for (name, _), count in self.applied.items():
            count_applications(name, count)

    def _match(self, op: OpView, mlir_rewriter: object) -> bool:
        """Try the patterns for an operation. Return True if nothing was changed, as MLIR expects."""
        name = op.operation.name
        possible, ask_makers = self._by_name[name]
        if ask_makers and not (possible := self._possible(name, _makers_of(op), possible)):
            return True
        self._rewriter.mlir_rewriter = mlir_rewriter
        with self._call.start(op):
            return not any(self._apply(each.label, each.function, op) for each in possible)

    def _possible(self, name: str, makers: tuple[str, ...], candidates: list[_Candidate]) -> list[_Candidate]:
        """Return the candidates that may apply to an operation with these defining operations of operands."""
        if (found := self._behind.get((name, makers))) is None:
            found = self._behind[name, makers] = [
                candidate for candidate in candidates if candidate.may_apply(name, makers)
            ]
        return found

    def _apply(self, name: str, function: _Function, op: OpView) -> bool:
        self._changed_others, self._call.pattern = False, name
        try:
            outcome = function(op, self._rewriter)
        except (Exception, SystemExit):
            with blaming_at(f"pattern '{name}' for '{op.operation.name}'", function, op):
                raise
        if outcome is None and not self._changed_others:
            self._call.discard()
            return False
        operation = op.operation
        self._count(name, operation.name)
        if outcome is UPDATED or outcome is None:
            self._call.place()
        else:
            self._replace(self._rewriter.mlir_rewriter, operation, outcome)
        return True

    @fragile
    def _replace(self, mlir_rewriter: Any, operation: Operation, outcome: object) -> None:
        if isinstance(outcome, tuple) and not outcome and len(operation.results) and not is_used(operation):
            # Unused results need no replacement.
            self._call.discard()
            mlir_rewriter.erase_op(operation)
            return
        values = replacement(outcome, operation.results.types, self._call.pattern, operation)
        self._call.place()
        mlir_rewriter.replace_op(operation, values)

    def replace_other(self, mlir_rewriter: object, operation: Operation, outcome: object) -> None:
        if self._call.is_around_match(operation):
            raise pattern_error(self._call.pattern, operation, "replaces what it was called for: return the values")
        self._refuse_in_walk(operation)
        self._replace(mlir_rewriter, operation, outcome)
        self._changed_others = True

    @fragile
    def _erase_other(self, operation: Operation) -> None:
        self._refuse_in_walk(operation)
        self._rewriter.mlir_rewriter.erase_op(operation)
        self._changed_others = True

    def _refuse_in_walk(self, operation: Operation) -> None:
        if not self._rounds:
            raise pattern_error(self._call.pattern, operation, "erases or replaces another operation, not so in a walk")

    def _count(self, name: str, op: str) -> None:
        self.applied[name, op] += 1
        self._last = (name, op, self._call.location)
        self._total += 1
        if self._total <= self._most or not self._rounds:
            return
        if self._is_counted:
            raise self._endless(self._last)
        # The rounds of the greedy driver set no bound: within a round, a pattern can feed itself forever.
        self._is_counted = True
        self._most = self._rounds * max(len(operations_in(self.root)), _FEW)

    def _endless(self, last: tuple[str, str, Location]) -> RelaxError:
        name, op, location = last
        count, rounds = self.applied[name, op], self._rounds
        message = f"{self._what}: patterns still apply after {rounds} round{'' if rounds == 1 else 's'}"
        message += f"; last applied: '{name}' to '{op}' ({count} in all)"
        return located_error(message, location)


def _makers_of(op: OpView) -> tuple[str, ...]:
    """Return the names of the operands' defining operations, with "" for arguments."""
    owners = [value.owner for value in op.operation.operands]
    return tuple(["" if type(owner) is ir.Block else owner.operation.name for owner in owners])


def _group_by_name(patterns: Iterable[Pattern]) -> dict[str, list[_Candidate]]:
    """Group patterns by the name of the matched operation, in the order of trial."""
    by_name: dict[str, list[_Candidate]] = {}
    # The sort is stable: equal benefits keep the given order.
    for pattern in sorted(patterns, key=lambda pattern: -pattern.benefit):
        makers = frozenset(pattern.after), frozenset(pattern.only_after)
        candidate = _Candidate(pattern.label, pattern.function, *makers, pattern.may_match)
        for name in pattern.op_names:
            by_name.setdefault(name, []).append(candidate)
    return by_name
