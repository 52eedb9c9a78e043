# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memref operations in C. Views are pointers with offsets and strides, which element accesses spell out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import made_by, operations_of, users_of
from relax_mlir.emit.collapse import groups_of
from relax_mlir.emit.tensors import SlicePlace, kept_axes
from relax_mlir.support.errors import RefusalError

from .arena import is_on_stack
from .control import loop
from .device_memories import device_memory_of
from .expressions import Expression, Size, binary, cast, integer, name, of_size, product
from .integers import is_bool
from .memref_views import MemrefView, dense, refined, static_or
from .types import BYTES, memory_type, scalar_type
from .writer import FunctionWriter, Rule

_HEAP = "allocate memory with malloc: c{memory=heap}"
#: Hints, by whether a size is unbounded.
_HINTS = {True: f'state the range of symbolic sizes, bind={{"n": "1..64"}} or --bind n:1..64; or {_HEAP}', False: _HEAP}


def read(view: MemrefView, place: Expression) -> Expression:
    """Return an element as a value. Bools are bytes in memory."""
    return binary("!=", place, integer(0)) if is_bool(view.element) else place


def _load(writer: FunctionWriter, op: Operation) -> None:
    memref, *indices = op.operands
    view = writer.view(memref)
    element = read(view, view.place(writer.all(indices)))
    if view.is_variable and _is_used_before_change(op):
        writer.know(op.results[0], element)
    else:
        writer.define(op.results[0], element, "x")


def _is_used_before_change(load: Operation) -> bool:
    """Check whether a variable is unchanged at all uses of the loaded value."""
    inside = operations_of(load.block)
    seen = []
    for op in inside[inside.index(load) + 1 :]:
        if len(op.regions):
            break
        seen.append(op)
        if op.name == "memref.store" and op.operands[1] == load.operands[0]:
            break
    return all(user in seen for user in users_of(load.results[0]))


def _store(writer: FunctionWriter, op: Operation) -> None:
    value, memref, *indices = op.operands
    stored, places = writer.get(value), writer.all(indices)
    writer.settle()
    view = writer.view(memref)
    place, text, sign = view.place(places).text, stored.text, _sign_of(op)
    if sign and text.startswith(f"{place} {sign} "):
        writer.line(f"{place} {sign}= {text.removeprefix(f'{place} {sign} ')};")
    elif sign and text.endswith(f" {sign} {place}"):
        writer.line(f"{place} {sign}= {text.removesuffix(f' {sign} {place}')};")
    else:
        writer.line(f"{place} = {text};")
    if view.is_variable:  # the store may have declared the variable
        writer.know(memref, replace(view, pointer=name(place.rpartition(" ")[2])))


#: Operations with a compound assignment, such as `+=`.
_SIGNS = {"arith.addf": "+", "arith.mulf": "*"}


def _sign_of(store: Operation) -> str:
    """Return the operator of a store that updates an element with its old value, or an empty string."""
    value, *place = store.operands
    made = made_by(value)
    loads = (
        [made_by(operand, "memref.load") for operand in made.operands]
        if made is not None and made.name in _SIGNS
        else []
    )
    is_same = [load is not None and list(load.operands) == place for load in loads]
    return _SIGNS[made.name] if made is not None and any(is_same) else ""


def _dim(writer: FunctionWriter, op: Operation) -> None:
    memref, axis = op.operands
    view, number = writer.view(memref), writer.get(axis).number
    if number is None:
        raise RefusalError("the dimension is only known at run time")
    writer.know(op.results[0], of_size(view.sizes[number]))


def _rank(writer: FunctionWriter, op: Operation) -> None:
    writer.know(op.results[0], integer(op.operands[0].type.rank))


def _global(writer: FunctionWriter, op: Operation) -> None:
    type_ = op.results[0].type
    pointer = writer.program.constant_name(str(op.attributes["name"].value))
    writer.know(op.results[0], dense(name(pointer), type_.element_type, list(type_.shape)))


