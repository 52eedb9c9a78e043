# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers and scatters by dimension numbers: elements are accessed by linear indices in the flattened tensor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.control.scf_loops import LoopSpec, Turn, build_loop
from relax_mlir.frontends.core.control.scf_regions import scalar_of
from relax_mlir.frontends.core.values import ComplexValue, Held

from ..prelude import HloNode, Outputs, Tensor, Value, cast, const, joined, like, register_stablehlo, relax, sizes
from .bodies import combined
from .reductions import of_parts

#: Reductions of relax by the combiner of a scatter.
REDUCTIONS = {"update": "update", "sum": "add", "prod": "mul", "max": "max", "min": "min"}


class Indexing(NamedTuple):
    """Layout of the indices, for gathers and scatters alike."""

    #: Dimensions of the window in the gathered tensor, or in the updates.
    window: Sequence[int]
    #: Dimensions of the operand that the window lacks: collapsed dimensions of size 1, and batch dimensions.
    dropped: Sequence[int]
    batch: Sequence[int]
    #: Dimensions of the indices that correspond to the operand's batch dimensions.
    index_batch: Sequence[int]
    #: The operand's dimension for each component of an index.
    mapped: Sequence[int]
    #: Dimension of the indices that contains the components.
    vector: int


class Places(NamedTuple):
    """Indices along each dimension of the operand, in shapes that broadcast to the window's tensor."""

    starts: list[Tensor]
    offsets: list[Tensor]
    #: Offset of a window's last element.
    last_offsets: list[sizes.Size]


def _indexing(
    numbers: dict[str, list[int]], window: str, dropped: str, batch: str, mapped: str, index_batch: str
) -> Indexing:
    vector = numbers.get("index_vector_dim", 0)
    return Indexing(
        numbers.get(window, []),
        numbers.get(dropped, []),
        numbers.get(batch, []),
        numbers.get(index_batch, []),
        numbers.get(mapped, []),
        vector if isinstance(vector, int) else 0,
    )


def _places(indices: Value, indexing: Indexing, operand_rank: int, shape: Sequence[sizes.Size]) -> Places:
    """Return the indices. `shape` is the shape of the gathered tensor, or of the updates."""
    rank = len(shape)
    outer = [axis for axis in range(rank) if axis not in indexing.window]
    components = _components(indices, indexing)
    # All dimensions of the indices except the one of components are the outer ones, in order.
    index_rank = (indices.rank or 0) + (1 if indexing.vector == indices.rank else 0)
    index_axes = [axis for axis in range(index_rank) if axis != indexing.vector]
    windowed = [axis for axis in range(operand_rank) if axis not in (*indexing.dropped, *indexing.batch)]
    zero = const(0, "i64")
    starts, offsets = [zero] * operand_rank, [zero] * operand_rank
    last_offsets: list[sizes.Size] = [0] * operand_rank
    for component, axis in zip(components, indexing.mapped, strict=True):
        own = sizes.sizes_of(Value(ssa=component))
        placed: list[sizes.Size] = [1] * rank
        for place, size in zip(outer, own, strict=True):
            placed[place] = size
        starts[axis] = sizes.reshaped(component, placed) if rank else sizes.reshaped(component, [])
    for axis, place in zip(windowed, indexing.window, strict=True):
        offsets[axis], last_offsets[axis] = sizes.positions(shape, place), sizes.minus(shape[place], 1)
    for axis, index_axis in zip(indexing.batch, indexing.index_batch, strict=True):
        starts[axis] = sizes.positions(shape, outer[index_axes.index(index_axis)])
    return Places(starts, offsets, last_offsets)


def _components(indices: Value, indexing: Indexing) -> list[Tensor]:
    """Return the indices as one tensor per component."""
    wide = cast(indices.ssa, "i64")
    if indexing.vector == indices.rank:
        return [wide] * len(indexing.mapped)
    return [
        relax.squeeze(
            relax.strided_slice(wide, axes=[indexing.vector], begin=[place], end=[place + 1]), axis=[indexing.vector]
        )
        for place in range(len(indexing.mapped))
    ]


