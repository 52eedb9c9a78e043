# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled convolutions: strides, dilations, groups, one and two dimensions, tails included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.emit.structured import analyze, structured_ops
from relax_mlir.passes.kernels.schedule.plan import Plan
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.llvm.plans.conv import plan_conv
from scheduled import AVX512, Shaped, prim_func, random_array, run, scheduled_text

#: With 1 MB for a core.
CACHES = replace(AVX512, caches=(32 << 10, 1 << 20))
#: The loops of a convolution in blocks of channels.
IMAGES, BLOCKS, TALL, WIDE, LANES = range(5)


def convolution(x: Shaped, w: Shaped, out: Shaped, stride: int, dilation: int) -> str:
    """Return a convolution of x (n, c, h, w) and w (oc, c, kh, kw), without padding."""
    dims = "n, oc, oh, ow, ic, kh, kw"
    rows, columns = (f"o{axis} * {stride} + k{axis} * {dilation}" for axis in "hw")
    return generic(dims, [f"n, ic, {rows}, {columns}", "oc, ic, kh, kw", "n, oc, oh, ow"], 3, x, w, out)


def depthwise(x: Shaped, w: Shaped, out: Shaped, stride: int) -> str:
    """Return a depthwise convolution of x (n, c, h, w) and w (c, kh, kw)."""
    rows, columns = (f"o{axis} * {stride} + k{axis}" for axis in "hw")
    maps = [f"n, c, {rows}, {columns}", "c, kh, kw", "n, c, oh, ow"]
    return generic("n, c, oh, ow, kh, kw", maps, 2, x, w, out)


def generic(dims: str, maps: list[str], reductions: int, x: Shaped, w: Shaped, out: Shaped) -> str:
    texts = ", ".join(f"affine_map<({dims}) -> ({map_})>" for map_ in maps)
    count = len(dims.split(","))
    iterators = ", ".join(['"parallel"'] * (count - reductions) + ['"reduction"'] * reductions)
    return f"""
  %zero = arith.constant 0.0 : f32
  %filled = linalg.fill ins(%zero : f32) outs(%2 : {out}) -> {out}
  %r0 = linalg.generic {{indexing_maps = [{texts}], iterator_types = [{iterators}]}}
      ins(%0, %1 : {x}, {w}) outs(%filled : {out}) {{
    ^bb0(%a: f32, %b: f32, %sofar: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %sofar, %p : f32
      linalg.yield %s : f32
  }} -> {out}"""


def expected(x: Any, w: Any, stride: int, dilation: int, sizes: tuple[int, int]) -> Any:
    total = numpy.zeros((x.shape[0], w.shape[0], *sizes))
    for i, j in numpy.ndindex(w.shape[2:]):
        rows = slice(i * dilation, i * dilation + (sizes[0] - 1) * stride + 1, stride)
        columns = slice(j * dilation, j * dilation + (sizes[1] - 1) * stride + 1, stride)
        total += numpy.einsum("nchw,oc->nohw", x[:, :, rows, columns], w[:, :, i, j])
    return total


@st.composite
def cases(draw: Any) -> Any:
    stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    sizes = (draw(st.integers(1, 4)), draw(st.sampled_from([1, 7, 8, 15, 16, 17, 40, 70])))
    more = draw(st.integers(0, stride - 1))
    inputs = tuple((o - 1) * stride + (k - 1) * dilation + 1 + more for o, k in zip(sizes, kernel, strict=True))
    channels = (draw(st.sampled_from([1, 2, 7, 16])), draw(st.integers(1, 4)))
    return draw(st.integers(1, 2)), channels, inputs, kernel, sizes, stride, dilation


@given(cases(), st.booleans(), st.sampled_from([16, 32, 64]))
@draws(30)
def test_two_dimensions(case: Any, is_dynamic: bool, vector_bytes: int) -> None:
    batch, (outputs, inputs), spatial, kernel, sizes, stride, dilation = case
    x = Shaped(("n", inputs, "h", "w") if is_dynamic else (batch, inputs, *spatial), "f32")
    w = Shaped((outputs, inputs, *kernel), "f32")
    image, weights = random_array((batch, inputs, *spatial), "f4", 1), random_array(w.shape, "f4", 2)
    # A graph's sizes of a dynamic result: expressions of the input's sizes.
    rows, columns = (
        f"(({name} - {(k - 1) * dilation + 1}) // {stride}) + 1" for name, k in zip("hw", kernel, strict=True)
    )
    out = Shaped(("n", outputs, rows, columns) if is_dynamic else (batch, outputs, *sizes), "f32")
    text = prim_func([x, w], [out], convolution(x, w, out, stride, dilation), "out_ewise_fusable")
    got = run(text, [x, w], [out], image, weights, vector_bytes=vector_bytes)
    numpy.testing.assert_array_equal(got, expected(image, weights, stride, dilation, sizes))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("width", [7, 16, 37])
def test_a_channel_at_a_time(stride: int, width: int) -> None:
    inputs = (width - 1) * stride + 3
    x, w, out = Shaped((2, 5, inputs, inputs), "f32"), Shaped((5, 3, 3), "f32"), Shaped((2, 5, width, width), "f32")
    image, weights = random_array(x.shape, "f4", 1), random_array(w.shape, "f4", 2)
    text = prim_func([x, w], [out], depthwise(x, w, out, stride), "out_ewise_fusable")
    full = numpy.zeros((5, 5, 3, 3), "f4")
    full[numpy.arange(5), numpy.arange(5)] = weights
    numpy.testing.assert_array_equal(
        run(text, [x, w], [out], image, weights), expected(image, full, stride, 1, (width, width))
    )


