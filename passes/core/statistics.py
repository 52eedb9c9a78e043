# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of passes: changes of operation counts, and applications of patterns.

MLIR's wheel is built without the passes' own statistics. Therefore the numbers come from the IR and from Python
patterns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager

from ...bindings.ir import Operation
from ...bindings.navigation import operations_in
from ...bindings.patterns import counting_applications
from ...dialects.core.dialect import registered_dialects
from .instruments import Instrument
from .journal import PassFact

_RUNS = ("runs", "how many operations the pass ran on")
_CHANGE = "how many more of these operations there are"
_APPLIED = "how often this pattern was applied"


class Statistics(Instrument):
    """Instrument that counts per pass. `report()` formats the numbers like mlir-opt."""

    def __init__(self) -> None:
        #: Numbers by name and description, for each anchor and pass, in order of the first run.
        self.numbers: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        self._before: list[Counter[str]] = []
        self._applied: list[Counter[str]] = []
        self._counting: list[AbstractContextManager[Counter[str]]] = []

    def before_pass(self, name: str, op: Operation) -> None:
        self._before.append(operation_counts(op))
        self._counting.append(counting_applications())
        self._applied.append(self._counting[-1].__enter__())

    def after_pass(self, name: str, op: Operation) -> None:
        applied = self._end()
        numbers = self.numbers.setdefault((op.name, name), Counter())
        numbers[_RUNS] += 1
        numbers.update({(pattern, _APPLIED): count for pattern, count in applied.items()})
        after, before = operation_counts(op), self._before.pop()
        for each in sorted({*before, *after}):
            if after[each] != before[each]:
                numbers[each, _CHANGE] += after[each] - before[each]

    def pass_failed(self, name: str, op: Operation) -> None:
        self._end()
        self._before.pop()

    def _end(self) -> Counter[str]:
        self._counting.pop().__exit__(None, None, None)
        return self._applied.pop()

    def facts(self, stage: str) -> Iterator[PassFact]:
        """Yield the facts of a stage: changes of graphs and functions. Skip passes without such changes."""
        for (_, name), numbers in self.numbers.items():
            changes = {what: number for (what, kind), number in numbers.items() if kind == _CHANGE and number}
            operations = {what: number for what, number in changes.items() if _is_of_graph(what)}
            patterns = {what: number for (what, kind), number in numbers.items() if kind == _APPLIED}
            if operations or patterns:
                yield PassFact(stage, name, operations, patterns)

    def report(self, *, by_pass: bool = False) -> str:
        """Return the report as text, grouped by anchor, or by pass name if `by_pass` is set."""
        bar = "===" + "-" * 73 + "==="
        lines = [bar, "... Pass statistics report ...".center(79).rstrip(), bar]
        lines += self._format_by_pass() if by_pass else self._format_by_anchor()
        return "\n".join(lines) + "\n\n"

    def _format_by_anchor(self) -> list[str]:
        lines: list[str] = []
        anchor = ""
        for (op, name), numbers in self.numbers.items():
            lines += [f"'{op}' Pipeline"] if op != anchor else []
            lines += _entry(name, numbers)
            anchor = op
        return lines

    def _format_by_pass(self) -> list[str]:
        together: dict[str, Counter[tuple[str, str]]] = {}
        for (_, name), numbers in self.numbers.items():
            # `+` would drop numbers that are not positive.
            together.setdefault(name, Counter()).update(numbers)
        return [line for name in sorted(together) for line in _entry(name, together[name])]


def _is_of_graph(name: str) -> bool:
    """Check whether an operation belongs to a graph: functions, calls, and operators of dialects other than tir."""
    dialect = name.partition(".")[0]
    return name in ("func.func", "func.call") or (dialect != "tir" and dialect in registered_dialects())


def _entry(name: str, numbers: Counter[tuple[str, str]]) -> list[str]:
    widest = max(len(str(number)) for number in numbers.values())
    longest = max(len(what) for what, _ in numbers)
    rows = [
        f"    (S) {number:{widest}} {what:<{longest}} - {description}"
        for (what, description), number in numbers.items()
    ]
    return [f"  {name}", *rows]


def operation_counts(root: Operation) -> Counter[str]:
    """Count the operations in an operation by name, including the operation itself."""
    return Counter(operation.name for operation in (root.operation, *operations_in(root)))