def _flat(places: Sequence[Tensor], shape: Sequence[sizes.Size]) -> Tensor:
    """Return linear indices in the flattened tensor."""
    strides = list(accumulate(reversed(shape[1:]), sizes.times, initial=1))[::-1] if shape else []
    made = const(0, "i64")
    for place, stride in zip(places, strides, strict=True):
        made = relax.add(made, place if stride == 1 else relax.multiply(place, sizes.as_scalar(stride, "i64")))
    return made


@register_stablehlo("stablehlo.gather")
def gather(node: HloNode) -> Outputs:
    """Gather slices. Starts are clamped so that each slice is in bounds."""
    return _gather(node, node.attr("slice_sizes"))


@register_stablehlo("stablehlo.dynamic_gather")
def dynamic_gather(node: HloNode) -> Outputs:
    return _gather(node, node.known_sizes(2))


def _gather(node: HloNode, lengths: Sequence[sizes.Size]) -> Outputs:
    indexing = _indexing(
        node.attr("dimension_numbers"), "offset_dims", "collapsed_slice_dims", "operand_batching_dims",
        "start_index_map", "start_indices_batching_dims",
    )  # fmt: skip
    own, indices = node.sizes_of_operand(0), node.value(1)
    shape = _gathered_shape(indexing, indices, lengths)
    if 0 in lengths:
        # A collapsed dimension may have no elements. As in XLA, a result that is not empty is then zero.
        return of_parts(node.held(0), lambda x: sizes.full(shape, like(x, 0)))
    if (taken := _take(node, indexing, own, lengths)) is not None:
        return taken
    places = _places(indices, indexing, len(own), shape)
    along = []
    for axis, (start, offset) in enumerate(zip(places.starts, places.offsets, strict=True)):
        if axis in indexing.mapped:
            last = sizes.as_scalar(sizes.minus(own[axis], lengths[axis]), "i64")
            start = relax.maximum(relax.minimum(start, last), const(0, "i64"))
        along.append(relax.add(start, offset))
    flat = sizes.broadcast(_flat(along, own), shape)
    return of_parts(node.held(0), lambda x: relax.take(relax.flatten(x), flat, axis=0))


def _gathered_shape(indexing: Indexing, indices: Value, lengths: Sequence[sizes.Size]) -> list[sizes.Size]:
    outer = [size for axis, size in enumerate(sizes.sizes_of(indices)) if axis != indexing.vector]
    windowed = [size for axis, size in enumerate(lengths) if axis not in (*indexing.dropped, *indexing.batch)]
    rank = len(outer) + len(windowed)
    rest, window = iter(outer), iter(windowed)
    return [next(window) if axis in indexing.window else next(rest) for axis in range(rank)]


def _take(node: HloNode, indexing: Indexing, own: Sequence[sizes.Size], lengths: Sequence[sizes.Size]) -> Held | None:
    """Return whole slices along one dimension, as in embedding lookups, as one `take`; None for other gathers."""
    if len(indexing.mapped) != 1 or indexing.batch or list(indexing.dropped) != list(indexing.mapped):
        return None
    (axis,) = indexing.mapped
    if any(
        length != (1 if place == axis else size) for place, (length, size) in enumerate(zip(lengths, own, strict=True))
    ):
        return None
    (component,) = _components(node.value(1), indexing)
    outer = component.type.rank
    window = [*range(axis), *range(axis + outer, len(own) - 1 + outer)]
    if list(indexing.window) != window:
        return None
    last = sizes.as_scalar(sizes.minus(own[axis], 1), "i64")
    bounded = relax.maximum(relax.minimum(component, last), const(0, "i64"))
    return of_parts(node.held(0), lambda x: relax.take(x, bounded, axis=axis))


