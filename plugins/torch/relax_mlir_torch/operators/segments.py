# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of reductions of segments: runs of elements along an axis, by lengths or by offsets."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.emit import loops
from relax_mlir.emit.matrices import Matrix
from relax_mlir.emit.numbers import Number, as_index, maximum, minimum, select
from relax_mlir.frontends.core.matrices import require_success

from ..prelude import Outputs, Tensor, TorchNode, cast, const, like, register_torch, relax, sizes, wide_float

_FIRST = {"max": -float("inf"), "min": float("inf"), "prod": 1.0}


@dataclass(frozen=True)
class Reduce:
    """Kernel on [batch, elements, inner]. A segment goes from one offset in [batch, segments + 1] to the next."""

    name: str
    initial: float | None = None

    @property
    def __name__(self) -> str:
        return f"segment_{self.name}"

    def __call__(self, data: Tensor, offsets: Tensor, out: Tensor) -> None:
        batch, count, _ = loops.sizes(out)

        def segment(place: Number) -> None:
            outer, row = place // count, place % count
            bounds = [as_index(loops.load(offsets, outer, number)) for number in (row, row + 1)]
            self._reduce(Matrix(data, outer), Matrix(out, outer, row), *bounds)

        loops.for_range(0, batch * count, segment, grain=0)

    def _reduce(self, data: Matrix, out: Matrix, begin: Number, end: Number) -> None:
        first = _FIRST.get(self.name, 0.0) if self.initial is None else self.initial

        def join(i: Number) -> None:
            out.fill(lambda j: self._join(out[j], data[i, j]))

        out.fill(lambda j: out.real(first))
        loops.for_range(begin, end, join)
        if self.name != "mean":
            return
        # An empty segment has a mean of NaN, or of the initial value.
        count = end - begin if self.initial is None else select(end > begin, end - begin, 1)
        divisor = count.to("i64").to(str(out.element))
        out.fill(lambda j: out[j] / divisor)

    def _join(self, one: Number, other: Number) -> Number:
        if self.name in ("max", "min"):
            return (maximum if self.name == "max" else minimum)(one, other)
        return one * other if self.name == "prod" else one + other


class Segments:
    """Segments of a tensor along an axis, in the graph."""

    def __init__(self, node: TorchNode):
        self._node, data = node, node.value("data")
        self.shape = sizes.sizes_of(data)
        self.axis, self.dtype = node.axis("axis", len(self.shape), 0), wide_float(data.dtype)
        self._batch, self._inner = (
            sizes.product(each) for each in (self.shape[: self.axis], self.shape[self.axis + 1 :])
        )
        self.elements = self.shape[self.axis]
        total = relax.reshape(sizes.as_tensor([self.elements]), ())
        offsets = self._offsets(total)
        self.count = sizes.minus(sizes.size_of(offsets, -1), 1)
        # Clamp the offsets, because elements outside of the tensor would be read.
        inside = relax.minimum(relax.maximum(offsets, const(0, "i64")), total)
        #: Shape [batch, segments + 1].
        self.offsets = sizes.reshaped(inside, [self._batch, sizes.plus(self.count, 1)])

    def _offsets(self, total: Tensor) -> Tensor:
        node = self._node
        if node.has("offsets"):
            return node.tensor("offsets", "i64")
        if not node.has("lengths"):
            raise node.fail("either lengths or offsets must be given")
        lengths = node.tensor("lengths", "i64")
        whole = relax.sum(lengths, axis=[-1], keepdims=True)
        # Backward steps do not say so: the forward step has checked the lengths.
        if not node.bool("unsafe", default=True):
            is_bad = relax.logical_or(relax.less(lengths, const(0, "i64")), relax.not_equal(whole, total))
            require_success(
                is_bad, "the lengths of segments must add up to the number of elements, and not be negative"
            )
        return relax.concat([relax.zeros_like(whole), relax.cumsum(lengths, axis=-1)], axis=-1)

    def flat(self, tensor: Tensor) -> Tensor:
        """Reshape elements, or values of segments, to [batch, elements or segments, inner]."""
        count = sizes.size_of(tensor, self.axis)
        return sizes.reshaped(cast(tensor, self.dtype), [self._batch, count, self._inner])

    def whole(self, flat: Tensor) -> Tensor:
        """Reshape to the shape of the tensor, except along the axis."""
        count = sizes.size_of(flat, 1)
        made = sizes.reshaped(flat, [*self.shape[: self.axis], count, *self.shape[self.axis + 1 :]])
        return cast(made, self._node.dtype)

    def reduced(self, name: str, flat: Tensor, initial: float | None = None) -> Tensor:
        info = TensorInfo((self._batch, self.count, self._inner), self.dtype)
        return self._node.call_tir(Reduce(name, initial), [flat, self.offsets], info)

    def spread(self, flat: Tensor) -> Tensor:
        """Return the value of its segment for each element, and 0 for elements without a segment."""
        places = sizes.positions([1, self.elements], 1)
        is_before = relax.less_equal(relax.expand_dims(self.offsets, axis=[1]), relax.expand_dims(places, axis=[-1]))
        behind = relax.sum(cast(is_before, "i64"), axis=[-1])  # Number of offsets up to an element: [batch, elements].
        zeros = relax.zeros_like(relax.sum(flat, axis=[1], keepdims=True))
        around = relax.concat([zeros, flat, zeros], axis=1)
        index = sizes.broadcast(relax.expand_dims(behind, axis=[-1]), [self._batch, self.elements, self._inner])
        return relax.gather_elements(around, index, axis=1)


@register_torch("aten::segment_reduce")
def segment_reduce(node: TorchNode) -> Outputs:
    segments = Segments(node)
    flat = segments.flat(node.tensor("data"))
    return segments.whole(segments.reduced(node.string("reduce"), flat, node.float("initial")))


@register_torch("aten::_segment_reduce_backward")
def segment_reduce_backward(node: TorchNode) -> Outputs:
    """Convert a backward step. The gradient of an extreme is divided among the equal elements."""
    segments, name = Segments(node), node.string("reduce")
    data, output, grad = (segments.flat(node.tensor(key)) for key in ("data", "output", "grad"))
    arriving, one = segments.spread(grad), like(data, 1)
    if name == "sum":
        return segments.whole(arriving)
    if name == "mean":
        count = segments.spread(segments.reduced("sum", relax.ones_like(data)))
        return segments.whole(relax.divide(arriving, relax.maximum(count, one)))
    if name == "prod":
        is_zero = relax.equal(data, like(data, 0))
        others = relax.where(is_zero, one, data)
        zeros = segments.spread(segments.reduced("sum", cast(is_zero, segments.dtype)))
        product = segments.spread(segments.reduced("prod", others, node.float("initial")))
        # Without the element itself, the segment has no zeros.
        is_apart = relax.equal(zeros, cast(is_zero, segments.dtype))
        share = relax.where(is_apart, relax.divide(product, others), like(data, 0))
        return segments.whole(relax.multiply(arriving, share))
    is_same = relax.logical_or(relax.equal(data, segments.spread(output)), relax.isnan(data))
    count = segments.spread(segments.reduced("sum", cast(is_same, segments.dtype)))
    share = relax.where(is_same, relax.divide(arriving, relax.maximum(count, one)), like(data, 0))
    return segments.whole(share)
