# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters that join, split, slice and pad tensors."""

from __future__ import annotations

from relax_mlir.dialects.relax.infer.slices import OPEN
from relax_mlir.frontends.core.padding import padded

from ..prelude import Outputs, Tensor, TfliteNode, Value, const, joined, register_rows, register_tflite, relax, sizes
from .activations import activated

#: Maximum number of elements of a joined tensor that may be a shape.
_MOST_SIZES = 8

# ---- joined and taken apart ----


@register_tflite("CONCATENATION")
def concatenation(node: TfliteNode) -> Outputs:
    axis = node.axis_of(node.attr("axis", 0), node.rank(0))
    if node.rank(0) == 1 and node.dtype in ("i32", "i64"):
        counts = [(node.value(index).shape or (None,))[0] for index in range(len(node.inputs))]
        if all(isinstance(count, int) for count in counts) and sum(counts) <= _MOST_SIZES:
            _note_sizes(node, [size for index in range(len(counts)) for size in node.sizes_in(index)])
    return activated(node, joined(node.tensors(), axis=axis))


def _note_sizes(node: TfliteNode, found: list[sizes.Size]) -> None:
    """Store the sizes in an output that may be a shape. Only some of the sizes may be known at import."""
    if any(isinstance(size, int) for size in found):
        node.graph.parts[node.row.outputs[0]] = found


@register_tflite("PACK")
def pack(node: TfliteNode) -> Outputs:
    if node.rank(0) == 0 and node.dtype in ("i32", "i64"):
        _note_sizes(node, [sizes.of_scalar(node.value(index)) for index in range(len(node.inputs))])
    return relax.stack(node.tensors(), axis=node.axis_of(node.attr("axis", 0), node.rank(0) + 1))


@register_tflite("UNPACK")
def unpack(node: TfliteNode) -> Outputs:
    axis = node.axis_of(node.attr("axis", 0), node.rank(0))
    if (size := node.sizes_of(0)[axis]) != len(node.results):
        raise node.fail(f"it has {size} parts, but {len(node.results)} results", "num")
    return [relax.squeeze(part, axis=[axis]) for part in sizes.parts(node.value(0), axis, [1] * size)]


@register_tflite("SPLIT")
def split(node: TfliteNode) -> Outputs:
    """Convert SPLIT of the operands axis and data."""
    axis, count = node.axis(0, node.rank(1)), len(node.results)
    size = node.sizes_of(1)[axis]
    if not count or (isinstance(size, int) and size % count):
        raise node.fail(f"{size} elements along axis {axis} cannot be split into {count} equal parts", "num_splits")
    return sizes.parts(node.value(1), axis, [sizes.divided(size, count)] * count)


@register_tflite("SPLIT_V")
def split_by_sizes(node: TfliteNode) -> Outputs:
    """Convert SPLIT_V. One size may be -1: the remaining elements."""
    axis, lengths = node.axis(2, node.rank(0)), node.sizes_in(1)
    if len(lengths) != len(node.results) or lengths.count(-1) > 1:
        raise node.fail(f"{len(node.results)} results do not match parts of sizes {lengths}", "num_splits")
    size = node.sizes_of(0)[axis]
    if -1 in lengths:
        lengths[lengths.index(-1)] = sizes.minus(size, sum(length for length in lengths if length != -1))
    if all(isinstance(length, int) for length in (size, *lengths)) and (sum(lengths) != size or min(lengths) < 0):
        raise node.fail(f"sizes {lengths} must be nonnegative and sum to the {size} elements along axis {axis}")
    return sizes.parts(node.value(0), axis, lengths)


# ---- slices ----


@register_tflite("SLICE")
def slice_(node: TfliteNode) -> Outputs:
    """Convert SLICE. A size of -1 selects all elements from the start to the end."""
    starts, counts, own = node.sizes_in(1), node.sizes_in(2), node.sizes_of(0)
    if not len(starts) == len(counts) == len(own):
        raise node.fail(f"it has {len(starts)} starts and {len(counts)} sizes for {len(own)} dimensions")
    counts = [_count(*each) for each in zip(starts, counts, own, strict=True)]
    ends = [sizes.plus(start, count) for start, count in zip(starts, counts, strict=True)]
    for start, end, whole in zip(starts, ends, own, strict=True):
        if all(isinstance(each, int) for each in (start, end, whole)) and not 0 <= start <= end <= whole:
            raise node.fail(f"the slice from {start} to {end} is not within {whole} elements")
    bounds = {axis: (start, end, 1) for axis, (start, end) in enumerate(zip(starts, ends, strict=True))}
    return sizes.sliced(node.value(0), bounds, dict(enumerate(counts)))


def _count(start: sizes.Size, count: sizes.Size, whole: sizes.Size) -> sizes.Size:
    """Return the number of elements from a start. A count of -1 selects all remaining elements."""
    if isinstance(count, int):
        return sizes.minus(whole, start) if count == -1 else count
    if sizes.is_known(count):
        return count
    return relax.where(relax.less(count, const(0, "i64")), sizes.as_tensor([sizes.minus(whole, start)]), count)


