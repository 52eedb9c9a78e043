# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of convolutions, which are convolutions, too."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim, dim_add, dim_floordiv, dim_mod, dim_mul, dim_sub
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.infer.windows import windows_of
from relax_mlir.dialects.relax.values import dtype_of, shape_of, stated
from relax_mlir.passes.graph.decompose.tensor_formulas import cast, relax, shape_operand
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..canonical_layouts import in_own_order
from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape

_CONVOLUTIONS = [f"relax.nn.conv{rank}d" for rank in (1, 2, 3)]


class _Windows:
    """Windows of a convolution, transposed or not, for its derivatives."""

    def __init__(self, call: GradientCall):
        self.call = call
        windows = windows_of(call.inferred).values()
        self.rank = len(windows)
        _, self.strides, self.dilation, *self.padding = zip(*windows, strict=True)

    def shape(self, tensor: Value) -> tuple[Dim, ...]:
        return known_shape(self.call, tensor)

    @property
    def _all_padding(self) -> list[int]:
        """The padding as in the attribute: all sizes before, then all sizes after."""
        return [width for side in self.padding for width in side]

    def convolved(self, data: Value, weight: Value, strides: Sequence[int], dilation: Sequence[int]) -> Value:
        attributes = {"strides": strides, "dilation": dilation, "padding": self._all_padding}
        return relax.dialect.ops[f"nn.conv{self.rank}d"](data, weight, **attributes, groups=self.call.groups)

    def spread(self, data: Value, weight: Value, like: Value) -> Value:
        """Return the transposed convolution, with the size of the convolved tensor."""
        wanted, taps = self.shape(like)[2:], self.shape(weight)[2:]
        rests = [self._rest(axis, size, tap) for axis, (size, tap) in enumerate(zip(wanted, taps, strict=True))]
        known = [rest for rest in rests if isinstance(rest, int)]
        if len(known) == self.rank:
            return self._transposed(data, weight, self._all_padding, known)
        # Compute with zeros up to the largest possible rest, then cut at the size of the data.
        before, zeros = list(self.padding[0]), [0] * self.rank
        wide = self._transposed(data, weight, [*before, *zeros], zeros)
        more = [width for stride in self.strides for width in (0, stride - 1)]
        wide = relax.nn.pad(wide, pad_width=[0, 0, 0, 0, *more])
        rank = 2 + self.rank
        size, begin = shape_operand(like), const([0] * rank, "i64")
        return relax.dynamic_strided_slice(wide, begin, relax.shape_to_tensor(size), const([1] * rank, "i64"))

    def _transposed(self, data: Value, weight: Value, padding: Sequence[int], output_padding: Sequence[int]) -> Value:
        attributes = {"strides": self.strides, "dilation": self.dilation, "padding": padding}
        convolve = relax.dialect.ops[f"nn.conv{self.rank}d_transpose"]
        return convolve(data, weight, **attributes, output_padding=output_padding, groups=self.call.groups)

    def _rest(self, axis: int, size: Dim, taps: Dim) -> Dim:
        """Return the number of last elements of the (padded) data that no window reaches."""
        window = dim_add(dim_mul(dim_sub(taps, 1), self.dilation[axis]), 1)
        reach = dim_sub(dim_add(size, sum(side[axis] for side in self.padding)), window)
        return dim_mod(reach, self.strides[axis])

    def by_weight(self, data: Value, result: Value, weight: Value) -> Value:
        """Return the gradient of a convolution by its weight: the sum is over batches instead of channels."""
        groups, spatial = self.call.groups, list(range(2, 2 + self.rank))
        shape = self.shape(data)
        product = self.convolved(
            _swap_batch_and_channels(data, groups, shape),
            relax.permute_dims(result, axes=[1, 0, *spatial]),
            strides=self.dilation,
            dilation=self.strides,
        )
        turned = relax.permute_dims(product, axes=[1, 0, *spatial])
        # Elements behind the last window would count as further taps.
        taps = self.shape(weight)[2:]
        if shape_of(turned) == self.shape(weight):
            return turned
        first = relax.dialect.ops["strided_slice"](turned, axes=spatial, begin=[0] * self.rank, end=list(taps))
        # The sizes are equal, but a proof for symbols is not possible.
        return stated(first, weight.type)


def _swap_batch_and_channels(data: Value, groups: int, shape: tuple[Dim, ...]) -> Value:
    """Return the data with channels in place of batches. The batches of each group are adjacent."""
    spatial = list(range(2, len(shape)))
    if groups == 1:
        return relax.permute_dims(data, axes=[1, 0, *spatial])
    batch, channels = shape[:2]
    in_group = dim_floordiv(channels, groups)
    apart = _reshape(data, (batch, groups, in_group, *shape[2:]))
    moved = relax.permute_dims(apart, axes=[2, 1, 0, *(axis + 1 for axis in spatial)])
    return _reshape(moved, (in_group, dim_mul(batch, groups), *shape[2:]))


def _reshape(x: Value, shape: tuple[Dim, ...]) -> Value:
    return relax.reshape(x, relax.shape_expr(dims=shape))


@register_gradient(_CONVOLUTIONS, by_types=True)
@in_own_order
def convolution(call: GradientCall) -> Sequence[Gradient]:
    windows, gradient = _Windows(call), cast(call.gradient, dtype_of(call.data))
    return [
        lambda: windows.spread(gradient, call.weight, call.data),
        lambda: windows.by_weight(call.data, gradient, call.weight),
    ]


@register_gradient([f"{name}_transpose" for name in _CONVOLUTIONS], by_types=True)
@in_own_order
def transposed_convolution(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate a transposed convolution: its gradient by the data is the plain convolution."""
    windows, gradient = _Windows(call), cast(call.gradient, dtype_of(call.data))
    return [
        lambda: windows.convolved(gradient, call.weight, windows.strides, windows.dilation),
        lambda: windows.by_weight(gradient, call.data, call.weight),
    ]
