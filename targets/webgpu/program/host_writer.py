# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of host code as instructions, which runners in Python and JavaScript go through.

An instruction is a list: a name, then numbers of registers and what else the name asks for (docs/webgpu.md has them
all). Memory is an address, a byte's place in the program's, and the sizes that are not known.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ....bindings.diagnostics import made_at
from ....bindings.ir import Block, Location, Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir, string_value
from ....bindings.navigation import body_of, callee_of, constant_of, operations_of, symbol_name
from ....bindings.rewriting import located_error
from ....dialects.core.ir_attributes import OPERATOR
from ....support.errors import RefusalError
from ...gpu.kernels.outline import launched
from ..wgsl.memory import described
from ..wgsl.types import memory_bytes

Instruction = list[object]
#: A register's number, or a number itself.
Size = "int | Register"


@dataclass(frozen=True)
class Register:
    """Where an integer of 64 bits is, with arithmetic that writes instructions."""

    writer: HostWriter = field(repr=False)
    number: int

    def __add__(self, other: int | Register) -> Register:
        return self.writer.integers("addi", self, other)

    def __mul__(self, other: int | Register) -> Register:
        return self.writer.integers("muli", self, other)

    __radd__, __rmul__ = __add__, __mul__


@dataclass(frozen=True)
class HostView:
    """A memref: row-major memory."""

    address: Register
    sizes: tuple[int | Register, ...]
    element: Type


@dataclass
class Known:
    """What the functions of a program have in common: the places of kernels and constants by their names."""

    functions: dict[str, Operation]
    kernels: dict[str, int]
    constants: dict[str, int]