# ---- allocations ----


def _allocate(writer: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    type_ = result.type
    sizes = static_or(list(type_.shape), _named(writer, writer.all(list(op.operands)), "size"))
    element = memory_type(type_.element_type)
    if (array := writer.program.memories.get(device_memory_of(result))) is not None:
        writer.know(result, dense(name(f"{array.name}.bytes"), type_.element_type, sizes))
        return
    chosen = writer.names.fresh(writer.program.buffer_name(result))
    _write_allocation(writer, op, chosen, element, sizes)
    writer.know(result, dense(name(chosen), type_.element_type, sizes))


def _write_allocation(writer: FunctionWriter, op: Operation, chosen: str, element: str, sizes: Sequence[Size]) -> None:
    """Declare a pointer to a buffer in the arena, or to memory from malloc."""
    program = writer.program
    offsets, is_heap = program.arena.offsets, program.options.is_heap
    if not program.has_no_place(op):
        arena = "memory->arena" if is_heap else "arena.bytes"
        writer.pointer(chosen, element, f"({element} *)({arena} + {offsets[op.results[0]]})")
        return
    if not is_heap:
        is_unbounded = op.results[0] not in offsets
        reason = "its size has no bound" if is_unbounded else "a loop allocates it in each step and passes it on"
        raise writer.refusal(op, f"{reason}, so it cannot be in static memory", _HINTS[is_unbounded])
    total: Size = BYTES[element]
    for size in sizes:
        total = size * total
    status = program.status("MemoryError", "out of memory")
    writer.line(f"{element} *{chosen} = ({element} *)take_memory(memory, {of_size(total).text});")
    with writer.braces(f"if ({chosen} == 0)"):
        writer.line(f"return {status};")


def _named(writer: FunctionWriter, sizes: Sequence[Expression], wanted: str) -> list[Expression]:
    """Return the sizes as literals or identifiers, which can be repeated without cost."""
    index = ir.IndexType.get
    return [
        size
        if size.number is not None
        else writer.declare(size, index(writer.program.context), wanted)
        if not size.text.isidentifier()
        else size
        for size in sizes
    ]


def _declare_on_stack(writer: FunctionWriter, op: Operation) -> None:
    """Declare a variable or an array, named after the operation that accumulates in it."""
    if not is_on_stack(op):
        _allocate(writer, op)
        return
    (result,), sizes, users = op.results, list(op.results[0].type.shape), users_of(op.results[0])
    stored = (made_by(user.operands[0]) for user in users if user.name == "memref.store")
    words = [made.name.removeprefix("arith.") for made in stored if made is not None]
    wanted = next((_NAMES[word] for word in words if word in _NAMES), "result")
    view = dense(name(""), result.type.element_type, sizes)
    if all(user.name in ("memref.load", "memref.store") for user in users):
        view = replace(view, is_own=True)
        sizes = [size for size in sizes if size != 1]
    else:
        sizes = [product(sizes)]
    chosen = writer.names.fresh(wanted if view.is_variable else f"{wanted}s")
    declared = f"{view.memory_type} {chosen}"
    if view.is_variable and _is_stored_first(op):
        chosen = declared
    elif view.is_variable:
        writer.line(f"{declared} = 0;")  # compilers may not see that it is assigned before its first read
    else:
        writer.line(f"{declared}{''.join(f'[{max(size, 1)}]' for size in sizes)};")
    writer.know(result, replace(view, pointer=name(chosen)))


#: Names of variables, by the operation that computes their values.
_NAMES = {"addf": "sum", "addi": "sum", "maximumf": "most", "maxsi": "most", "minimumf": "least", "mulf": "product"}


def _is_stored_first(allocation: Operation) -> bool:
    """Check whether the first use of a variable is an assignment in the block of its declaration."""
    (memref,), inside = allocation.results, operations_of(allocation.block)
    after = inside[inside.index(allocation) + 1 :]
    first = next((op for op in after if len(op.regions) or memref in list(op.operands)), None)
    return first is not None and first.name == "memref.store"


def _deallocate(writer: FunctionWriter, op: Operation) -> None:
    program, view = writer.program, writer.view(op.operands[0])
    maker = made_by(op.operands[0])
    if maker is not None and maker.name == "memref.alloc" and not program.has_no_place(maker):
        return
    if program.options.is_heap:
        writer.line(f"give_memory_back(memory, {view.address().text});")


def _view_of_bytes(writer: FunctionWriter, op: Operation) -> None:
    source, offset, *dynamic = op.operands
    result = op.results[0]
    element = memory_type(result.type.element_type)
    start = writer.get(offset)
    number = start.number
    bytes_ = writer.view(source).address() + (start if number is None else number)
    sizes = static_or(list(result.type.shape), _named(writer, writer.all(dynamic), "size"))
    chosen = writer.names.fresh(writer.program.buffer_name(result))
    writer.pointer(chosen, element, f"({element} *){bytes_.atom}")
    writer.know(result, dense(name(chosen), result.type.element_type, sizes))


# ---- views ----


def _conversion(writer: FunctionWriter, op: Operation) -> None:
    """Convert memory to a view of its bytes, or a scalar to a signless integer."""
    (value,), (result,) = op.operands, op.results
    if not isinstance(result.type, ir.MemRefType):
        if scalar_type(value.type) != scalar_type(result.type):
            raise RefusalError(f"it converts a {value.type} to a {result.type}, which C cannot express")
        writer.define(result, writer.get(value))
        return
    view, byte = writer.view(value), memory_type(result.type.element_type)
    if len(view.sizes) != 1 or not view.is_dense or result.type.rank != 1 or BYTES[byte] != 1:
        raise RefusalError(f"it converts a {value.type} to a {result.type}, which C cannot express")
    count = BYTES[view.memory_type] * view.sizes[0]
    writer.know(result, dense(cast(f"{byte} *", view.address()), result.type.element_type, [count]))


def _cast(writer: FunctionWriter, op: Operation) -> None:
    view, type_ = writer.view(op.operands[0]), op.results[0].type
    if not isinstance(type_, ir.MemRefType):
        raise RefusalError(f"C cannot express memory of unknown rank ({type_})")
    writer.know(op.results[0], replace(view, sizes=refined(view.sizes, type_)))


def _describe(writer: FunctionWriter, op: Operation) -> tuple[list[Size], list[Size], list[Size]]:
    """Return offsets, sizes and strides, from attributes or operands."""
    dynamic = iter(_named(writer, writer.all(list(op.operands)[1:]), "place"))
    offsets, sizes, strides = (static_or(op.attributes[f"static_{name}"], dynamic) for name in SlicePlace._fields)
    return offsets, sizes, strides


def _reinterpret(writer: FunctionWriter, op: Operation) -> None:
    offsets, sizes, strides = _describe(writer, op)
    view = writer.view(op.operands[0])
    writer.know(op.results[0], MemrefView(view.pointer, view.element, tuple(sizes), tuple(strides), offsets[0]))


def _subview(writer: FunctionWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    offsets, sizes, steps = _describe(writer, op)
    offset = view.offset
    for start, stride in zip(offsets, view.strides, strict=True):
        offset = offset + start * stride
    strides = [step * stride for step, stride in zip(steps, view.strides, strict=True)]
    kept_sizes, kept_strides = (tuple(values[axis] for axis in kept_axes(op)) for values in (sizes, strides))
    writer.know(op.results[0], MemrefView(view.pointer, view.element, kept_sizes, kept_strides, offset))


def _collapse(writer: FunctionWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    sizes: list[Size] = []
    strides: list[Size] = []
    for group in groups_of(op):
        sizes.append(product(view.sizes[axis] for axis in group))
        # The innermost axis of more than one step determines the stride of a strided group.
        last = next((axis for axis in reversed(group) if view.sizes[axis] != 1), group[-1])
        strides.append(view.strides[last])
    shape = refined(_named_sizes(writer, sizes), op.results[0].type)
    writer.know(op.results[0], MemrefView(view.pointer, view.element, shape, tuple(strides), view.offset))


def _named_sizes(writer: FunctionWriter, sizes: Sequence[Size]) -> list[Size]:
    return [size if isinstance(size, int) else _named(writer, [size], "size")[0] for size in sizes]


def _expand(writer: FunctionWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    shape = static_or(
        list(op.attributes["static_output_shape"]), _named(writer, writer.all(list(op.operands)[1:]), "size")
    )
    strides: list[Size] = [1] * len(shape)
    for source, group in enumerate(groups_of(op)):
        stride = view.strides[source]
        for axis in reversed(group):
            strides[axis] = stride
            stride = shape[axis] * stride
    writer.know(op.results[0], MemrefView(view.pointer, view.element, tuple(shape), tuple(strides), view.offset))


def _transpose(writer: FunctionWriter, op: Operation) -> None:
    view = writer.view(op.operands[0])
    order = [result.position for result in op.attributes["permutation"].value.results]
    sizes, strides = (tuple(values[axis] for axis in order) for values in (view.sizes, view.strides))
    writer.know(op.results[0], MemrefView(view.pointer, view.element, sizes, strides, view.offset))


def _address(writer: FunctionWriter, op: Operation) -> None:
    pointer = writer.view(op.operands[0]).pointer
    writer.define(op.results[0], cast("int64_t", cast("intptr_t", pointer)))


def _metadata(writer: FunctionWriter, op: Operation) -> None:
    """Define a buffer, its offset, its sizes and its strides."""
    view = writer.view(op.operands[0])
    base, offset, *others = op.results
    writer.know(base, MemrefView(view.pointer, view.element, (), ()))
    numbers = (view.offset, *view.sizes, *view.strides)
    for result, number in zip((offset, *others), numbers, strict=True):
        writer.define(result, of_size(number), "place")


def _same(writer: FunctionWriter, op: Operation) -> None:
    writer.know(op.results[0], writer.view(op.operands[0]))


def _nothing(writer: FunctionWriter, op: Operation) -> None:
    """Ignore a hint for machines."""


def copy_elements(writer: FunctionWriter, source: MemrefView, target: MemrefView) -> None:
    """Write loops that copy elements."""
    writer.settle()
    if source.is_dense and target.is_dense:
        count = product(target.sizes)
        source, target = dense_row(source, count), dense_row(target, count)
    _copy_axes(writer, source, target, [])


def dense_row(view: MemrefView, count: Size) -> MemrefView:
    return MemrefView(view.pointer, view.element, (count,), (1,), view.offset)


def _copy_axes(writer: FunctionWriter, source: MemrefView, target: MemrefView, indices: list[Expression]) -> None:
    if len(indices) == len(target.sizes):
        writer.line(f"{target.place(indices).text} = {source.place(indices).text};")
        return
    with loop(writer, target.sizes[len(indices)]) as index:
        _copy_axes(writer, source, target, [*indices, index])


def _copy(writer: FunctionWriter, op: Operation) -> None:
    source, target = op.operands
    copy_elements(writer, writer.view(source), writer.view(target))


RULES: dict[str, Rule] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.dim": _dim,
    "memref.rank": _rank,
    "memref.get_global": _global,
    "memref.alloc": _allocate,
    "memref.alloca": _declare_on_stack,
    "memref.dealloc": _deallocate,
    "memref.extract_aligned_pointer_as_index": _address,
    "memref.extract_strided_metadata": _metadata,
    "memref.view": _view_of_bytes,
    "memref.cast": _cast,
    "builtin.unrealized_conversion_cast": _conversion,
    "memref.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.transpose": _transpose,
    "memref.assume_alignment": _same,
    "memref.copy": _copy,
    "memref.prefetch": _nothing,
    "tir.prefetch": _nothing,
}
