# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions, one operation after the other. Each is prepared once, its attributes read, and then run often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy

from ..bindings.ir import Block, Operation
from ..bindings.navigation import body_of, functions_in, has_body, operations_of, symbol_name
from ..dialects.core.codec import decode
from ..dialects.core.dialect import row_of
from ..dialects.core.infos import Info
from ..support.errors import OptionError, RefusalError
from ..support.suggest import suggest
from .held_values import Numbers
from .meanings import prepare_operator
from .registry import find_step
from .sites import Body, Frame, Line, Site, Slots, Step, has_sizes, refusal

#: Told of each operation's results as they are known: the operation, and its results' values.
Observer = Callable[[Operation, Sequence[Any]], None]
# Operations that end a block; what they are given is what the block gives.
_ENDS = frozenset("func.return scf.yield scf.condition scf.reduce.return linalg.yield tensor.yield".split())


class _Function(NamedTuple):
    body: Body
    slots: Slots
    inputs: list[Info]


def _nothing(frame: Frame, *operands: Any) -> None:
    """In the place of what cannot be run."""


class Machine:
    """Runs the functions of one module; `wide`: with all floats in f64.

    `functions` are what it calls by name (relax.call_dps_packed). `observe` is told of the results of all operations of
    the graph, in the order in which they are known.
    """

    def __init__(
        self,
        module: Operation,
        *,
        wide: bool = False,
        functions: Mapping[str, Callable[..., object]] | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.module = module
        self.numbers = Numbers(wide)
        self.functions: Mapping[str, Callable[..., Any]] = dict(functions or {})
        self.keys = count()
        self._observe = observe
        self._operations = {symbol_name(each): each for each in functions_in(module)}
        self._prepared: dict[str, _Function] = {}
        self._preparing: list[str] = []
        self._problems: list[RefusalError] = []
        self._modules: dict[str, Machine] = {}

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """What a function returns. Arguments that it writes to are changed."""
        function = self._function(name)
        frame = Frame(len(function.slots))
        for index, (info, argument) in enumerate(zip(function.inputs, arguments, strict=True)):
            if problem := frame.learn(info, argument):
                raise OptionError(f"@{name}: argument #{index} {problem}")
        with numpy.errstate(all="ignore"):
            return function.body.run(frame, arguments)

    def function(self, name: str) -> Operation:
        """Where it stands in the module."""
        return self._operations[name]

    def inputs(self, name: str) -> list[Info]:
        """What a function takes."""
        return self._function(name).inputs

    def inside(self, name: str) -> Machine:
        """What runs the functions of a module in this one."""
        if name not in self._modules:
            found = (each for each in operations_of(body_of(self.module)) if each.name == "builtin.module")
            module = next(each for each in found if symbol_name(each) == name)
            self._modules[name] = Machine(
                module, wide=self.numbers.wide, functions=self.functions, observe=self._observe
            )
        return self._modules[name]

    def prepare(self, name: str) -> None:
        """Prepares a function and all that it calls. All that cannot be run is said in one error."""
        if name in self._prepared or name in self._preparing:
            return
        self._preparing.append(name)
        try:
            self._prepared[name] = self._prepare(name)
        finally:
            self._preparing.pop()
        if self._problems and not self._preparing:
            first, *others = self._problems
            self._problems.clear()
            self._prepared.clear()
            diagnostics = [each for problem in (first, *others) for each in problem.diagnostics]
            raise first.altered(notes=list(map(str, others)), diagnostics=diagnostics)

    def _prepare(self, name: str) -> _Function:
        if name not in self._operations:
            raise OptionError(f"there is no function @{name} in the module{suggest(name, self._operations)}")
        operation = self._operations[name]
        if not has_body(operation):
            raise refusal(operation, f"@{name} is declared only: what it does is not in the module")
        block, slots = body_of(operation), Slots()
        inputs = [decode(argument.type) for argument in block.arguments]
        return _Function(self.prepared(block, slots), slots, inputs)

    def _function(self, name: str) -> _Function:
        self.prepare(name)
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
        try:
            run = self._step(site)
        except RefusalError as problem:
            self._problems.append(problem)
            run = _nothing
        operands, results = (tuple(map(slots.of, values)) for values in (operation.operands, operation.results))
        infos = [decode(type_) for type_ in operation.results.types]
        checked = tuple((slot, info) for slot, info in zip(results, infos, strict=True) if has_sizes(info))
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
        observe = self._observe
        if observe is None:
            return run

        def run_observed(frame: Frame, *operands: Any) -> Any:
            found = run(frame, *operands)
            observe(operation, found if type(found) is list else [found])
            return found

        return run_observed