class HostWriter:
    def __init__(self, known: Known, function: Operation | None = None) -> None:
        self._known, self._function = known, function
        self._count = 0
        self._body: list[Instruction] = []
        self._values: dict[Value, Register | HostView] = {}

    def function(self) -> dict[str, object]:
        """The function, whole."""
        assert self._function is not None
        body = body_of(self._function)
        for argument in body.arguments:
            self._receive(argument)
        parameters = self._count
        end = self._block(body)
        if len(end.operands):
            raise located_error("target 'webgpu': host code gives values back", self._function.location)
        return self.finished(parameters)

    def finished(self, parameters: int) -> dict[str, object]:
        return {"parameters": parameters, "registers": self._count, "body": self._body}

    # ---- registers ----

    def register(self) -> Register:
        self._count += 1
        return Register(self, self._count - 1)

    def write(self, name: str, *parts: object) -> None:
        self._body.append([name, *[each.number if isinstance(each, Register) else each for each in parts]])

    def made(self, name: str, *parts: object) -> Register:
        """A register that an instruction writes."""
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
        """The instructions that a function writes, apart."""
        outer, self._body = self._body, []
        write()
        own, self._body = self._body, outer
        return own

    # ---- values ----

    def _receive(self, argument: Value) -> list[Register]:
        """A new value of a type: the registers that it is in."""
        type_ = argument.type
        if not isinstance(type_, ir.MemRefType):
            found = self.register()
            self._values[argument] = found
            return [found]
        address = self.register()
        sizes = [self.register() if size == DYNAMIC else int(size) for size in type_.shape]
        self._values[argument] = HostView(address, tuple(sizes), type_.element_type)
        return self._parts(argument)

    def _parts(self, value: Value) -> list[Register]:
        """The registers that a value is in."""
        held = self.get(value)
        if isinstance(held, Register):
            return [held]
        pairs = zip(held.sizes, value.type.shape, strict=True)
        return [held.address, *(self.sized(size) for size, known in pairs if known == DYNAMIC)]

    def get(self, value: Value) -> Register | HostView:
        if value not in self._values:
            raise RefusalError(f"it reads a {value.type}, which has no value here")
        return self._values[value]

    def number(self, value: Value) -> Register:
        found = self.get(value)
        assert isinstance(found, Register)
        return found

    def view(self, value: Value) -> HostView:
        found = self.get(value)
        assert isinstance(found, HostView)
        return found

    def know(self, value: Value, held: Register | HostView) -> None:
        self._values[value] = held

    def size(self, value: Value) -> int | Register:
        known = constant_of(value)
        return self.number(value) if known is None else int(known)

    # ---- operations ----

    def _block(self, block: Block) -> Operation:
        *ops, end = operations_of(block)
        for op in ops:
            rule = RULES.get(op.name)
            try:
                if rule is None:
                    raise RefusalError("a browser has no counterpart of it")
                rule(self, op)
            except RefusalError as error:
                if error.location:
                    raise
                text = f"target 'webgpu' cannot write '{op.name}' op of host code: {error.message}"
                raise located_error(text, op.location, error.notes) from None
        return end

    def place(self, location: Location) -> str:
        """What an error begins with that the function itself finds."""
        return _place_text(self._function, location)

    def move(self, targets: Sequence[Register], sources: Sequence[Register]) -> None:
        if targets:
            self.write("move", [each.number for each in targets], [each.number for each in sources])

    def call(self, op: Operation) -> None:
        callee = self._known.functions.get(callee_of(op))
        if callee is None:
            raise RefusalError(f"it calls '{callee_of(op)}', which is C")
        given = [part.number for value in op.operands for part in self._parts(value)]
        self.write("call", callee_of(op), given, _place_text(callee, op.location))

    def launch(self, op: Operation) -> None:
        blocks, _, _, _, _, _, *given = op.operands
        parts = [self.number(each).number for each in given]
        self.write("launch", self._known.kernels[launched(op)], self.number(blocks), parts)

    def constant_memory(self, op: Operation) -> None:
        type_ = op.results[0].type
        address = self.made("constant", self._known.constants[str(op.attributes["name"].value)])
        self.know(op.results[0], HostView(address, tuple(map(int, type_.shape)), type_.element_type))

    def loop(self, op: Operation) -> None:
        lower, upper, step, *initial = op.operands
        body = body_of(op)
        counter, *arguments = body.arguments
        (index,) = self._receive(counter)
        carried = [each for argument in arguments for each in self._receive(argument)]
        self.move([index, *carried], [self.number(lower), *(each for v in initial for each in self._parts(v))])
        condition = self.register()
        before = self.branch(lambda: self.write("cmpi", condition, "slt", index, self.number(upper)))

        def run() -> None:
            end = self._block(body)
            self.move(carried, [each for value in end.operands for each in self._parts(value)])
            self.write("addi", index, index, self.number(step), 64)

        self.write("while", before, condition, self.branch(run))
        for result, argument in zip(op.results, arguments, strict=True):
            self.know(result, self.get(argument))

    def while_(self, op: Operation) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        carried = [each for argument in before.arguments for each in self._receive(argument)]
        self.move(carried, [each for value in op.operands for each in self._parts(value)])
        left = [each for argument in after.arguments for each in self._receive(argument)]
        condition = self.register()

        def ask() -> None:
            goes_on, *passed = self._block(before).operands
            self.move([condition, *left], [self.number(goes_on), *(e for v in passed for e in self._parts(v))])

        def run() -> None:
            self.move(carried, [each for value in self._block(after).operands for each in self._parts(value)])

        asked = self.branch(ask)
        self.write("while", asked, condition, self.branch(run))
        for result, argument in zip(op.results, after.arguments, strict=True):
            self.know(result, self.get(argument))

    def if_(self, op: Operation) -> None:
        results = [each for result in op.results for each in self._receive(result)]

        def taken(block: Block) -> Callable[[], None]:
            def run() -> None:
                self.move(results, [each for value in self._block(block).operands for each in self._parts(value)])

            return run

        blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
        branches = [self.branch(taken(block)) for block in blocks]
        self.write("if", self.number(op.operands[0]), *branches, *([[]] if len(branches) < 2 else []))

    def check(self, op: Operation) -> None:
        condition, *numbers = op.operands
        kind, message = (str(op.attributes[each].value) for each in ("kind", "message"))
        place = None
        if self._function is not None and "relax.inputs" in self._function.attributes:
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


