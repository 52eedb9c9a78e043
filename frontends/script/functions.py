# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs of the module: programs of nests on tensors, all others as loops over memrefs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from ...bindings.ir import Block as IrBlock
from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr
from ...dialects.tir.prim_func import SCHEDULE, OpPattern, make_prim_func, set_op_pattern
from ...emit import linalg
from ...emit.arithmetic import element
from ...emit.kernels import parameter_type
from ...emit.numbers import Number, as_index, number
from ...support.errors import RelaxError
from . import scalar_functions  # noqa: F401  # its functions register
from .annotations import Annotations
from .loops import LoopProgram
from .names import Names
from .nests import Nest, NestReader, Unstructured
from .prim_func import ProgramReader
from .program import Allocate, Block, Buffer, For, Program, Scalar, Statement, every
from .scalars import Scalars
from .tensors import TensorProgram

#: Of memory that each thread has for itself, or that threads may only exchange between kernels.
_OWN_SCOPES = ("", "global", "local")
_PATTERNS = {pattern.value: pattern for pattern in OpPattern}


class PrimFunc:
    """A function of the module: what it takes, and its operation once it is built."""

    def __init__(self, names: Names, function: ast.FunctionDef, *, in_place: bool = False):
        reader = ProgramReader(names, function)
        self.source = names.source
        self.program: Program = reader.read()
        self.annotations: Annotations = reader.annotations
        self._written = written = self.program.written
        buffers = [each for each in self.program.parameters if isinstance(each, Buffer)]
        #: Those that the caller gets: written to, and last.
        self.outputs = written if written and buffers[len(buffers) - len(written) :] == written and not in_place else []
        self.inputs = [each for each in self.program.parameters if each not in self.outputs]

    @property
    def parameters(self) -> list[Buffer | Scalar]:
        """Sizes that TVM passes behind the outputs come before them here."""
        return [*self.inputs, *self.outputs]

    def build(self, is_private: bool) -> Operation:
        """The PrimFunc at the current insertion point."""
        steps = self._steps()
        if steps is None:
            self._check_threads()
        attributes: dict[str, Any] = {"sym_visibility": ir.StringAttr.get("private")} if is_private else {}
        types = [self._type(each, steps is not None) for each in self.parameters]
        count = len(self.inputs)

        def body(*arguments: Value) -> Any:
            held = dict(zip(self.parameters, arguments, strict=True))
            for each, value in held.items():
                ir.BlockArgument(value).set_location(self.source.location(each.node, each.name))
            scalars = Scalars(self.annotations, self._known(held))
            buffers = {each: value for each, value in held.items() if isinstance(each, Buffer)}
            if steps is None:
                LoopProgram(scalars, buffers).emit(self.program.body)
            else:
                TensorProgram(scalars, buffers).emit(steps)
            # The memory knows the scalars: a circle would keep the syntax tree until garbage is collected.
            del scalars.memory
            return None if steps is None else [buffers[each] for each in self.outputs]

        with self.source.location(self.program.node):
            try:
                function = make_prim_func(self.program.name, types[:count], types[count:], body, attributes=attributes)
            except RelaxError as error:
                if error.location:
                    raise
                raise self.source.problem(self.program.node, error.message) from None
        stated = self.program.attributes.get("op_pattern")
        if isinstance(stated, int) and stated in _PATTERNS:
            set_op_pattern(function, _PATTERNS[stated])
        lines = self.program.attributes.get(SCHEDULE)
        if lines is not None:
            self._schedule(function, lines)
        return function

    def _schedule(self, function: Operation, lines: object) -> None:
        """The lines of a schedule, from T.func_attr."""
        if not isinstance(lines, (list, tuple)) or not all(isinstance(line, str) for line in lines):
            raise self.source.problem(self.program.node, f"attribute '{SCHEDULE}' is a list of lines of text")
        function.attributes[SCHEDULE] = ir.ArrayAttr.get([ir.StringAttr.get(line) for line in lines])

    def _steps(self) -> list[Nest | Allocate] | None:
        """The function as nests in their order; None where some statement is none."""
        if not self.outputs or len(self.outputs) != len(self._written):
            return None
        reader = NestReader(self.annotations)
        try:
            steps = self._nests(reader, self.program.body)
        except Unstructured:
            return None
        return steps if any(isinstance(step, Nest) for step in steps) else None

    def _check_threads(self) -> None:
        """Refuses threads that work together: as loops one after the other they would read what is not there yet."""
        statements = list(every(self.program.body))
        loops = [loop for each in statements if isinstance(each, For) for loop in each.loops]
        if not any(loop.kind.startswith("threadIdx") for loop in loops):
            return
        for each in statements:
            if isinstance(each, Allocate) and each.buffer.scope not in _OWN_SCOPES:
                name = each.buffer.name
                message = f"'{name}' is shared by threads, which are loops here, one iteration after the other"
                raise self.source.problem(each.buffer.node, message)

    def _nests(self, reader: NestReader, statements: Sequence[Statement]) -> list[Nest | Allocate]:
        steps: list[Nest | Allocate] = []
        for statement in statements:
            if isinstance(statement, Allocate):
                steps.append(statement)
            elif isinstance(statement, Block) and statement.is_plain:
                steps += self._nests(reader, statement.body)
            else:
                steps.append(reader.nest(statement))
        return steps

    def _type(self, parameter: Buffer | Scalar, on_tensors: bool) -> Any:
        if isinstance(parameter, Scalar):
            return element(parameter.dtype)
        info = TensorInfo(parameter.dims, parameter.dtype)
        return parameter_type(info, ir.Context.current, on_memrefs=not on_tensors)

    def _known(self, held: Mapping[Buffer | Scalar, Value]) -> dict[str, Any]:
        """The names at the function's begin: parameters, and the sizes that they tell."""
        known: dict[str, Any] = {}
        for each, value in held.items():
            known[each.name] = each if isinstance(each, Buffer) else number(value).of(each.dtype)
        for name in self.annotations.symbols:
            if name not in known:
                known[name] = cache(partial(self._size, name, held, ir.InsertionPoint.current.block))
            elif isinstance(known[name], Number) and not known[name].is_float:
                known[name] = as_index(known[name])
        return known

    def _size(self, name: str, held: Mapping[Buffer | Scalar, Value], block: IrBlock) -> Number:
        """What a symbol is, made at the function's begin: the size of a parameter that it alone is."""
        for each, value in held.items():
            for axis, dim in enumerate(each.dims if isinstance(each, Buffer) else ()):
                if isinstance(dim, SymExpr) and str(dim) == name:
                    with ir.InsertionPoint.at_block_begin(block):
                        return linalg.size(value, axis)
        raise self.source.problem(self.program.node, f"no parameter of '{self.program.name}' tells the size '{name}'")
