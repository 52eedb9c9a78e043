# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report of a partition: the operators that each codegen took, and why the others stayed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import functions_in, operations_in, symbol_name, text_in, users_of
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.ir_attributes import CODEGEN, COMPOSITE, PART_NUMBER, PART_REFUSED
from ....dialects.core.symbols import Dim, dim_add
from ....dialects.core.work import bytes_of
from ...core.external import external_modules, is_external
from ...core.facts import KeptFact, PartitionFact, origins_of
from ...core.journal import Journal
from ...kernels.structures.prim_funcs import KnownPrimFuncs, remembering
from ...patterns.match import Refusal
from ...patterns.operator_patterns import Op
from ...patterns.tree import Checked, walk
from .codegen import Composite, find_codegen
from .external_functions import functions_to_part

# More than the number of parts of any pattern.
_ALL = 1 << 30


class Reason(NamedTuple):
    """Reason why an operation stayed, by the nearest pattern."""

    codegen: str
    pattern: str
    reason: str
    progress: int
    #: Numbers of the matched operations if the pattern matches. The fate of the match is then the reason.
    matched: Sequence[int] = ()


class Census:
    """Operators before a partition, and where they are afterwards."""

    def __init__(
        self, module: Operation, codegens: Sequence[str], functions: Sequence[str], *, plan: str, explain: bool
    ):
        self._module, self._codegens = module, codegens
        self._before = set(map(symbol_name, external_modules(module)))
        self._operators = list(operators_in(functions_to_part(module, functions, "partition")))
        self._reasons: list[list[Reason]] = []
        self._shown: list[str] = []
        if explain:
            with remembering(KnownPrimFuncs()):
                explain_each = _Explanation(codegens, plan, self._operators)
                self._reasons = [explain_each.of(op) for op in self._operators]
            self._shown = list(map(_op_text, self._operators))
            for number, op in enumerate(self._operators):
                op.attributes[PART_NUMBER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, module.context), number)
        self._count = len(self._operators)
        del self._operators  # the partition erases most of them

    def tell(self) -> None:
        journal = Journal.active()
        parts = [module for module in external_modules(self._module) if symbol_name(module) not in self._before]
        calls = defaultdict(list)
        for call in operations_in(self._module, is_external):
            if call.name == "relax.call_external":
                calls[ir.SymbolRefAttr(call.attributes["func"]).value[0]].append(call)
        if journal is not None:
            for codegen in self._codegens:
                own = [part for part in parts if text_in(part, CODEGEN) == codegen]
                journal.add(_fact(codegen, self._count, own, calls))
            self._tell_kept(journal, {number: name for part in parts for number, name in _patterns_in(part)})
        for op in operations_in(self._module):
            for name in (PART_NUMBER, PART_REFUSED):
                if name in op.attributes:
                    del op.attributes[name]

    def _tell_kept(self, journal: Journal, gone: Mapping[int, str]) -> None:
        """Note the operations that stayed. `gone` has the patterns of operations that went to codegens, by number."""
        for op in operations_in(self._module, is_external):
            if PART_NUMBER in op.attributes:
                for why in self._reasons[_number(op)]:
                    reason = self._real(why, op, gone) if why.matched else why.reason
                    match = f"{why.pattern} {max(why.matched)}" if why.matched else ""
                    journal.add(KeptFact(op.name, origins_of(op), why.codegen, why.pattern, reason, match))

    def _real(self, why: Reason, op: Operation, gone: Mapping[int, str]) -> str:
        """Return the reason why an operation stayed although its pattern matches."""
        if (elsewhere := next((number for number in why.matched if number in gone), None)) is not None:
            return f"matches, but {self._shown[elsewhere]} went to {gone[elsewhere]}"
        return f"matches, but {text_in(op, PART_REFUSED)}" if PART_REFUSED in op.attributes else why.reason


def _op_text(op: Operation) -> str:
    """Return an operation with its node, for a sentence."""
    node = next(iter(origins_of(op)), "")
    return f"{op.name} ({node})" if node else op.name


def _number(op: Operation) -> int:
    return int(ir.IntegerAttr(op.attributes[PART_NUMBER]).value)


def _patterns_in(part: Operation) -> Iterator[tuple[int, str]]:
    """Yield the operations of a part by number, with the patterns that matched them."""
    for function in functions_in(part):
        for op in operations_in(function):
            if PART_NUMBER in op.attributes:
                yield _number(op), text_in(function, COMPOSITE)


def operators_in(functions: Sequence[Operation]) -> Iterator[Operation]:
    """Yield the operations that compute, without literals and shapes."""
    for function in functions:
        for op in operations_in(function):
            row = row_of(op)
            if row is not None and row.role not in ("literal", "shape"):
                yield op


