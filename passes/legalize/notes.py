# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What legalization tells a journal: the operators that it finds, the rule that took each, and what stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import innermost, operations_in, symbol_name
from ...dialects.core.dialect import row_of
from ...dialects.relax.function_attributes import argument_names
from ..core.facts import KeptFact, LegalizedFact, OperatorFact, origins_of, types_of
from ..core.journal import Journal
from .rules import Rule


class LegalizationNotes:
    """The facts of one run; made only where somebody listens."""

    def __init__(self, journal: Journal, module: Any, is_opaque: Callable[[Any], bool]):
        self._journal = journal
        self._is_opaque = is_opaque
        #: The numbers of operators that no rule has taken yet.
        self._numbers: dict[Any, int] = {}
        self._names: dict[Any, int | str] = {}
        for operation in self._operators(module):
            self._note_operator(operation)
        self._names.clear()

    def _operators(self, module: Operation) -> list[Operation]:
        return list(filter(_is_operator, operations_in(module, self._is_opaque)))

    def _note_operator(self, operation: Operation) -> None:
        number = len(self._numbers)
        inputs = [source for operand in operation.operands for source in self._sources(operand)]
        self._numbers[operation] = number
        self._names.update((result, number) for result in operation.results)
        function = innermost(operation, "func.func")
        name = "" if function is None else symbol_name(function)
        where, sources, types = origins_of(operation), list(dict.fromkeys(inputs)), types_of(operation.results)
        self._journal.add(OperatorFact(number, name, operation.name, where, sources, types))

    def _sources(self, value: Value) -> list[int | str]:
        if value in self._names:
            return [self._names[value]]
        if isinstance(value.owner, ir.Block):
            return _argument_name(value)
        # A constant, or what computes sizes on the way.
        return [source for operand in value.owner.operation.operands for source in self._sources(operand)]

    def taken(self, operation: Operation, rule: Rule, kernels: Sequence[str]) -> None:
        """A rule has taken an operator."""
        number, where = self._numbers.pop(operation, None), origins_of(operation)
        names, function = list(dict.fromkeys(kernels)), rule.function.__name__
        self._journal.add(LegalizedFact(number, operation.name, where, function, rule.target, rule.place, names))

    def finished(self, module: Any) -> None:
        """Tells what has stayed."""
        for operation in self._operators(module):
            calls = str(operation.attributes["func"]).strip('@"') if "func" in operation.attributes else ""
            results = types_of(operation.results)
            self._journal.add(KeptFact(operation.name, origins_of(operation), calls, results))


def _is_operator(operation: Operation) -> bool:
    """What is no value that is known, nor what rules make of operators."""
    row = row_of(operation)
    return row is not None and row.role != "literal" and operation.name != "relax.call_tir"


def _argument_name(argument: Any) -> list[int | str]:
    """An input of the graph by its name; arguments of blocks inside come from elsewhere."""
    function = argument.owner.owner.operation
    return [argument_names(function)[argument.arg_number]] if function.name == "func.func" else []