@register_stablehlo("stablehlo.torch_index_select")
def torch_index_select(node: HloNode) -> Outputs:
    """Gather slices along a dimension. In a batch each item has its own indices."""
    axis, batch = node.attr("dim"), node.attr("batch_dims")
    if batch == 0:
        return of_parts(node.held(0), lambda x: relax.take(x, node.tensor(1), axis=axis))
    own, indices = node.sizes_of_operand(0), node.value(1)
    picked = sizes.sizes_of(indices)[batch:]
    shape = [*own[:axis], *picked, *own[axis + 1 :]]
    wide = relax.expand_dims(cast(indices.ssa, "i64"), axis=[*range(batch, axis)]) if axis > batch else indices.ssa
    behind = [*range(axis + len(picked), len(shape))]
    where = relax.expand_dims(cast(wide, "i64"), axis=behind) if behind else cast(wide, "i64")
    along = [sizes.positions(shape, place if place < axis else place + len(picked) - 1) for place in range(len(own))]
    along[axis] = where
    flat = sizes.broadcast(_flat(along, own), shape)
    return of_parts(node.held(0), lambda x: relax.take(relax.flatten(x), flat, axis=0))


@register_stablehlo("stablehlo.scatter")
def scatter(node: HloNode) -> Outputs:
    """Scatter updates. An update that is out of bounds goes to an extra element at the end, which is dropped."""
    indexing = _indexing(
        node.attr("scatter_dimension_numbers"), "update_window_dims", "inserted_window_dims", "input_batching_dims",
        "scatter_dims_to_operand_dims", "scatter_indices_batching_dims",
    )  # fmt: skip
    count = len(node.inputs) // 2
    operands = [node.held(index) for index in range(count)]
    updates = [node.held(count + 1 + index) for index in range(count)]
    own, shape = node.sizes_of_operand(0), node.sizes_of_operand(count + 1)
    places = _flat_places(node.value(count), indexing, own, shape, drops_windows=node.is_for_xla)
    kinds = [combined(node.body(), index, count) for index in range(count)]
    if all(kind in REDUCTIONS for kind in kinds) and not _combines_complex(operands, kinds):
        return [_scatter(*each, places, own) for each in zip(kinds, operands, updates, strict=True)]
    truths = [{"any": "max", "all": "min"}.get(kind, "") for kind in kinds]
    if all(truths):
        return [_scattered_truth(*each, places, own) for each in zip(truths, operands, updates, strict=True)]
    return _scattered_one_by_one(node, operands, updates, places, own)


def _combines_complex(operands: Sequence[Held], kinds: Sequence[str]) -> bool:
    pairs = zip(operands, kinds, strict=True)
    return any(isinstance(each, ComplexValue) and kind not in ("sum", "update") for each, kind in pairs)


def _flat_places(
    indices: Value, indexing: Indexing, own: Sequence[sizes.Size], shape: Sequence[sizes.Size], *, drops_windows: bool
) -> Tensor:
    """Return the linear index of each update, or the index of the extra element for a dropped update.

    StableHLO drops the elements of a window that are out of bounds; XLA drops the window (`drops_windows`).
    """
    places = _places(indices, indexing, len(own), shape)
    along = list(map(relax.add, places.starts, places.offsets))
    bounds = list(zip(along, along, strict=True))
    if drops_windows:
        last_offsets = [sizes.as_scalar(offset, "i64") for offset in places.last_offsets]
        ends = map(relax.add, places.starts, last_offsets)
        bounds = list(zip(places.starts, ends, strict=True))
    is_inside = const(True)
    for (first, last), size in zip(bounds, own, strict=True):
        inside = relax.logical_and(
            relax.greater_equal(first, like(first, 0)), relax.less(last, sizes.as_scalar(size, "i64"))
        )
        is_inside = relax.logical_and(is_inside, inside)
    behind = sizes.as_scalar(sizes.product(own), "i64")
    return relax.flatten(sizes.broadcast(relax.where(is_inside, _flat(along, own), behind), shape))


