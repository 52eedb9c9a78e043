# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions, one operation after the other. Each is prepared once, its attributes read, and then run often."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from ..bindings.diagnostics import made_at
from ..bindings.ir import Attribute, Block, Operation, Region, Type
from ..bindings.mlir import ir
from ..bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    has_body,
    operations_named,
    operations_of,
    symbol_name,
    text_in,
)
from ..dialects.core.attributes import AttributeProblem
from ..dialects.core.codec import decode
from ..dialects.core.dialect import row_of
from ..dialects.core.infos import Info, is_float, is_int
from ..dialects.core.ir_attributes import OPERATOR
from ..support.errors import OptionError, RefusalError
from ..support.suggest import suggest
from .element_bits import element_of
from .held_values import Numbers
from .literals import constant_of
from .meanings import prepare_operator
from .memory import Memory
from .registry import find_step
from .sites import Body, Flow, Frame, Line, Site, Slots, Step, has_sizes, jump_of, refusal

#: Given each operator with its step, what is done instead: it may look at values, or change them.
Around = Callable[[Operation, Step], Step]
# Operations that end a block; what they are given is what the block gives.
_ENDS = frozenset(
    "func.return scf.yield scf.condition scf.reduce scf.reduce.return scf.forall.in_parallel linalg.yield tensor.yield "
    "affine.yield memref.alloca_scope.return memref.atomic_yield cf.br cf.cond_br cf.switch".split()
)


