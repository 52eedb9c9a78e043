# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of functions, operation by operation. Each operation is prepared once and then run many times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
from relax_mlir.bindings.ir import Block, Operation, Region, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, has_body, operations_of, symbol_name
from relax_mlir.dialects.core.attributes import AttributeProblem
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo, is_int
from relax_mlir.dialects.core.ir_attributes import GRAPH_INPUTS, GRAPH_RESULTS
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.runtime.executable import Executable
from relax_mlir.support.errors import OptionError, RefusalError
from relax_mlir.support.suggest import suggest

from .compiled import CompiledPrimFunc, as_argument, is_compiled, is_lowered, program_of_graph
from .element_bits import element_of
from .held_values import HeldValue, Numbers, stored
from .literals import constant_of
from .meanings import prepare_operator
from .sites import Body, Flow, Frame, Line, Site, Slots, Step, has_sizes, jump_of, refusal
from .steps import find_step

#: Callable that receives an operator and its step, and returns the step to run instead.
Around = Callable[[Operation, Step], Step]
# Terminators of blocks. Their operands are the block's results.
_ENDS = frozenset("func.return scf.yield scf.condition cf.br cf.cond_br cf.switch".split())


class _Prepared(NamedTuple):
    body: Body | Flow
    slots: Slots
    inputs: list[Info]
    #: Storage types of integer arguments.
    held: list[numpy.dtype | None]

    def taken(self, arguments: Sequence[Any]) -> list[HeldValue]:
        """Return the arguments with the signs of the function's types."""
        return [
            array if held is None or array.dtype == held else array.view(held)
            for array, held in zip(arguments, self.held, strict=True)
        ]


def _held_integers(type_: Type, numbers: Numbers) -> numpy.dtype | None:
    if not isinstance(type_, ir.ShapedType) or isinstance(type_, ir.VectorType):
        return None
    dtype = element_of(type_)
    return numbers.dtype(dtype) if is_int(dtype) else None


def _nothing(frame: Frame, *operands: object) -> None:
    """Placeholder step of an operation that cannot be run."""


class Machine:
    """Interpreter of the functions in one module. With `wide` the floats of graphs are f64.

    `functions` are Python functions that the module calls by name (relax.call_dps_packed). `around` may wrap the steps
    of operators.
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
        #: Counter for random keys. Each key is used once.
        self.keys: Iterator[int] = itertools.count()
        self._operations = {symbol_name(function): function for function in functions_in(module)}
        self._prepared: dict[str, _Prepared] = {}
        self._prim_funcs: dict[str, CompiledPrimFunc] = {}
        self._program: Executable | None = None
        self._preparing: list[str] = []
        self._problems: list[RefusalError] = []
        self._modules: dict[str, Machine] = {}

    def call(self, name: str, arguments: Sequence[Any], site: Operation | None = None) -> list[Any]:
        """Return a function's results. Arguments that the function writes to are changed.

        `site` is the call. Errors of a PrimFunc name the location of its call.
        """
        operation = self.operation(name)
        if is_lowered(operation):
            return self._call_program(name, arguments)
        if is_compiled(operation):
            self.prepare(name)
            return list(self._prim_funcs[name](arguments, site))
        function = self._function(name)
        frame = Frame(len(function.slots), function.slots.constants)
        for index, (info, argument) in enumerate(zip(function.inputs, arguments, strict=True)):
            if problem := frame.match(info, argument):
                raise OptionError(f"@{name}: argument #{index} {problem}")
        with numpy.errstate(all="ignore"):
            return list(function.body.run(frame, function.taken(arguments)))

    def _call_program(self, name: str, arguments: Sequence[HeldValue]) -> list[Any]:
        """Call a graph function on memory, in the program of its module."""
        if self._program is None:
            self._program = program_of_graph(self.module, self.functions)
        inputs, results = (
            [decode(each.value) for each in self.operation(name).attributes[key]]
            for key in (GRAPH_INPUTS, GRAPH_RESULTS)
        )
        elements = [info.dtype if isinstance(info, TensorInfo) else "" for info in inputs]
        found = self._program[name](*(as_argument(*each) for each in zip(arguments, elements, strict=True)))
        listed = list(found) if len(results) > 1 else [found] * len(results)
        return [self._read_result(*each) for each in zip(listed, results, strict=True)]

    def _read_result(self, value: Any, info: Info) -> Any:
        """Return a program's result as a value of the interpreter."""
        if isinstance(info, TensorInfo):
            return self.numbers.held(to_numpy(value, stored(info.dtype)), info.dtype)
        if isinstance(info, ScalarInfo):
            return self.numbers.held(value, info.dtype)[()]
        return tuple(map(int, value)) if isinstance(info, ShapeInfo) else value

    def operation(self, name: str) -> Operation:
        """Return the function of a name."""
        if name not in self._operations:
            raise OptionError(f"there is no function @{name} in the module{suggest(name, self._operations)}")
        return self._operations[name]

    def inputs(self, name: str) -> list[Info]:
        """Return the types of a function's parameters."""
        operation = self.operation(name)
        if is_lowered(operation):
            return [decode(each.value) for each in operation.attributes[GRAPH_INPUTS]]
        if is_compiled(operation):
            return [decode(argument.type) for argument in body_of(operation).arguments]
        return self._function(name).inputs

    def inside(self, name: str) -> Machine:
        """Return the interpreter of a nested module."""
        if name not in self._modules:
            operations = (each for each in operations_of(body_of(self.module)) if each.name == "builtin.module")
            module = next(each for each in operations if symbol_name(each) == name)
            self._modules[name] = Machine(module, wide=self.numbers.wide, functions=self.functions, around=self._around)
        return self._modules[name]

    def prepare(self, name: str) -> None:
        """Prepare a function and its callees. One error lists all operations that cannot be run."""
        operation = self.operation(name)
        if name in self._prepared or name in self._preparing or name in self._prim_funcs or not has_body(operation):
            return
        if is_compiled(operation):
            self._prim_funcs[name] = CompiledPrimFunc(operation, self.functions)
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
            diagnostics = [diagnostic for problem in (first, *others) for diagnostic in problem.diagnostics]
            raise first.altered(notes=list(map(str, others)), diagnostics=diagnostics)

    def _prepare(self, operation: Operation) -> _Prepared:
        slots = Slots(self.numbers)
        types = [argument.type for argument in body_of(operation).arguments]
        dtypes = [_held_integers(type_, self.numbers) for type_ in types]
        return _Prepared(self.prepared(operation.regions[0], slots), slots, list(map(decode, types)), dtypes)

    def _function(self, name: str) -> _Prepared:
        if name not in self._prepared:
            self.prepare(name)
        if name not in self._prepared:
            raise refusal(self.operation(name), f"@{name} is only declared: the module has no body for it")
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
            if (value := constant_of(operation, slots.numbers)) is None:
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
        if (prepare := find_step(operation.name)) is not None:
            run = prepare(site)
        elif row is not None:
            run = prepare_operator(site, row)
        else:
            raise site.refusal("the reference does not know this operation")
        return run if row is None or self._around is None else self._around(operation, run)
