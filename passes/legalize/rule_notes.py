# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Journal entries of legalization: the operators found, and the rule that legalized each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import BlockArgument, Operation, Value
from ...bindings.navigation import innermost, operations_in, symbol_name
from ...dialects.core.dialect import row_of
from ...dialects.relax.function_attributes import argument_names
from ..core.facts import LegalizedFact, OperatorFact, origins_of, types_of
from ..core.journal import Journal
from ..core.quoting import Quoter
from .rules import Rule


class LegalizationNotes:
    """Journal facts of one run, created only if a journal is active."""

    def __init__(self, journal: Journal, module: Operation, is_opaque: Callable[[Operation], bool]):
        self._journal = journal
        #: Numbers of the operators that no rule has legalized yet.
        self._numbers: dict[Operation, int] = {}
        self._names: dict[Value, int | str] = {}
        quoters: dict[Operation, Quoter] = {}
        for operation in filter(_is_operator, operations_in(module, is_opaque)):
            function = innermost(operation, "func.func")
            if function is not None and function not in quoters:
                arguments = function.regions[0].blocks[0].arguments
                quoters[function] = Quoter(dict(zip(arguments, argument_names(function), strict=True)))
            self._note_operator(operation, "" if function is None else quoters[function].quote(operation))
        self._names.clear()

    def _note_operator(self, operation: Operation, text: str) -> None:
        number = len(self._numbers)
        inputs = [source for operand in operation.operands for source in self._sources(operand)]
        self._numbers[operation] = number
        self._names.update((result, number) for result in operation.results)
        function = innermost(operation, "func.func")
        name = "" if function is None else symbol_name(function)
        where, sources, types = origins_of(operation), list(dict.fromkeys(inputs)), types_of(operation.results)
        self._journal.add(OperatorFact(number, name, operation.name, where, sources, types, text))

    def _sources(self, value: Value) -> list[int | str]:
        if value in self._names:
            return [self._names[value]]
        if isinstance(value, BlockArgument):
            return _argument_name(value)
        # A constant, or an operation that computes sizes.
        return [source for operand in value.owner.operation.operands for source in self._sources(operand)]

    def taken(self, operation: Operation, rule: Rule, kernels: Sequence[str]) -> None:
        """Record the rule that legalized an operator."""
        number, where = self._numbers.pop(operation, None), origins_of(operation)
        names, function = list(dict.fromkeys(kernels)), rule.function.__name__
        self._journal.add(LegalizedFact(number, operation.name, where, function, rule.target, rule.place, names))


def _is_operator(operation: Operation) -> bool:
    """Check for an operator that needs a rule: neither a literal nor a call that rules create."""
    row = row_of(operation)
    return row is not None and row.role != "literal" and operation.name != "relax.call_tir"


def _argument_name(argument: BlockArgument) -> list[int | str]:
    """Return the name of a graph's input. Arguments of nested blocks have none."""
    function = argument.owner.owner.operation
    return [argument_names(function)[argument.arg_number]] if function.name == "func.func" else []