class _Prepared(NamedTuple):
    body: Body | Flow
    slots: Slots
    inputs: list[Info]
    #: What integers of the arguments are held in.
    held: list[numpy.dtype | None]

    def taken(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments with the signs that the function's types have, which callers' may not."""
        return [
            array if held is None or array.dtype == held else array.view(held)
            for array, held in zip(arguments, self.held, strict=True)
        ]


def _held_integers(type_: Type, numbers: Numbers) -> numpy.dtype | None:
    if not isinstance(type_, ir.ShapedType) or isinstance(type_, ir.VectorType):
        return None
    dtype = element_of(type_)
    return numbers.dtype(dtype) if is_int(dtype) else None


def _nothing(frame: Frame, *operands: Any) -> None:
    """In the place of what cannot be run."""


def _sees_bits(function: Operation) -> bool:
    """Whether a function makes integers of floats' bits, or floats of integers'."""
    casts = operations_named(function, "arith.bitcast", "vector.bitcast")
    return any(any(is_float(element_of(value.type)) for value in (*each.operands, *each.results)) for each in casts)


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
        self.memory = Memory(self.numbers)
        self.functions: Mapping[str, Callable[..., Any]] = dict(functions or {})
        #: The calls from graphs that are being run, the innermost one last.
        self._calls: list[Operation] = []
        self._around = around
        #: What random numbers are made of, each once.
        self.keys: Iterator[int] = itertools.count()
        self._operations = {symbol_name(each): each for each in functions_in(module)}
        self._prepared: dict[str, _Prepared] = {}
        self._preparing: list[str] = []
        self._problems: list[RefusalError] = []
        self._modules: dict[str, Machine] = {}

    def call_from_graph(self, name: str, arguments: Sequence[Any], operation: Operation) -> list[Any]:
        """`call`; what fails inside names the place of the operation."""
        self._calls.append(operation)
        try:
            return self.call(name, arguments)
        finally:
            self._calls.pop()

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """What a function returns. Arguments that it writes to are changed."""
        function = self._function(name)
        frame = Frame(len(function.slots), function.slots.constants)
        for index, (info, argument) in enumerate(zip(function.inputs, arguments, strict=True)):
            if problem := frame.match(info, argument):
                raise OptionError(f"@{name}: argument #{index} {problem}")
        with numpy.errstate(all="ignore"):
            return list(function.body.run(frame, function.taken(arguments)))

    def place(self) -> str:
        """Where in the graph it is, for exceptions: the operator and its line."""
        if not self._calls:
            return ""
        call = self._calls[-1]
        name = call.attributes["func"].value if call.name.startswith("relax.call_tir") else callee_of(call)
        callee = self._operations.get(str(name))
        return made_at("" if callee is None else text_in(callee, OPERATOR, f"@{name}"), self._calls[-1].location)

    def globals(self) -> Mapping[str, Attribute]:
        """The constants that the module has by name."""
        return {
            symbol_name(each): each.attributes["initial_value"]
            for each in operations_of(body_of(self.module))
            if each.name == "memref.global" and "initial_value" in each.attributes
        }

    def operation(self, name: str) -> Operation:
        """The function of a name."""
        if name not in self._operations:
            raise OptionError(f"there is no function @{name} in the module{suggest(name, self._operations)}")
        return self._operations[name]

    def inputs(self, name: str) -> list[Info]:
        """What a function takes."""
        return self._function(name).inputs

    def inside(self, name: str) -> Machine:
        """What runs the functions of a module in this one."""
        if name not in self._modules:
            found = (each for each in operations_of(body_of(self.module)) if each.name == "builtin.module")
            module = next(each for each in found if symbol_name(each) == name)
            self._modules[name] = Machine(module, wide=self.numbers.wide, functions=self.functions, around=self._around)
        return self._modules[name]

    def prepare(self, name: str) -> None:
        """Prepares a function and all that it calls. All that cannot be run is said in one error."""
        operation = self.operation(name)
        if name in self._prepared or name in self._preparing or not has_body(operation):
            return
        self._preparing.append(name)
        try:
            self._prepared[name] = self._prepare(operation)
        finally:
            self._preparing.pop()
        if self._problems and not self._preparing:
            first, *others = self._problems
            self._problems.clear()
            self._prepared.clear()
            diagnostics = [each for problem in (first, *others) for each in problem.diagnostics]
            raise first.altered(notes=list(map(str, others)), diagnostics=diagnostics)

    def _prepare(self, operation: Operation) -> _Prepared:
        numbers = Numbers(True, is_rounded=True) if self.numbers.wide and _sees_bits(operation) else self.numbers
        slots = Slots(numbers)
        types = [argument.type for argument in body_of(operation).arguments]
        held = [_held_integers(type_, numbers) for type_ in types]
        return _Prepared(self.prepared(operation.regions[0], slots), slots, list(map(decode, types)), held)

    def _function(self, name: str) -> _Prepared:
        if name not in self._prepared:
            self.prepare(name)
        if name not in self._prepared:
            raise refusal(self.operation(name), f"@{name} is declared only: what it does is not in the module")
        return self._prepared[name]

    def prepared(self, region: Region, slots: Slots) -> Body | Flow:
        blocks = list(region.blocks)
        bodies = [self._body(block, slots) for block in blocks]
        return bodies[0] if len(bodies) == 1 else Flow(bodies, [jump_of(body, blocks) for body in bodies])

    def _body(self, block: Block, slots: Slots) -> Body:
        arguments = tuple(slots.of(argument) for argument in block.arguments)
        lines: list[Line] = []
        for operation in operations_of(block):
            if operation.name in _ENDS:
                return Body(arguments, lines, tuple(map(slots.of, operation.operands)), operation)
            value = constant_of(operation, slots.numbers)
            if value is None:
                lines.append(self._line(operation, slots))
            else:
                slots.constants[slots.of(operation.result)] = value
        return Body(arguments, lines, (), None)

    def _line(self, operation: Operation, slots: Slots) -> Line:
        site = Site(self, operation, slots)
        try:
            run = self._step(site)
        except RefusalError as problem:
            self._problems.append(problem)
            run = _nothing
        except AttributeProblem as problem:
            self._problems.append(site.refusal(str(problem)))
            run = _nothing
        operands, results = (tuple(map(slots.of, values)) for values in (operation.operands, operation.results))
        infos = [decode(type_) for type_ in operation.results.types]
        checked = tuple((slot, info) for slot, info in zip(results, infos, strict=True) if has_sizes(info))
        return Line(run, operands, results, operation, checked)

    def _step(self, site: Site) -> Step:
        operation, row = site.operation, row_of(site.operation)
        prepare = find_step(operation.name)
        if prepare is not None:
            run = prepare(site)
        elif row is not None:
            run = prepare_operator(site, row)
        else:
            raise site.refusal("the reference does not know this operation")
        return run if row is None or self._around is None else self._around(operation, run)
