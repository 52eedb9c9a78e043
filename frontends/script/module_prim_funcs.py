# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs of the module: nests on tensors where the program allows it, otherwise loops over memrefs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import takewhile

from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.ir import Block as IrBlock
from ...bindings.mlir import ir, string_array
from ...dialects.core.infos import TensorInfo
from ...dialects.core.ir_attributes import LOOPS, SCHEDULE
from ...dialects.core.symbols import SymExpr
from ...dialects.tir.prim_func import OpPattern, make_prim_func, set_op_pattern
from ...emit import linalg, loops
from ...emit.arithmetic import element
from ...emit.kernels import parameter_type
from ...emit.numbers import Number, as_index, constant, number
from ...support.errors import RelaxError
from . import scalar_functions  # noqa: F401  # its functions register
from .accesses import ProgramAccesses
from .annotations import Annotations
from .distribute import distributed
from .effects import Effect, effect_on, elements_inside
from .loop_lines import loop_lines
from .loop_program import LoopProgram, Memrefs
from .names import Names
from .nest_reader import Nest, NestReader, Unstructured
from .prim_func import ProgramReader
from .program import Allocate, Block, Buffer, For, Program, Scalar, Statement, every
from .scalars import Scalars
from .tensor_program import TensorProgram, Tensors

#: Scopes of memory that belongs to one thread, or that threads share only between kernels.
_OWN_SCOPES = ("", "global", "local")
_PATTERNS = {pattern.value: pattern for pattern in OpPattern}