def _fact(
    codegen: str, count: int, parts: Sequence[Operation], calls: Mapping[str, Sequence[Operation]]
) -> PartitionFact:
    of_parts = {symbol_name(part): _count_matches(part) for part in parts}
    read: Dim = 0
    written: Dim = 0
    for part in parts:
        for call in calls[symbol_name(part)]:
            for value in call.operands:
                read = dim_add(read, bytes_of(decode(value.type)))
            for value in call.results:
                written = dim_add(written, bytes_of(decode(value.type)))
    sizes = [size if isinstance(size, int) else None if size is None else str(size) for size in (read, written)]
    matched = sum(of_parts.values(), Counter())
    return PartitionFact(codegen, count, dict(matched), list(of_parts), sizes[0], sizes[1], of_parts)


def _count_matches(part: Operation) -> Counter[str]:
    """Count the operators of a part that each pattern has matched."""
    return sum(
        (
            Counter({text_in(function, COMPOSITE): len(list(operators_in([function])))})
            for function in functions_in(part)
        ),
        Counter(),
    )  # the addition drops zeros


class _Explanation:
    """Reasons why patterns of codegens do not match operations."""

    def __init__(self, codegens: Sequence[str], plan: str, operators: Sequence[Operation]):
        self._matches = f"matches, but the plan '{plan}' did not take it"
        self._alone = "matches, but is taken only together with others of the codegen, and none is adjacent"
        composites = [each for codegen in codegens for each in find_codegen(codegen).composites()]
        #: Patterns by the operations that they end with, and by all operations in them.
        self._ending: dict[str, list[Composite]] = defaultdict(list)
        self._holding: dict[str, list[Composite]] = defaultdict(list)
        for each in composites:
            for name in each.heads:
                self._ending[name].append(each)
            inside = {name for part in walk(each.pattern) if isinstance(part, Op) for name in part.names}
            for name in inside - each.heads:
                self._holding[name].append(each)
        numbers = {op: number for number, op in enumerate(operators)}
        #: The first pattern that matches each operation, by itself or with others.
        self._matched: dict[Operation, Reason] = {}
        for op in operators:
            for composite in self._ending[op.name]:
                if (match := next(composite.matches(op), None)) is not None:
                    reason = self._reason_of_match(
                        composite, [numbers[operation] for operation in match.operations if operation in numbers]
                    )
                    self._matched |= {
                        operation: reason for operation in match.operations if operation not in self._matched
                    }

    def _reason_of_match(self, composite: Composite, matched: Sequence[int]) -> Reason:
        why = self._alone if composite.beside else self._matches
        return Reason(composite.codegen, composite.name, why, 2 * _ALL, matched)

    def of(self, op: Operation) -> list[Reason]:
        """Return the reason of the nearest pattern, and of other codegens with a check that refuses the operation."""
        if op in self._matched:
            return [self._matched[op]]
        reasons = [self._ending_with(composite, op) for composite in self._ending[op.name]]
        reasons += [self._explain(composite, op) for composite in self._holding[op.name]]
        if not reasons:
            return [Reason("", "", f"no pattern has {op.name}", -1)]
        nearest = max(reasons, key=lambda reason: reason.progress)
        checked = {reason.codegen: reason for reason in reversed(reasons) if reason.progress >= _ALL}
        return [nearest, *(checked[name] for name in reversed(checked) if name != nearest.codegen)]

    def _ending_with(self, composite: Composite, op: Operation) -> Reason:
        refusal = composite.why_not(op)
        return self._reason_of_match(composite, ()) if refusal is None else _reason(composite, refusal)

    def _explain(self, composite: Composite, op: Operation) -> Reason:
        users = [user for value in op.results for user in users_of(value)]
        for end in _ends(op, composite):
            if (refusal := composite.why_not(end)) is not None:
                return _reason(composite, refusal)
        there = ", ".join(dict.fromkeys(user.name for user in users)) or "nothing"
        ends = " or ".join(sorted(composite.heads))
        return Reason(
            composite.codegen, composite.name, f"{op.name} is used by {there}; the pattern ends with {ends}", 0
        )


def _ends(op: Operation, composite: Composite) -> Iterator[Operation]:
    """Yield the operations that a pattern can end with, behind an operation and operations of the pattern."""
    inside = {name for part in walk(composite.pattern) if isinstance(part, Op) for name in part.names}
    seen = {op}
    pending = [op]
    while pending:
        for user in (user for value in pending.pop(0).results for user in users_of(value)):
            if user not in seen and user.name in inside:
                seen.add(user)
                pending.append(user)
                if user.name in composite.heads:
                    yield user


def _reason(composite: Composite, refusal: Refusal) -> Reason:
    # A check only runs if all else fits.
    progress = _ALL if isinstance(refusal.part, Checked) else refusal.progress
    return Reason(composite.codegen, composite.name, str(refusal), progress)
