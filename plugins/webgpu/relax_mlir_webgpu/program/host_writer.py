# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writer of a host function as instructions for the interpreters in Python and JavaScript.

An instruction is a list: a name, followed by register numbers and further operands of the instruction. docs/webgpu.md
lists all instructions. A memref is its byte address in the program's memory and its dynamic sizes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.diagnostics import made_at
from relax_mlir.bindings.ir import Block, Location, Type
from relax_mlir.bindings.mlir import DYNAMIC, string_value
from relax_mlir.bindings.navigation import body_of, callee_of, constant_of, symbol_name
from relax_mlir.dialects.core.ir_attributes import GRAPH_INPUTS, OPERATOR, PACKED_DTYPES, PACKED_TEXT
from relax_mlir.rewriting import Operation, Value, located_error
from relax_mlir.targets.gpu.kernels.outline import launched
from relax_mlir.targets.host.abi import dlpack_name
from relax_mlir.targets.text.operation_writer import OperationWriter

from ..wgsl.wgsl_types import memory_bytes

Instruction = list[object]
#: Function that writes an operation.
Rule = Callable[["HostWriter", Operation], None]


@dataclass(frozen=True)
class Register:
    """Register of a 64-bit integer. Arithmetic on registers writes instructions."""

    writer: HostWriter = field(repr=False)
    number: int

    def __add__(self, other: int | Register) -> Register:
        return self.writer.integers("addi", self, other)

    def __mul__(self, other: int | Register) -> Register:
        return self.writer.integers("muli", self, other)

    __radd__, __rmul__ = __add__, __mul__


@dataclass(frozen=True)
class HostView:
    """Memref in row-major order: its address, sizes and element type."""

    address: Register
    sizes: tuple[int | Register, ...]
    element: Type


@dataclass
class Known:
    """Symbols that the functions of a program share: functions, and indices of kernels and constants, by name."""

    functions: dict[str, Operation]
    kernels: dict[str, int]
    constants: dict[str, int]