class PrimFunc:
    """Function of the module: its parameters, and its operation once it is built."""

    def __init__(
        self,
        names: Names,
        function: ast.FunctionDef,
        *,
        in_place: bool = False,
        is_alone: bool = False,
        is_cleared: bool = False,
    ):
        reader = ProgramReader(names, function)
        self.source = names.source
        self.program: Program = reader.read()
        self.annotations: Annotations = reader.annotations
        self._nests_found = self._nested()
        self._accesses = ProgramAccesses(self.program, self.annotations, is_nested=self._nests_found is not None)
        self._inside = elements_inside(self._accesses)
        #: Effects on the previous contents of the buffers that are written to.
        self.effects = {buffer: effect_on(buffer, self._accesses) for buffer in self.program.written}
        buffers = [parameter for parameter in self.program.parameters if isinstance(parameter, Buffer)]
        fresh = list(takewhile(lambda buffer: self.effects.get(buffer) is Effect.REPLACES, reversed(buffers)))
        if is_alone:  # the type of a result is not stated
            fresh = self._of_known_sizes(fresh)
        #: Buffers that are inputs and outputs. All other written buffers are new results.
        self.kept = [effect for effect in self.effects if (in_place or effect not in fresh) and not is_cleared]
        #: Buffers that are filled with 0 first.
        self._cleared = [
            effect for effect in self.effects if is_cleared and self.effects[effect] is not Effect.REPLACES
        ]
        self.inputs = [parameter for parameter in self.program.parameters if in_place or parameter not in self.effects]
        effects = [effect for effect in self.effects if effect not in self.kept]
        self.outputs = [] if in_place else [*self.kept, *effects]
        self.symbol = self.program.name

    @property
    def parameters(self) -> list[Buffer | Scalar]:
        """Return the inputs, with the sizes that TVM passes last, then the written buffers, inputs and outputs
        first."""
        return [*self.inputs, *self.outputs]

    @property
    def passed(self) -> list[Buffer | Scalar]:
        """Return the parameters that a caller passes, in the function's order: all except new results."""
        outputs = [output for output in self.outputs if output not in self.kept]
        return [parameter for parameter in self.program.parameters if parameter not in outputs]

    def call(
        self, values: Mapping[Buffer | Scalar, Value], types: Mapping[Buffer, object]
    ) -> tuple[str, tuple[str, list[Value]], dict[str, object]]:
        """Return the operator, arguments and attributes of a call. `types` are the types of the written buffers."""
        arguments = [parameter for parameter in self.parameters if parameter in self.inputs or parameter in self.kept]
        operands, results = [values[argument] for argument in arguments], [types[each] for each in self.written]
        if not self.kept:
            return "call_tir", (self.symbol, operands), {"out_ty": results}
        places = [arguments.index(each) if each in self.kept else -1 for each in self.written]
        return "call_tir_inplace", (self.symbol, operands), {"inplace_indices": places, "out_ty": results}

    @property
    def written(self) -> list[Buffer]:
        """Return the results in the order in which a call returns them."""
        return self.outputs or self.kept

    def _of_known_sizes(self, fresh: Sequence[Buffer]) -> list[Buffer]:
        """Return the longest tail of `fresh` in which the other parameters determine all sizes."""
        known: set[str] = set()
        for parameter in self.program.parameters:
            if isinstance(parameter, Scalar):
                known.add(parameter.name)
            elif parameter not in fresh:
                known.update(str(dim) for dim in parameter.dims)

        def is_known(buffer: Buffer) -> bool:
            return all(dim.variables <= known for dim in buffer.dims if isinstance(dim, SymExpr))

        return list(takewhile(is_known, fresh))

    def build(self, symbol: str, is_private: bool) -> Operation:
        """Build the PrimFunc at the current insertion point."""
        self.symbol = symbol
        steps = self._nests_found if self.outputs else None
        if steps is None:
            self._check_threads()
        attributes: dict[str, Attribute] = {"sym_visibility": ir.StringAttr.get("private")} if is_private else {}
        types = [self._type(parameter, steps is not None) for parameter in self.parameters]
        count = len(self.inputs)

        def body(*arguments: Value) -> object:
            held = dict(zip(self.parameters, arguments, strict=True))
            for key, value in held.items():
                ir.BlockArgument(value).set_location(self.source.location(key.node, key.name))
            buffers = {name: value for name, value in held.items() if isinstance(name, Buffer)}
            for text in self._cleared:
                buffers[text] = self._zeroed(text, buffers[text])
            known = self._known(held)
            if steps is None:
                memory = Memrefs(buffers)
                LoopProgram(Scalars(self.annotations, known, self._inside, memory), memory).emit(self.program.body)
                return None
            tensors = Tensors(self.annotations.names, buffers)
            TensorProgram(Scalars(self.annotations, known, self._inside, tensors), tensors).emit(steps)
            return [buffers[output] for output in self.outputs]

        with self.source.location(self.program.node):
            try:
                function = make_prim_func(symbol, types[:count], types[count:], body, attributes=attributes)
            except RelaxError as error:
                if error.location:
                    raise
                raise self.source.problem(self.program.node, error.message) from None
        stated = self.program.attributes.get("op_pattern")
        if isinstance(stated, int) and stated in _PATTERNS:
            set_op_pattern(function, _PATTERNS[stated])
        if steps is not None and (text := loop_lines(self.program.body, steps, self.annotations.names)):
            function.attributes[LOOPS] = string_array(text)
        if (lines := self.program.attributes.get(SCHEDULE)) is not None:
            self._schedule(function, lines)
        return function

    @staticmethod
    def _zeroed(buffer: Buffer, output: Value) -> Value:
        zero = constant(0, buffer.dtype)
        if isinstance(output.type, ir.RankedTensorType):
            return linalg.fill(zero, output)
        loops.nest(linalg.sizes(output), lambda *indices: loops.store(zero, output, *indices))
        return output

    def _schedule(self, function: Operation, lines: object) -> None:
        """Store the lines of a schedule from T.func_attr in the function."""
        if not isinstance(lines, (list, tuple)) or not all(isinstance(line, str) for line in lines):
            raise self.source.problem(self.program.node, f"attribute '{SCHEDULE}' must be a list of lines of text")
        function.attributes[SCHEDULE] = string_array(lines)

    def _nested(self) -> list[Nest | Allocate] | None:
        """Return the function as nests in order, or None if a statement is not a nest."""
        reader = NestReader(self.annotations)
        try:
            steps = self._nests(reader, self.program.body)
        except Unstructured:
            return None
        return steps if any(isinstance(step, Nest) for step in steps) else None

    def _check_threads(self) -> None:
        """Refuse threads that cooperate: as sequential loops they would read values that are not written yet."""
        statements = list(every(self.program.body))
        kinds = [loop.kind for each in statements if isinstance(each, For) for loop in each.loops]
        if not any(kind.startswith("threadIdx") for kind in kinds):
            return
        for statement in statements:
            if isinstance(statement, Allocate) and statement.buffer.scope not in _OWN_SCOPES:
                name = statement.buffer.name
                message = f"'{name}' is shared by threads, which run as sequential loops here"
                raise self.source.problem(statement.buffer.node, message)

    def _nests(self, reader: NestReader, statements: Sequence[Statement]) -> list[Nest | Allocate]:
        steps: list[Nest | Allocate] = []
        for statement in statements:
            if isinstance(statement, Allocate):
                steps.append(statement)
            elif isinstance(statement, Block) and statement.is_plain:
                steps += self._nests(reader, statement.body)
            else:
                steps += [each for each in every([statement]) if isinstance(each, Allocate)]
                steps += self._nests_of(reader, statement)
        return steps

    def _nests_of(self, reader: NestReader, statement: Statement) -> list[Nest]:
        """Return the nest of a statement, or the nests of a loop around several blocks."""
        try:
            return [reader.nest(statement)]
        except Unstructured:
            return [reader.nest(each) for each in distributed(statement, self.program, self.annotations)]

    def _type(self, parameter: Buffer | Scalar, on_tensors: bool) -> Type:
        if isinstance(parameter, Scalar):
            return element(parameter.dtype)
        info = TensorInfo(parameter.dims, parameter.dtype)
        return parameter_type(info, ir.Context.current, on_memrefs=not on_tensors)

    def _known(self, values: Mapping[Buffer | Scalar, Value]) -> dict[str, object]:
        """Return the names at the function's begin: parameters, and the sizes that parameters determine."""
        known: dict[str, object] = {}
        for key, value in values.items():
            known[key.name] = key if isinstance(key, Buffer) else number(value).of(key.dtype)
        for name in self.annotations.symbols:
            if (parameter := known.get(name)) is None:
                known[name] = cache(partial(self._size, name, values, ir.InsertionPoint.current.block))
            elif isinstance(parameter, Number) and not parameter.is_float:
                known[name] = as_index(parameter)
        return known

    def _size(self, name: str, values: Mapping[Buffer | Scalar, Value], block: IrBlock) -> Number:
        """Return the size of a parameter that equals a symbol, computed at the function's begin."""
        for key, value in values.items():
            for axis, dim in enumerate(key.dims if isinstance(key, Buffer) else ()):
                if isinstance(dim, SymExpr) and str(dim) == name:
                    with ir.InsertionPoint.at_block_begin(block):
                        return linalg.size(value, axis)
        raise self.source.problem(self.program.node, f"no parameter of '{self.program.name}' has the size '{name}'")
