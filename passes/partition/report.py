# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a model went to which codegen, and why the rest stayed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, operations_in, symbol_name, text_in, users_of
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.symbols import Dim, dim_add
from ...dialects.core.work import bytes_of
from ..core.external import CODEGEN, external_modules, is_external
from ..core.facts import KeptFact, PartitionFact, origins_of
from ..core.journal import Journal
from ..patterns.match import Refusal
from ..patterns.operators import Op
from ..patterns.tree import Checked, walk
from ..structures.prim_funcs import KnownPrimFuncs, remembering
from .codegen import Composite, find_codegen
from .functions import functions_to_part

# On an operation, while it is seen where it goes.
_NUMBER = "relax.number"
# More than any pattern has parts.
_ALL = 1 << 30


class Reason(NamedTuple):
    """Why an operation stayed, as the nearest pattern says."""

    codegen: str
    pattern: str
    reason: str
    progress: int


class Census:
    """The operators before a partition, and where they are after it."""

    def __init__(
        self, module: Operation, codegens: Sequence[str], functions: Sequence[str], *, plan: str, explain: bool
    ):
        self._module, self._codegens = module, codegens
        self._before = set(map(symbol_name, external_modules(module)))
        self._operators = list(_operators_in(functions_to_part(module, functions, "partition")))
        self._reasons: list[Reason] = []
        if explain:
            explain_each = _Explanation(codegens, plan)
            with remembering(KnownPrimFuncs()):
                self._reasons = [explain_each.of(op) for op in self._operators]
            for number, op in enumerate(self._operators):
                op.attributes[_NUMBER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, module.context), number)
        self._count = len(self._operators)
        del self._operators  # most are gone afterwards

    def tell(self) -> None:
        journal = Journal.active()
        parts = [each for each in external_modules(self._module) if symbol_name(each) not in self._before]
        calls = defaultdict(list)
        for call in operations_in(self._module, is_external):
            if call.name == "relax.call_external":
                calls[ir.SymbolRefAttr(call.attributes["func"]).value[0]].append(call)
        if journal is not None:
            for codegen in self._codegens:
                own = [each for each in parts if text_in(each, CODEGEN) == codegen]
                journal.add(_fact(codegen, self._count, own, calls))
            self._tell_kept(journal)
        for op in operations_in(self._module):
            if _NUMBER in op.attributes:
                del op.attributes[_NUMBER]

    def _tell_kept(self, journal: Journal) -> None:
        for op in operations_in(self._module, is_external):
            if _NUMBER in op.attributes:
                why = self._reasons[ir.IntegerAttr(op.attributes[_NUMBER]).value]
                journal.add(KeptFact(op.name, origins_of(op), why.codegen, why.pattern, why.reason))


def _operators_in(functions: Sequence[Operation]) -> Iterator[Operation]:
    """What computes something."""
    for function in functions:
        for op in operations_in(function):
            row = row_of(op)
            if row is not None and row.role not in ("literal", "shape"):
                yield op


def _fact(
    codegen: str, count: int, parts: Sequence[Operation], calls: Mapping[str, Sequence[Operation]]
) -> PartitionFact:
    matched: Counter[str] = Counter()
    read: Dim = 0
    written: Dim = 0
    for part in parts:
        for function in functions_in(part):
            matched[text_in(function, "relax.composite")] += len(list(_operators_in([function])))
        for call in calls[symbol_name(part)]:
            for value in call.operands:
                read = dim_add(read, bytes_of(decode(value.type)))
            for value in call.results:
                written = dim_add(written, bytes_of(decode(value.type)))
    sizes = [size if isinstance(size, int) else None if size is None else str(size) for size in (read, written)]
    patterns = {name: number for name, number in matched.items() if number}
    return PartitionFact(codegen, count, patterns, [symbol_name(part) for part in parts], *sizes)


class _Explanation:
    """Why codegens' patterns do not match operations."""

    def __init__(self, codegens: Sequence[str], plan: str):
        chosen = "" if plan == "priority" else f"the plan '{plan}' did not take it, or "
        self._matches = f"matches, but {chosen}what it needs went elsewhere, or cannot move"
        self._alone = "matches, but is taken only beside others of the codegen, and none is next to it"
        composites = [each for codegen in codegens for each in find_codegen(codegen).composites()]
        #: By the operations that they end with, and by all that they have in them.
        self._ending: dict[str, list[Composite]] = defaultdict(list)
        self._holding: dict[str, list[Composite]] = defaultdict(list)
        for each in composites:
            for name in each.heads:
                self._ending[name].append(each)
            inside = {name for part in walk(each.pattern) if isinstance(part, Op) for name in part.names}
            for name in inside - each.heads:
                self._holding[name].append(each)

    def of(self, op: Operation) -> Reason:
        reasons = [self._ending_with(each, op) for each in self._ending[op.name]]
        reasons += [self._around(each, op) for each in self._holding[op.name]]
        if not reasons:
            return Reason("", "", f"no pattern has {op.name}", -1)
        return max(reasons, key=lambda each: each.progress)

    def _ending_with(self, composite: Composite, op: Operation) -> Reason:
        refusal = composite.why_not(op)
        if refusal is not None:
            return _reason(composite, refusal)
        why = self._alone if composite.beside else self._matches
        return Reason(composite.codegen, composite.name, why, 2 * _ALL)

    def _around(self, composite: Composite, op: Operation) -> Reason:
        users = [user for value in op.results for user in users_of(value)]
        for user in users:
            if user.name in composite.heads and (refusal := composite.why_not(user)) is not None:
                return _reason(composite, refusal)
        there = ", ".join(dict.fromkeys(user.name for user in users)) or "nothing"
        ends = " or ".join(sorted(composite.heads))
        return Reason(
            composite.codegen, composite.name, f"{op.name} is used by {there}; the pattern ends with {ends}", 0
        )


def _reason(composite: Composite, refusal: Refusal) -> Reason:
    # Where a check says no, all else fits.
    progress = _ALL if isinstance(refusal.part, Checked) else refusal.progress
    return Reason(composite.codegen, composite.name, str(refusal), progress)