@pytest.mark.parametrize("stride", [1, 2])
def test_loops_hold_tiles_of_vectors_and_nothing_scalar_is_left(stride: int) -> None:
    inputs = 55 * stride + 3
    x, w, out = Shaped((1, 8, inputs, inputs), "f32"), Shaped((8, 8, 3, 3), "f32"), Shaped((1, 8, 56, 56), "f32")
    text = scheduled_text(prim_func([x, w], [out], convolution(x, w, out, stride, 1), "out_ewise_fusable"))
    assert "linalg." not in text and "vector.from_elements" not in text and "vector.create_mask" in text
    assert ("vector.shuffle" in text) == (stride == 2)


def planned(x: Shaped, w: Shaped, out: Shaped, filters: str) -> Plan:
    """Return the plan for a convolution with the filter's dimensions in this order."""
    maps = ["n, ic, oh + kh, ow + kw", filters, "n, oc, oh, ow"]
    contraction = generic("n, oc, oh, ow, ic, kh, kw", maps, 3, x, w, out)
    return plan_of(prim_func([x, w], [out], contraction, "out_ewise_fusable"), AVX512)


def plan_of(text: str, machine: Machine) -> Plan:
    context = new_context(("arith", "func", "linalg"))
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        (operation,) = [op for op in structured_ops(module.body.operations[0].operation)]
        return plan_conv(analyze(operation), machine)


def test_taps_come_before_channels() -> None:
    """Order the sum in one way for all layouts of the filter, so that its bits are the same."""
    x, out = Shaped((1, 8, 30, 30), "f32"), Shaped((1, 16, 28, 28), "f32")
    assert planned(x, Shaped((16, 8, 3, 3), "f32"), out, "oc, ic, kh, kw").order[-3:] == (5, 6, 4)
    assert planned(x, Shaped((3, 3, 16, 8), "f32"), out, "kh, kw, oc, ic").order[-3:] == (5, 6, 4)
    # With a filter of size 1 there is less to order.
    assert set(planned(x, Shaped((16, 8, 1, 1), "f32"), out, "oc, ic, kh, kw").order[-3:]) == {4, 5, 6}


def test_rows_of_any_length_leave_registers_for_channels() -> None:
    """Tile rows of any length with twelve sums, which keep the adders busy for the last vectors, too."""
    w, channels, columns = Shaped((24, 8, 3, 3), "f32"), 1, 3
    x, out = Shaped((1, 8, "h", "w"), "f32"), Shaped((1, 24, "a", "b"), "f32")
    assert planned(x, w, out, "oc, ic, kh, kw").tile == {columns: 2, channels: 12}
    x, out = Shaped((1, 8, 66, 66), "f32"), Shaped((1, 24, 64, 64), "f32")
    assert planned(x, w, out, "oc, ic, kh, kw").tile == {columns: 4, channels: 6}


def planned_in_blocks(batch: int | str, blocks: int, side: int) -> Plan:
    """Return the plan for 3x3 taps on images with equally many input and output channels, in blocks of 16."""
    maps = ["n, ic, oh + kh, ow + kw, i", "oc, ic, kh, kw, i, o", "n, oc, oh, ow, o"]
    x = Shaped((batch, blocks, side + 2, side + 2, 16), "f32")
    w = Shaped((blocks, blocks, 3, 3, 16, 16), "f32")
    out = Shaped((batch, blocks, side, side, 16), "f32")
    contraction = generic("n, oc, oh, ow, o, ic, kh, kw, i", maps, 4, x, w, out)
    return plan_of(prim_func([x, w], [out], contraction, "out_ewise_fusable"), CACHES)


@pytest.mark.parametrize(
    ("batch", "side", "tile"),
    [
        # As many rows of a picture as there are registers for, then as many pictures; oc next to them.
        (8, 4, {WIDE: 4, TALL: 2}),
        (8, 2, {WIDE: 2, TALL: 2, IMAGES: 3}),
        (8, 1, {IMAGES: 8}),
        (1, 2, {WIDE: 2, TALL: 2}),
        ("n", 2, {WIDE: 2, TALL: 2, IMAGES: 3}),
        (1, 7, {WIDE: 7, TALL: 2}),
        # A single row fills the vectors.
        (8, 14, {WIDE: 14}),
    ],
)
def test_steps_go_over_short_rows_and_over_pictures(batch: int | str, side: int, tile: dict[int, int]) -> None:
    assert planned_in_blocks(batch, 16, side).tile == {LANES: 1, BLOCKS: 2, **tile}


@pytest.mark.parametrize("batch", [8, "n"])
def test_large_weights_are_read_once_for_all_pictures(batch: int | str) -> None:
    first = lambda *case: planned_in_blocks(*case).order[:2]  # noqa: E731
    assert first(batch, 32, 2) == (BLOCKS, IMAGES)
    # Weights that fit a core's own cache, and take less memory than the images that each block would read again.
    assert first(batch, 4, 2) == (IMAGES, BLOCKS)
    assert first(batch, 32, 32) == (IMAGES, BLOCKS)


def test_one_place_has_sums_of_several_blocks_at_once() -> None:
    """Keep several sums: a single one would wait for each addition."""
    assert planned_in_blocks(1, 16, 1).tile == {LANES: 1, BLOCKS: 8}