# ---- rules ----

Rule = Callable[[HostWriter, Operation], None]


def _width(type_: Type) -> int:
    return 64 if isinstance(type_, ir.IndexType) else int(type_.width)


def _integers(name: str) -> Rule:
    def write(writer: HostWriter, op: Operation) -> None:
        a, b = map(writer.number, op.operands)
        writer.know(op.results[0], writer.made(name, a, b, _width(op.results[0].type)))

    return write


def _same_operands(name: str) -> Rule:
    def write(writer: HostWriter, op: Operation) -> None:
        made = writer.made(name, *map(writer.number, op.operands))
        if str(op.results[0].type) == "f32":
            made = writer.made("f32", made)
        writer.know(op.results[0], made)

    return write


_PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge".split()
_FLOAT_PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


def _compare(writer: HostWriter, op: Operation) -> None:
    a, b = map(writer.number, op.operands)
    predicate = _PREDICATES[op.attributes["predicate"].value]
    if predicate.startswith("u"):
        bits = _width(op.operands[0].type)
        a, b = (writer.made("unsigned", each, bits) for each in (a, b))
        predicate = f"s{predicate[1:]}"
    writer.know(op.results[0], writer.made("cmpi", predicate, a, b))


def _compare_floats(writer: HostWriter, op: Operation) -> None:
    predicate = _FLOAT_PREDICATES[op.attributes["predicate"].value]
    if predicate not in ("oeq", "ogt", "oge", "olt", "ole", "une"):
        raise RefusalError(f"it compares by '{predicate}'")
    writer.know(op.results[0], writer.made("cmpf", predicate, *map(writer.number, op.operands)))


def _constant(writer: HostWriter, op: Operation) -> None:
    value = op.attributes["value"]
    if isinstance(value, ir.FloatAttr):
        made = writer.made("float", repr(float(value.value)).replace("inf", "Infinity").replace("nan", "NaN"))
    elif isinstance(value, ir.BoolAttr):
        made = writer.integer(int(bool(value.value)))
    elif isinstance(value, ir.IntegerAttr):
        made = writer.integer(int(value.value))
    else:
        return  # what kernels have made again
    writer.know(op.results[0], made)


def _cast(writer: HostWriter, op: Operation) -> None:
    (value,) = op.operands
    given, wanted = _width(value.type), _width(op.results[0].type)
    held = writer.number(value)
    is_unsigned = op.name in ("arith.extui", "arith.index_castui") or given == 1
    if is_unsigned and wanted > given:
        held = writer.made("unsigned", held, given)
        if op.name == "arith.extsi" and given == 1:
            held = writer.integers("subi", 0, held)
    elif wanted < given:
        held = writer.made("wrap", held, wanted)
    writer.know(op.results[0], held)


def _to_float(writer: HostWriter, op: Operation) -> None:
    held = writer.number(op.operands[0])
    if op.name == "arith.uitofp":
        held = writer.made("unsigned", held, _width(op.operands[0].type))
    made = writer.made("sitofp", held)
    writer.know(op.results[0], writer.made("f32", made) if str(op.results[0].type) == "f32" else made)


def _to_integer(writer: HostWriter, op: Operation) -> None:
    made = writer.made("fptosi", writer.number(op.operands[0]))
    writer.know(op.results[0], writer.made("wrap", made, _width(op.results[0].type)))


def _round_float(writer: HostWriter, op: Operation) -> None:
    if str(op.results[0].type) not in ("f32", "f64"):
        raise RefusalError(f"it makes {op.results[0].type}")
    held = writer.number(op.operands[0])
    writer.know(op.results[0], writer.made("f32", held) if str(op.results[0].type) == "f32" else held)


def _select(writer: HostWriter, op: Operation) -> None:
    condition, *values = op.operands
    chosen = writer._receive(op.results[0])
    branches = [writer.branch(functools.partial(writer.move, chosen, writer._parts(each))) for each in values]
    writer.write("if", writer.number(condition), *branches)


