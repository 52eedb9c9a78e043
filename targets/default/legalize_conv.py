# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as contractions over windows."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial

from ...bindings.affine import identity
from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.facts import Window
from ...dialects.relax.infer.windows import each_dimension
from ...emit import linalg, loops, tensors
from ...emit.linalg import copy
from ...emit.numbers import Size
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.convolution import Convolution, Lettered, check_channels, convolve, in_plain_layouts
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize(["relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"], by_types=True)
def convolution(call: LegalizeCall) -> Legalized:
    conv = Convolution(call)
    if not conv.has_fitting_blocks:
        return in_plain_layouts(call, conv)
    weight_operand = conv.laid_out(call.operands[1])

    def body(data_value: Value, weight_value: Value, out: Value) -> Value:
        data, weight = conv.of_data(data_value), conv.of_weight(weight_value)
        check_channels(conv, data, weight)
        return convolve(conv, data, weight, conv.of_result(out), conv.windows(weight.sizes))

    return call.prim(body, [call.operands[0], weight_operand])


# ---- transposed ----


@register_legalize(
    ["relax.nn.conv1d_transpose", "relax.nn.conv2d_transpose", "relax.nn.conv3d_transpose"], by_types=True
)
def transposed_convolution(call: LegalizeCall) -> Legalized:
    conv = Convolution(call)
    if not conv.has_fitting_blocks:
        return in_plain_layouts(call, conv)
    extra = each_dimension(call.op.output_padding, len(conv.spatial))

    def body(data_value: Value, weight_value: Value, out_value: Value) -> Value:
        data, weight, out = conv.of_data(data_value), conv.of_weight(weight_value), conv.of_result(out_value)
        check_channels(conv, data, weight)
        _require_taps(conv, weight)
        windows = conv.windows(weight.sizes)
        spread, kernel = _spread(data, out, windows, extra), _reverse_taps(weight, conv.spatial)
        single = {letter: Window(window.taps, gap=window.gap) for letter, window in windows.items()}
        return convolve(conv, spread, kernel, out, single)

    return call.prim(body)


def _require_taps(conv: Convolution, weight: Lettered) -> None:
    for letter in conv.spatial:
        if not isinstance(size := weight.sizes[letter], int):
            loops.require(size > 0, "ValueError", f"the weight is empty along {letter}")


def _spread(data: Lettered, out: Lettered, windows: Mapping[str, Window], extra: Sequence[int]) -> Lettered:
    """Insert stride - 1 zeros between the elements of the data, and the zeros around them that the kernel reaches."""
    sizes, strides = data.sizes, dict.fromkeys(data.letters, 1)
    offsets: dict[str, Size] = dict.fromkeys(data.letters, 0)
    starts, ends = dict(offsets), dict(sizes)
    for (letter, window), more in zip(windows.items(), extra, strict=True):
        reach = (window.taps - 1) * window.gap
        cut = _cut(reach, window, more)
        ends[letter] = out.sizes[letter] + reach
        sizes[letter] = ends[letter] + sum(cut)
        offsets[letter] = reach + (cut[0] - window.before)
        strides[letter] = window.stride
        starts[letter] = cut[0]
    spread = _place(data.value, list(sizes.values()), list(offsets.values()), list(strides.values()))
    if any(starts.values()):
        spread = tensors.slice_of(spread, list(starts.values()), list(ends.values()))
    return data.replaced(spread)


def _place(tensor: Value, sizes: Sequence[Size], offsets: Sequence[Size], strides: Sequence[int]) -> Value:
    """Place the tensor's elements at strided positions among zeros."""
    zeros = linalg.fill(0, linalg.empty(sizes, tensor.type.element_type))
    place = tensors.slice_of(zeros, offsets, linalg.sizes(tensor), strides)
    return tensors.put_slice(copy(tensor, place), zeros, offsets, strides)


def _cut(reach: Size, window: Window, extra: int) -> tuple[int, int]:
    """Return the elements that no window reads at both ends, because padding removes more than the kernel adds."""
    is_less = isinstance(reach, int) and reach >= max(window.before, window.after - extra)
    return (0, 0) if is_less else (window.before, window.after)


def _reverse_taps(weight: Lettered, spatial: str) -> Lettered:
    """Copy the weight with its taps in the opposite order."""
    sizes = list(weight.sizes.values())
    axes = [weight.letters.index(letter) for letter in spatial]
    if not (axes := [axis for axis in axes if not isinstance(sizes[axis], int) or sizes[axis] != 1]):
        return weight
    rank, out = len(sizes), linalg.empty(sizes, weight.value.type.element_type)
    lasts = {axis: sizes[axis] - 1 for axis in axes}
    if all(isinstance(last, int) for last in lasts.values()):
        places = [ir.AffineExpr.get_dim(axis) for axis in range(rank)]
        for axis, last in lasts.items():
            places[axis] = last - places[axis]
        maps = [ir.AffineMap.get(rank, 0, places), identity(rank)]
        kinds = [linalg.PARALLEL] * rank
        return weight.replaced(linalg.generic([weight.value], [out], maps, kinds, lambda value, _: value)[0])
    opposite = {axis: partial(operator.sub, last) for axis, last in lasts.items()}
    return weight.replaced(linalg.moved(weight.value, out, opposite))
