# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions, one operation after the other. Each is prepared once, its attributes read, and then run often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from ..bindings.ir import Block, Operation
from ..bindings.navigation import body_of, functions_in, has_body, operations_of, symbol_name
from ..dialects.core.codec import decode
from ..dialects.core.dialect import row_of
from ..dialects.core.infos import Info, TensorInfo
from ..support.errors import OptionError
from ..support.suggest import suggest
from .held_values import Numbers
from .meanings import prepare_operator
from .registry import find_step
from .sites import Body, Frame, Line, Site, Slots, Step, refusal

#: Given each operator of the graph with its step, what is done instead: it may look at values, or change them.
Around = Callable[[Operation, Step], Step]
# Operations that end a block; what they are given is what the block gives.
_ENDS = frozenset("func.return scf.yield scf.condition scf.reduce.return linalg.yield tensor.yield".split())


class _Prepared(NamedTuple):
    body: Body
    slots: Slots
    inputs: list[Info]


class Machine:
    """Runs the functions of one module; `wide`: with all floats in f64.

    `functions` are what it calls by name (relax.call_dps_packed). `around` may put something around operators' steps.
    """

    def __init__(
        self,
        module: Operation,
        *,
        wide: bool = False,
        functions: Mapping[str, Callable[..., object]] | None = None,
        around: Around | None = None,
    ) -> None:
        self.module = module
        self.numbers = Numbers(wide)
        self.functions: Mapping[str, Callable[..., Any]] = dict(functions or {})
        self._around = around
        self._operations = {symbol_name(each): each for each in functions_in(module)}
        self._prepared: dict[str, _Prepared] = {}

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """What a function returns. Arguments that it writes to are changed."""
        function = self._function(name)
        frame = Frame(len(function.slots))
        for index, (info, argument) in enumerate(zip(function.inputs, arguments, strict=True)):
            if isinstance(info, TensorInfo) and (problem := frame.bind(info.shape, argument.shape)):
                raise OptionError(f"@{name}: argument #{index} {problem}")
        with numpy.errstate(all="ignore"):
            return function.body.run(frame, arguments)

    def inputs(self, name: str) -> list[Info]:
        """What a function takes."""
        return self._function(name).inputs

    def _function(self, name: str) -> _Prepared:
        if name not in self._prepared:
            if name not in self._operations:
                raise OptionError(f"there is no function @{name} in the module{suggest(name, self._operations)}")
            operation = self._operations[name]
            if not has_body(operation):
                raise refusal(operation, f"@{name} is declared only: what it does is not in the module")
            block, slots = body_of(operation), Slots()
            inputs = [decode(argument.type) for argument in block.arguments]
            self._prepared[name] = _Prepared(self.prepared(block, slots), slots, inputs)
        return self._prepared[name]

    def prepared(self, block: Block, slots: Slots) -> Body:
        arguments = tuple(slots.of(argument) for argument in block.arguments)
        lines: list[Line] = []
        for operation in operations_of(block):
            if operation.name in _ENDS:
                return Body(arguments, lines, tuple(map(slots.of, operation.operands)), operation)
            lines.append(self._line(operation, slots))
        return Body(arguments, lines, (), None)

    def _line(self, operation: Operation, slots: Slots) -> Line:
        site = Site(self, operation, slots)
        run = self._step(site)
        operands, results = (tuple(map(slots.of, values)) for values in (operation.operands, operation.results))
        infos = [decode(type_) for type_ in operation.results.types]
        checked = tuple((slot, info) for slot, info in zip(results, infos, strict=True) if isinstance(info, TensorInfo))
        return Line(run, operands, results, operation, checked)

    def _step(self, site: Site) -> Step:
        operation = site.operation
        prepare = find_step(operation.name)
        if prepare is not None:
            return prepare(site)
        row = row_of(operation)
        if row is None:
            raise site.refusal("the reference does not know this operation")
        run = prepare_operator(site, row)
        return run if self._around is None else self._around(operation, run)