def _scatter(kind: str, operand: Held, update: Held, places: Tensor, own: Sequence[sizes.Size]) -> Held:
    if isinstance(operand, ComplexValue) and isinstance(update, ComplexValue):
        pairs = ((operand.real, update.real), (operand.imag, update.imag))
        return Pair(*(_scattered_part(kind, x.ssa, new.ssa, places, own) for x, new in pairs)).value()
    assert isinstance(operand, Value) and isinstance(update, Value)
    return Value(ssa=_scattered_part(kind, operand.ssa, update.ssa, places, own))


def _scattered_part(kind: str, x: Tensor, update: Tensor, places: Tensor, own: Sequence[sizes.Size]) -> Tensor:
    return _without_it(scattered(_with_one_behind(x), places, relax.flatten(update), kind), own)


def scattered(flat: Tensor, places: Tensor, updates: Tensor, kind: str) -> Tensor:
    """Return a flat tensor with updates at linear indices, combined with the previous elements."""
    return relax.dialect.ops["scatter_elements"](flat, places, updates, axis=0, reduction=REDUCTIONS[kind])


def _with_one_behind(x: Tensor) -> Tensor:
    return joined([relax.flatten(x), relax.reshape(like(x, 0), (1,))])


def _without_it(flat: Tensor, own: Sequence[sizes.Size]) -> Tensor:
    count = sizes.product(own)
    return sizes.reshaped(sizes.sliced(Value(ssa=flat), {0: (0, count, 1)}, {0: count}), own)


def _scattered_truth(kind: str, operand: Held, update: Held, places: Tensor, own: Sequence[sizes.Size]) -> Held:
    assert isinstance(operand, Value) and isinstance(update, Value)
    tensor = _scattered_part(kind, cast(operand.ssa, "i8"), cast(update.ssa, "i8"), places, own)
    return Value(ssa=cast(tensor, "i1"))


def _scattered_one_by_one(
    node: HloNode, operands: Sequence[Held], updates: Sequence[Held], places: Tensor, own: Sequence[sizes.Size]
) -> list[Held]:
    """Apply the updates in a loop, each combined with the current element."""
    flat = [of_parts(operand, _with_one_behind) for operand in operands]
    new = [of_parts(update, relax.flatten) for update in updates]
    states = [part for each in flat for part in _halves(each)]

    def step(operation: object, index: Value, values: list[Value]) -> Turn:
        at = relax.take(places, index.ssa, axis=0)
        there = [of_parts(each, lambda x: relax.take(x, at, axis=0)) for each in _as_before(values, operands)]
        given = [of_parts(each, lambda x: relax.take(x, index.ssa, axis=0)) for each in new]
        made = node.run_body([*there, *given], region_of=operation)  # type: ignore[arg-type]
        where = relax.reshape(at, (1,))
        pairs = zip(values, [part for each in made for part in _halves(each)], strict=True)
        return Turn([Value(ssa=_put(x.ssa, where, value.ssa)) for x, value in pairs], [])

    count = sizes.as_scalar(sizes.size_of(places, 0), "i64")
    after, _ = build_loop(LoopSpec(node, step, scalar_of(node, Value(ssa=count))), states)
    return [of_parts(each, lambda x: _without_it(x, own)) for each in _as_before(after, operands)]


def _put(x: Tensor, where: Tensor, value: Tensor) -> Tensor:
    return relax.scatter_elements(x, where, relax.reshape(value, (1,)), axis=0)


def _halves(held: Held) -> list[Value]:
    if isinstance(held, ComplexValue):
        return [held.real, held.imag]
    assert isinstance(held, Value)
    return [held]


def _as_before(values: Sequence[Value], like_: Sequence[Held]) -> list[Held]:
    """Join the parts of complex numbers again."""
    rest = iter(values)
    return [ComplexValue(next(rest), next(rest)) if isinstance(each, ComplexValue) else next(rest) for each in like_]
