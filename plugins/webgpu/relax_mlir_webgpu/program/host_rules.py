# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that write the arithmetic and memory operations of host code as instructions. Views are addresses and sizes."""

from __future__ import annotations

import functools
from dataclasses import replace

from relax_mlir import RefusalError, ir
from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.mlir import DYNAMIC
from relax_mlir.bindings.navigation import constant_of
from relax_mlir.rewriting import Operation

from ..runtime.instructions import READABLE
from ..wgsl.memory_rules import described
from ..wgsl.wgsl_types import memory_bytes
from .host_writer import HostView, HostWriter, Register, Rule


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
        raise RefusalError(f"it compares by '{predicate}', which host code does not support")
    writer.know(op.results[0], writer.made("cmpf", predicate, *map(writer.number, op.operands)))


def _constant(writer: HostWriter, op: Operation) -> None:
    if isinstance(value := op.attributes["value"], ir.FloatAttr):
        made = writer.made("float", repr(float(value.value)).replace("inf", "Infinity").replace("nan", "NaN"))
    elif isinstance(value, ir.BoolAttr):
        made = writer.integer(int(bool(value.value)))
    elif isinstance(value, ir.IntegerAttr):
        made = writer.integer(int(value.value))
    else:
        return  # Kernels have their own copies of other constants.
    writer.know(op.results[0], made)


def _cast(writer: HostWriter, op: Operation) -> None:
    (value,) = op.operands
    given, wanted = _width(value.type), _width(op.results[0].type)
    integers = writer.number(value)
    is_unsigned = op.name in ("arith.extui", "arith.index_castui") or given == 1
    if is_unsigned and wanted > given:
        integers = writer.made("unsigned", integers, given)
        if op.name == "arith.extsi" and given == 1:
            integers = writer.integers("subi", 0, integers)
    elif wanted < given:
        integers = writer.made("wrap", integers, wanted)
    writer.know(op.results[0], integers)


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
        raise RefusalError(f"it converts to {op.results[0].type}, but host code only has f32 and f64")
    held = writer.number(op.operands[0])
    writer.know(op.results[0], writer.made("f32", held) if str(op.results[0].type) == "f32" else held)


def _select(writer: HostWriter, op: Operation) -> None:
    condition, *values = op.operands
    chosen = writer.receive(op.results[0])
    branches = [writer.branch(functools.partial(writer.move, chosen, writer.parts(value))) for value in values]
    writer.write("if", writer.number(condition), *branches)


def _allocate(writer: HostWriter, op: Operation) -> None:
    type_ = op.results[0].type
    given = iter(op.operands)
    sizes = [writer.size(next(given)) if size == DYNAMIC else int(size) for size in type_.shape]
    address = writer.made("alloc", writer.sized(writer.product([*sizes, memory_bytes(type_.element_type)])))
    writer.know(op.results[0], HostView(address, tuple(sizes), type_.element_type))


def _free(writer: HostWriter, op: Operation) -> None:
    writer.write("free", writer.view(op.operands[0]).address)


def _dim(writer: HostWriter, op: Operation) -> None:
    if (axis := constant_of(op.operands[1])) is None:
        raise RefusalError("it reads the size of an axis that is only known at run time")
    writer.know(op.results[0], writer.sized(writer.view(op.operands[0]).sizes[axis]))


def _view(writer: HostWriter, op: Operation) -> None:
    source, shift, *dynamic = op.operands
    type_, given = op.results[0].type, iter(dynamic)
    sizes = tuple(writer.size(next(given)) if size == DYNAMIC else int(size) for size in type_.shape)
    address = writer.view(source).address + writer.size(shift)
    writer.know(op.results[0], HostView(address, sizes, type_.element_type))


def _address(writer: HostWriter, op: Operation) -> None:
    writer.know(op.results[0], writer.view(op.operands[0]).address)


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
    """Write the address of a contiguous subview. Arguments of kernels are contiguous."""
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
        raise RefusalError(f"its result is a view of the type {type_}, which host code does not support")
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
    """Convert between a memref and its descriptor, or view a memref as bytes.

    The address represents a memref's descriptor, because host code extracts nothing else.
    """
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
        bytes_ = writer.product([*view.sizes, memory_bytes(view.element)])
        writer.know(result, HostView(view.address, (bytes_,), result.type.element_type))
        return
    writer.know(result, writer.view(source).address if isinstance(source.type, ir.MemRefType) else writer.held(source))


def _same(writer: HostWriter, op: Operation) -> None:
    writer.know(op.results[0], writer.held(op.operands[0]))


def _read(writer: HostWriter, op: Operation) -> None:
    memref, *indices = op.operands
    view = writer.view(memref)
    if str(view.element) not in READABLE:
        raise RefusalError(f"it reads a {view.element}, but host code can only read {', '.join(READABLE)}")
    place: int | Register = 0
    for value, size in zip(indices, view.sizes, strict=True):
        index = writer.size(value)
        place = index if place == 0 else place * size + index
    address = view.address + writer.product([place, memory_bytes(view.element)])
    made = writer.made("load", address, str(view.element))
    writer.know(op.results[0], made)


def _random_key(writer: HostWriter, op: Operation) -> None:
    writer.know(op.results[0], writer.made("random_key"))


def _nowhere(writer: HostWriter, op: Operation) -> None:
    """Write 0 as the address of memory that nothing accesses."""
    writer.know(op.results[0], writer.integer(0))


def _nothing(writer: HostWriter, op: Operation) -> None:
    """Write nothing: the operation is a hint for machines, or a rule reads the operation through its users."""


RULES: dict[str, Rule] = {
    **{
        f"arith.{name}": _integers(name)
        for name in (
            "addi subi muli divsi divui remsi remui andi ori xori shli shrsi shrui minsi maxsi minui maxui "
            "ceildivsi floordivsi ceildivui"
        ).split()
    },
    **{f"arith.{name}": _same_operands(name) for name in "addf subf mulf divf negf minimumf maximumf".split()},
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
    "memref.extract_aligned_pointer_as_index": _address,
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
    "tir.packed": HostWriter.packed,
    "gpu.launch_func": HostWriter.launch,
    "scf.for": HostWriter.loop,
    "scf.while": HostWriter.while_,
    "scf.if": HostWriter.if_,
    "tir.assert": HostWriter.check,
    "tir.give_tensor": HostWriter.give,
    "tir.random_key": _random_key,
    "memref.prefetch": _nothing,
    "tir.prefetch": _nothing,
}
