# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout strings: their meaning, their errors, and shapes in other layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir.dialects.relax  # noqa: F401  # declares relax.nn.conv2d
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.opdef import Call, OpProblem
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.dialects.relax.infer.layouts import (
    LayoutAxis,
    LayoutProblem,
    layouts_of,
    parse_layout,
    shape_in_layout,
    sizes_in_layout,
)


def call_with(data: TensorInfo | None = None, **attributes: Any) -> Call:
    return Call(find_op("relax.nn.conv2d"), {"data": data}, attributes)


def test_axes_are_read_in_order() -> None:
    layout = parse_layout("NC4n16c2c", "NC")
    assert layout.axes == (
        LayoutAxis("N"),
        LayoutAxis("C"),
        LayoutAxis("N", 4),
        LayoutAxis("C", 16),
        LayoutAxis("C", 2),
    )
    assert layout.block_of("C") == 32
    assert layout.block_of("N") == 4
    assert parse_layout("NWC", "NCW").block_of("C") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NCHH", "names dimension 'H' twice"),
        ("NCH", "misses dimension 'W'"),
        ("", "misses dimension 'N'"),
        ("NCHWD", "names an unknown dimension 'D'"),
        ("NCHW16d", "names an unknown dimension 'd'"),
        ("NHW16c", "misses dimension 'C'"),
        ("NCHWc", "needs a size of 1 to 999999999 before block 'c', such as '4c'"),
        ("NCHW0c", "needs a size of 1 to"),
        (f"NCHW{'9' * 5000}c", "needs a size of 1 to"),
        ("N16CHW", "gives dimension 'C' a size, but only blocks have one, such as '16c'"),
        ("NCHW16", "ends in the size 16, which needs the letter of its block"),
        ("NC-W", "names an unknown dimension '-'"),
        ("NCH\N{SUPERSCRIPT TWO}w", "names an unknown dimension"),
        ("NCHß", "names an unknown dimension"),
    ],
)
def test_unreadable_layouts_say_why(text: str, message: str) -> None:
    with pytest.raises(LayoutProblem) as raised:
        parse_layout(text, "NCHW")
    assert message in str(raised.value)


def test_the_attribute_at_fault_is_named() -> None:
    with pytest.raises(OpProblem, match=r"attribute 'data_layout' \(NHWX\) names an unknown dimension 'X' \(exp"):
        layouts_of(call_with(data_layout="NHWX", kernel_layout="OIHW", out_layout=None))


def test_an_absent_output_layout_equals_the_data_layout() -> None:
    layouts = layouts_of(call_with(data_layout="NHWC", kernel_layout="HWIO", out_layout=None))
    assert [(name, layout.text, layout.dimensions) for name, layout in layouts.items()] == [
        ("data", "NHWC", "NCHW"), ("weight", "HWIO", "OIHW"), ("result", "NHWC", "NCHW")
    ]  # fmt: skip
    layouts = layouts_of(call_with(data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW"))
    assert layouts["result"].text == "NCHW"


def test_a_dimension_that_a_layout_may_leave_out() -> None:
    row = find_op("relax.image.grid_sample")
    for text, dimensions in (("NHWC", "NCHW"), ("NDHWC", "NCDHW"), ("NHWC4c", "NCHW")):
        assert layouts_of(Call(row, {}, {"layout": text}))["data"].dimensions == dimensions


def test_symbolic_and_unknown_sizes_stay() -> None:
    layout, n, c = parse_layout("NHWC4c", "NCHW"), sym("n"), sym("c")
    data = TensorInfo((n, None, 7, c, 4), "f32")
    assert sizes_in_layout(call_with(data), "data", layout) == (n, c * 4, None, 7)
    assert shape_in_layout(layout, (n, c * 4, None, 7)) == (n, None, 7, c, 4)
    assert shape_in_layout(layout, (n, c, 5, 7)) == (n, 5, 7, (c + 3) // 4, 4)


def test_unknown_rank_gives_unknown_sizes() -> None:
    layout = parse_layout("NCHW4c", "NCHW")
    sizes = sizes_in_layout(call_with(TensorInfo(None, "f32")), "data", layout)
    assert sizes == (None,) * 4
    assert shape_in_layout(layout, sizes) == (None, None, None, None, 4)


def test_a_tensor_that_does_not_fit_its_layout_is_refused() -> None:
    layout = parse_layout("NCHW4c", "NCHW")
    with pytest.raises(OpProblem, match=r"operand 'data' .* must be 5-D to have layout 'NCHW4c', but is 4-D"):
        sizes_in_layout(call_with(TensorInfo((1, 2, 3, 4), "f32")), "data", layout)
    with pytest.raises(OpProblem, match=r"must have 4 elements in dimension 4 .* 'NCHW4c', but has 8"):
        sizes_in_layout(call_with(TensorInfo((1, 2, 3, 4, 8), "f32")), "data", layout)


@given(st.permutations("NCHW"), st.lists(st.integers(1, 5), min_size=4, max_size=4))
def test_permutations_are_numpys_transposes(letters: list[str], sizes: list[int]) -> None:
    layout = parse_layout("".join(letters), "NCHW")
    expected = np.zeros(sizes).transpose(["NCHW".index(letter) for letter in letters]).shape
    assert shape_in_layout(layout, sizes) == expected
    assert sizes_in_layout(call_with(TensorInfo(expected, "f32")), "data", layout) == tuple(sizes)


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 40))
def test_blocks_are_numpys_reshapes_of_padded_channels(batch: int, block: int, channels: int) -> None:
    layout = parse_layout(f"CN{block}c", "NC")
    blocked = np.zeros((batch, channels + -channels % block)).reshape(batch, -1, block).transpose(1, 0, 2)
    assert shape_in_layout(layout, (batch, channels)) == blocked.shape