class HostWriter(OperationWriter[Register | HostView]):
    target, unknown = "webgpu", "a browser has no counterpart of it"

    def __init__(self, program: Known, rules: Mapping[str, Rule], function: Operation | None = None) -> None:
        super().__init__(rules, "of host code")
        self._program, self._function = program, function
        self._count = 0
        self._body: list[Instruction] = []

    def function(self) -> dict[str, object]:
        """Write the whole function and return its data."""
        assert self._function is not None
        body = body_of(self._function)
        for argument in body.arguments:
            self.receive(argument)
        parameters = self._count
        end = self.block(body)
        if len(end.operands):
            raise located_error("target 'webgpu': a function of host code returns values", self._function.location)
        return self.finished(parameters)

    def finished(self, parameters: int) -> dict[str, object]:
        return {"parameters": parameters, "registers": self._count, "body": self._body}

    # ---- registers ----

    def register(self) -> Register:
        self._count += 1
        return Register(self, self._count - 1)

    def write(self, name: str, *parts: object) -> None:
        self._body.append([name, *[part.number if isinstance(part, Register) else part for part in parts]])

    def made(self, name: str, *parts: object) -> Register:
        """Write an instruction with a result, and return the register of the result."""
        found = self.register()
        self.write(name, found, *parts)
        return found

    def integer(self, value: int) -> Register:
        return self.made("int", str(value))

    def sized(self, size: int | Register) -> Register:
        return self.integer(size) if isinstance(size, int) else size

    def integers(self, name: str, a: int | Register, b: int | Register, width: int = 64) -> Register:
        return self.made(name, self.sized(a), self.sized(b), width)

    def product(self, sizes: Sequence[int | Register]) -> int | Register:
        found = functools.reduce(operator.mul, [each for each in sizes if isinstance(each, int)], 1)
        return functools.reduce(operator.mul, [each for each in sizes if not isinstance(each, int)], found)

    def branch(self, write: Callable[[], None]) -> list[Instruction]:
        """Return the instructions that a callback writes, without adding them to the body."""
        outer, self._body = self._body, []
        write()
        own, self._body = self._body, outer
        return own

    # ---- values ----

    def receive(self, argument: Value) -> list[Register]:
        """Allocate and return registers for a new value."""
        if not isinstance(type_ := argument.type, ir.MemRefType):
            found = self.register()
            self.know(argument, found)
            return [found]
        address = self.register()
        sizes = [self.register() if size == DYNAMIC else int(size) for size in type_.shape]
        self.know(argument, HostView(address, tuple(sizes), type_.element_type))
        return self.parts(argument)

    def parts(self, value: Value) -> list[Register]:
        """Return the registers that contain a value."""
        if isinstance(held := self.held(value), Register):
            return [held]
        pairs = zip(held.sizes, value.type.shape, strict=True)
        return [held.address, *(self.sized(size) for size, known in pairs if known == DYNAMIC)]

    def number(self, value: Value) -> Register:
        found = self.held(value)
        assert isinstance(found, Register)
        return found

    def view(self, value: Value) -> HostView:
        found = self.held(value)
        assert isinstance(found, HostView)
        return found

    def size(self, value: Value) -> int | Register:
        known = constant_of(value)
        return self.number(value) if known is None else int(known)

    # ---- operations ----

    def place(self, location: Location) -> str:
        """Return the location that begins the messages of the function's own checks."""
        return _place_text(self._function, location)

    def move(self, targets: Sequence[Register], sources: Sequence[Register]) -> None:
        if targets:
            self.write("move", [target.number for target in targets], [source.number for source in sources])

    def call(self, op: Operation) -> None:
        if (callee := self._program.functions.get(callee_of(op))) is None:
            raise RefusalError(f"it calls '{callee_of(op)}', a C function")
        given = [part.number for value in op.operands for part in self.parts(value)]
        self.write("call", callee_of(op), given, _place_text(callee, op.location))

    def packed(self, op: Operation) -> None:
        """Write the call of a packed function, which is not part of the program and writes to some of its arguments."""
        name = string_value(op.attributes["func"])
        if len(op.results) or PACKED_TEXT in op.attributes:
            raise RefusalError(
                f"'{name}' takes text or returns values: WebGPU programs only call functions that write their results",
                notes=["use relax.call_dps_packed for such functions"],
            )
        dtypes = map(string_value, op.attributes[PACKED_DTYPES])
        given = [self._pass(value, dtype) for value, dtype in zip(op.operands, dtypes, strict=True)]
        self.write("packed", name, given)

    def _pass(self, value: Value, dtype: str) -> object:
        if isinstance(held := self.held(value), Register):
            return held.number
        return [dlpack_name(dtype), held.address.number, [self.sized(each).number for each in held.sizes]]

    def launch(self, op: Operation) -> None:
        blocks, _, _, _, _, _, *given = op.operands
        parts = [self.number(each).number for each in given]
        self.write("launch", self._program.kernels[launched(op)], self.number(blocks), parts)

    def constant_memory(self, op: Operation) -> None:
        type_ = op.results[0].type
        address = self.made("constant", self._program.constants[str(op.attributes["name"].value)])
        self.know(op.results[0], HostView(address, tuple(map(int, type_.shape)), type_.element_type))

    def loop(self, op: Operation) -> None:
        lower, upper, step, *initial = op.operands
        body = body_of(op)
        counter, *arguments = body.arguments
        (index,) = self.receive(counter)
        carried = [each for argument in arguments for each in self.receive(argument)]
        self.move([index, *carried], [self.number(lower), *(part for v in initial for part in self.parts(v))])
        condition = self.register()
        before = self.branch(lambda: self.write("cmpi", condition, "slt", index, self.number(upper)))

        def run() -> None:
            end = self.block(body)
            self.move(carried, [part for value in end.operands for part in self.parts(value)])
            self.write("addi", index, index, self.number(step), 64)

        self.write("while", before, condition, self.branch(run))
        for result, argument in zip(op.results, arguments, strict=True):
            self.know(result, self.held(argument))

    def while_(self, op: Operation) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        carried = [each for argument in before.arguments for each in self.receive(argument)]
        self.move(carried, [part for value in op.operands for part in self.parts(value)])
        left = [each for argument in after.arguments for each in self.receive(argument)]
        condition = self.register()

        def ask() -> None:
            goes_on, *passed = self.block(before).operands
            self.move([condition, *left], [self.number(goes_on), *(e for v in passed for e in self.parts(v))])

        def run() -> None:
            self.move(carried, [part for value in self.block(after).operands for part in self.parts(value)])

        self.write("while", self.branch(ask), condition, self.branch(run))
        for result, argument in zip(op.results, after.arguments, strict=True):
            self.know(result, self.held(argument))

    def if_(self, op: Operation) -> None:
        results = [each for result in op.results for each in self.receive(result)]

        def taken(block: Block) -> Callable[[], None]:
            def run() -> None:
                self.move(results, [part for value in self.block(block).operands for part in self.parts(value)])

            return run

        blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
        branches = [self.branch(taken(block)) for block in blocks]
        self.write("if", self.number(op.operands[0]), *branches, *([[]] if len(branches) < 2 else []))

    def check(self, op: Operation) -> None:
        condition, *numbers = op.operands
        kind, message = (str(op.attributes[name].value) for name in ("kind", "message"))
        place = None
        if self._function is not None and GRAPH_INPUTS in self._function.attributes:
            place = self.place(op.location)
        shown = [self.number(each).number for each in numbers]
        self.write("assert", self.number(condition), kind, message, shown, place)

    def give(self, op: Operation) -> None:
        source, place = op.operands
        view = self.view(source)
        sizes = [self.sized(each).number for each in view.sizes]
        self.write("give", self.number(place), view.address, sizes, memory_bytes(view.element))


def _place_text(callee: Operation | None, location: Location) -> str:
    what = ""
    if callee is not None:
        stated = callee.attributes.get(OPERATOR)
        what = string_value(stated) if stated is not None else f"@{symbol_name(callee)}"
    return made_at(what, location) or "the program"