@register_tflite("STRIDED_SLICE")
def strided_slice(node: TfliteNode) -> Outputs:
    """Convert STRIDED_SLICE by Python's rules.

    The bits of the masks mark entries with an open bound, ellipses, new dimensions, and single elements with their
    dimension removed.
    """
    begins, ends, steps = node.sizes_in(1), node.sizes_in(2), node.known_numbers(3)
    if not len(begins) == len(ends) == len(steps) or 0 in steps:
        raise node.fail(f"{len(begins)} starts, {len(ends)} ends and steps {steps} do not form a slice")
    ellipsis, new, shrunk = (node.attr(f"{name}_mask", 0) for name in ("ellipsis", "new_axis", "shrink_axis"))
    own = node.sizes_of(0)
    if (left := len(own) - sum(not (ellipsis | new) >> place & 1 for place in range(len(steps)))) < 0:
        raise node.fail(f"it slices {len(own) - left} dimensions, but the data has {len(own)}")
    axis, bounds = 0, {}
    dropped: list[int] = []
    added: list[int] = []
    for place in range(len(steps)):
        if ellipsis >> place & 1:
            axis += left
        elif new >> place & 1:
            added.append(axis - len(dropped) + len(added))
        else:
            is_one = shrunk >> place & 1
            one = _element(node, begins[place], own[axis])
            bounds[axis] = one if is_one else _bounds(node, place, (begins[place], ends[place], steps[place]))
            dropped += [axis] if is_one else []
            axis += 1
    made = sizes.sliced(node.value(0), {axis: bound for axis, bound in bounds.items() if bound != (0, OPEN, 1)})
    made = relax.squeeze(made, axis=dropped) if dropped else made
    return relax.expand_dims(made, axis=added) if added else made


def _bounds(
    node: TfliteNode, place: int, bounds: tuple[sizes.Size, sizes.Size, int]
) -> tuple[sizes.Size, sizes.Size, int]:
    begin, end, step = bounds
    if node.attr("offset", False):
        end = sizes.plus(begin, end)
    if node.attr("begin_mask", 0) >> place & 1:
        begin = 0 if step > 0 else OPEN
    if node.attr("end_mask", 0) >> place & 1:
        end = OPEN if step > 0 else -OPEN
    return begin, end, step


def _element(node: TfliteNode, begin: sizes.Size, size: sizes.Size) -> tuple[sizes.Size, sizes.Size, int]:
    """Return the bounds of one element. A negative index counts from the end."""
    if isinstance(begin, int) and begin == -1:
        return -1, OPEN, 1
    return begin, sizes.plus(begin, 1), 1


# ---- padding ----


def _pairs(node: TfliteNode) -> dict[int, tuple[sizes.Size, sizes.Size]]:
    """Return the padding before and after the data, by axis."""
    widths, rank = node.sizes_in(1) if node.rank(1) == 1 else _flat(node), node.rank(0)
    if len(widths) != 2 * rank:
        raise node.fail(f"expected {2 * rank} widths of padding for {rank} dimensions, got {len(widths)}")
    if any(isinstance(width, int) and width < 0 for width in widths):
        raise node.fail(f"widths {widths} of padding are negative")
    return {axis: (widths[2 * axis], widths[2 * axis + 1]) for axis in range(rank)}


def _flat(node: TfliteNode) -> list[sizes.Size]:
    """Return the padding widths, stored as rows of two, as a flat list."""
    if (found := node.sizes(1)) is not None:
        return list(found)
    flat = relax.flatten(node.integers(1))
    return [sizes.element(flat, place) for place in range(2 * node.rank(0))]


@register_tflite("PADV2")
def pad_with(node: TfliteNode) -> Outputs:
    fill = node.scalar(2)
    return padded(node.value(0), _pairs(node), "constant", relax.reshape(node.tensor(2), ()) if fill is None else fill)


register_rows({"PAD": lambda node: padded(node.value(0), _pairs(node), "constant", 0)})


@register_tflite("MIRROR_PAD")
def mirror_pad(node: TfliteNode) -> Outputs:
    """Convert MIRROR_PAD. REFLECT does not repeat the element at the border, SYMMETRIC does."""
    pairs = _pairs(node)
    if node.attr("mode", 0) == 0:
        return padded(node.value(0), pairs, "reflect", 0)
    made = node.tensor(0)
    for axis, size in enumerate(node.sizes_of(0)):
        made = _symmetric(node, made, axis, size, pairs[axis])
    return made


def _symmetric(node: TfliteNode, x: Tensor, axis: int, size: sizes.Size, pair: tuple[sizes.Size, sizes.Size]) -> Tensor:
    before, after = pair
    if not all(isinstance(each, int) for each in (size, before, after)) or max(before, after) > size:
        raise node.fail(f"the widths {pair} are larger than {size}, or not known at import")
    parts = [
        relax.flip(sizes.sliced(Value(ssa=x), {axis: (begin, begin + count, 1)}), axis=axis)
        for begin, count in ((0, before), (size - after, after))
    ]
    return joined([*([parts[0]] if before else []), x, *([parts[1]] if after else [])], axis=axis)