def _allocate(writer: HostWriter, op: Operation) -> None:
    type_ = op.results[0].type
    given = iter(op.operands)
    sizes = [writer.size(next(given)) if size == DYNAMIC else int(size) for size in type_.shape]
    bytes_ = writer.product([*sizes, memory_bytes(type_.element_type)])
    address = writer.made("alloc", writer.sized(bytes_))
    writer.know(op.results[0], HostView(address, tuple(sizes), type_.element_type))


def _free(writer: HostWriter, op: Operation) -> None:
    writer.write("free", writer.view(op.operands[0]).address)


def _dim(writer: HostWriter, op: Operation) -> None:
    axis = constant_of(op.operands[1])
    if axis is None:
        raise RefusalError("it asks the size of an axis that is found at run time")
    writer.know(op.results[0], writer.sized(writer.view(op.operands[0]).sizes[axis]))


def _view(writer: HostWriter, op: Operation) -> None:
    source, shift, *dynamic = op.operands
    type_, given = op.results[0].type, iter(dynamic)
    sizes = tuple(writer.size(next(given)) if size == DYNAMIC else int(size) for size in type_.shape)
    address = writer.view(source).address + writer.size(shift)
    writer.know(op.results[0], HostView(address, sizes, type_.element_type))


def _cast_view(writer: HostWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    pairs = zip(view.sizes, op.results[0].type.shape, strict=True)
    sizes = tuple(known if size == DYNAMIC else int(size) for known, size in pairs)
    writer.know(op.results[0], replace(view, sizes=sizes))


def _reinterpret(writer: HostWriter, op: Operation) -> None:
    view, given = writer.view(op.operands[0]), iter(list(op.operands)[1:])
    (stated,) = op.attributes["static_offsets"]
    offset = writer.size(next(given)) if stated == DYNAMIC else int(stated)
    sizes = [writer.size(next(given)) if each == DYNAMIC else int(each) for each in op.attributes["static_sizes"]]
    address = view.address
    if offset != 0:
        address = address + writer.product([offset, memory_bytes(view.element)])
    writer.know(op.results[0], HostView(address, tuple(sizes), view.element))


def _subview(writer: HostWriter, op: Operation) -> None:
    """A part that is in a row, as what kernels are passed is."""
    view, type_ = writer.view(op.operands[0]), op.results[0].type
    given = iter(list(op.operands)[1:])
    offsets = [writer.size(next(given)) if each == DYNAMIC else int(each) for each in op.attributes["static_offsets"]]
    sizes = [writer.size(next(given)) if each == DYNAMIC else int(each) for each in op.attributes["static_sizes"]]
    place: int | Register = 0
    for offset, size in zip(offsets, view.sizes, strict=True):
        place = offset if place == 0 else place * size + offset
    if len(sizes) != type_.rank:
        sizes = [size for size in sizes if size != 1]
    if len(sizes) != type_.rank:
        raise RefusalError(f"it takes a part of the type {type_}")
    address = view.address + writer.product([place, memory_bytes(view.element)])
    writer.know(op.results[0], HostView(address, tuple(sizes), view.element))


def _expand(writer: HostWriter, op: Operation) -> None:
    view, given = writer.view(op.operands[0]), iter(list(op.operands)[1:])
    shape = op.attributes["static_output_shape"]
    sizes = [writer.size(next(given)) if each == DYNAMIC else int(each) for each in shape]
    writer.know(op.results[0], replace(view, sizes=tuple(sizes)))


def _collapse(writer: HostWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    groups = [[int(axis) for axis in group] for group in op.attributes["reassociation"]]
    sizes = [writer.product([view.sizes[axis] for axis in group]) for group in groups]
    writer.know(op.results[0], replace(view, sizes=tuple(sizes)))


def _conversion(writer: HostWriter, op: Operation) -> None:
    """A memref as a descriptor, of which the address is asked; or the other way round."""
    source, result = op.operands[0], op.results[0]
    if isinstance(result.type, ir.MemRefType) and not isinstance(source.type, ir.MemRefType):
        parts = described(source)
        sizes = [
            writer.size(parts[3, axis]) if size == DYNAMIC else int(size) for axis, size in enumerate(result.type.shape)
        ]
        writer.know(result, HostView(writer.number(parts[1,]), tuple(sizes), result.type.element_type))
        return
    if isinstance(result.type, ir.MemRefType):
        view = writer.view(source)
        sizes = writer.product([*view.sizes, memory_bytes(view.element)])
        writer.know(result, HostView(view.address, (sizes,), result.type.element_type))
        return
    writer.know(result, writer.view(source).address if isinstance(source.type, ir.MemRefType) else writer.get(source))


def _same(writer: HostWriter, op: Operation) -> None:
    writer.know(op.results[0], writer.get(op.operands[0]))


def _read(writer: HostWriter, op: Operation) -> None:
    memref, *indices = op.operands
    view = writer.view(memref)
    place: int | Register = 0
    for index, size in zip(indices, view.sizes, strict=True):
        index = writer.size(index)
        place = index if place == 0 else place * size + index
    address = view.address + writer.product([place, memory_bytes(view.element)])
    made = writer.made("load", address, str(view.element))
    writer.know(op.results[0], made)


def _nowhere(writer: HostWriter, op: Operation) -> None:
    """The address of memory that nobody looks at."""
    writer.know(op.results[0], writer.integer(0))


def _nothing(writer: HostWriter, op: Operation) -> None:
    """A hint for machines."""


RULES: dict[str, Rule] = {
    **{
        f"arith.{name}": _integers(name)
        for name in (
            "addi subi muli divsi divui remsi remui andi ori xori shli shrsi shrui minsi maxsi minui maxui "
            "ceildivsi floordivsi ceildivui"
        ).split()
    },
    **{
        f"arith.{name}": _same_operands(name)
        for name in "addf subf mulf divf negf minimumf maximumf".split()
    },
    "arith.minnumf": _same_operands("minimumf"),
    "arith.maxnumf": _same_operands("maximumf"),
    "math.floor": _same_operands("floor"),
    "math.ceil": _same_operands("ceil"),
    "math.trunc": _same_operands("trunc"),
    "math.absf": _same_operands("abs"),
    "math.sqrt": _same_operands("sqrt"),
    "arith.cmpi": _compare,
    "arith.cmpf": _compare_floats,
    "arith.constant": _constant,
    "arith.index_cast": _cast,
    "arith.index_castui": _cast,
    "arith.extsi": _cast,
    "arith.extui": _cast,
    "arith.trunci": _cast,
    "arith.sitofp": _to_float,
    "arith.uitofp": _to_float,
    "arith.fptosi": _to_integer,
    "arith.truncf": _round_float,
    "arith.extf": _round_float,
    "arith.select": _select,
    "memref.alloc": _allocate,
    "memref.dealloc": _free,
    "memref.dim": _dim,
    "memref.view": _view,
    "memref.cast": _cast_view,
    "memref.memory_space_cast": _same,
    "memref.assume_alignment": _same,
    "memref.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "memref.expand_shape": _expand,
    "memref.collapse_shape": _collapse,
    "memref.load": _read,
    "memref.get_global": HostWriter.constant_memory,
    "builtin.unrealized_conversion_cast": _conversion,
    "llvm.extractvalue": _same,
    "llvm.mlir.zero": _nowhere,
    "llvm.mlir.poison": _nothing,
    "llvm.insertvalue": _nothing,
    "func.call": HostWriter.call,
    "gpu.launch_func": HostWriter.launch,
    "scf.for": HostWriter.loop,
    "scf.while": HostWriter.while_,
    "scf.if": HostWriter.if_,
    "tir.assert": HostWriter.check,
    "tir.give_tensor": HostWriter.give,
    "memref.prefetch": _nothing,
    "tir.prefetch": _nothing,
}
