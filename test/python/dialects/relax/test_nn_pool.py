# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling: inferred types against an enumeration of the windows, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir.dialects.relax.nn_pool  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import build_function, built_op, infer
from relax_mlir.dialects.core.infos import TensorInfo
from shorthand import refusal, tensor, unranked
from symbolic import evaluated

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def windows_laid(size: int, window: int, stride: int, before: int, after: int, ceil_mode: bool) -> int:
    """Count windows from the left until they cover the padded data, or the next one would cross its end."""
    end = before + size + after
    starts = [0]
    while starts[-1] + window < end and (ceil_mode or starts[-1] + stride + window <= end):
        starts.append(starts[-1] + stride)
    # A last window that holds nothing but padding from behind the data is taken away.
    return len(starts) - (ceil_mode and starts[-1] >= before + size)


pairs = st.tuples(st.integers(0, 3), st.integers(0, 3))


@draws(60)
@given(st.data(), st.integers(1, 3), st.sampled_from(["max", "avg"]), st.booleans())
def test_pooling_counts_windows(data: st.DataObject, rank: int, kind: str, ceil_mode: bool) -> None:
    def each(low: int, high: int) -> list[int]:
        return data.draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    sizes, pool_size, strides, dilation = each(7, 12), each(1, 4), each(1, 5), each(1, 2)
    pads = data.draw(st.lists(pairs, min_size=rank, max_size=rank))
    layout = "".join(data.draw(st.permutations("NC" + SPATIAL[rank])))
    out_layout = "".join(data.draw(st.permutations("NC" + SPATIAL[rank])))
    dtype = data.draw(st.sampled_from(["f16", "bf16", "f32", "i8", "ui8", "i64"]))
    befores, afters = zip(*pads, strict=True)
    shape = {"N": 2, "C": 3, **dict(zip(SPATIAL[rank], sizes, strict=True))}
    (result,) = infer(
        f"relax.nn.{kind}_pool{rank}d",
        tensor(*(shape[letter] for letter in layout), dtype=dtype),
        pool_size=pool_size,
        strides=strides,
        dilation=dilation,
        padding=befores + afters,
        ceil_mode=ceil_mode,
        layout=layout,
        out_layout=out_layout,
    )
    for letter, size, taps, stride, gap, pad in zip(
        SPATIAL[rank], sizes, pool_size, strides, dilation, pads, strict=True
    ):
        shape[letter] = windows_laid(size, (taps - 1) * gap + 1, stride, *pad, ceil_mode)
    assert result == tensor(*(shape[letter] for letter in out_layout), dtype=dtype)


@draws(60)
@given(st.integers(5, 20), st.integers(1, 5), st.integers(1, 6), pairs, st.booleans())
def test_symbolic_sizes_are_the_fixed_ones_once_known(
    size: int, window: int, stride: int, pads: tuple[int, int], ceil_mode: bool
) -> None:
    attributes = {"pool_size": window, "strides": stride, "padding": pads, "ceil_mode": ceil_mode}
    (symbolic,) = infer("relax.nn.max_pool1d", tensor("n", 3, "w"), **attributes)
    assert isinstance(symbolic, TensorInfo)
    expected = tensor(2, 3, windows_laid(size, window, stride, *pads, ceil_mode))
    assert evaluated(symbolic, {"n": 2, "w": size}) == expected


@pytest.mark.parametrize(
    ("name", "data", "attributes", "expected"),
    [
        (
            "max_pool2d",
            tensor("n", 8, "h", "w"),
            {"pool_size": 3, "strides": 2, "padding": 1, "ceil_mode": True},
            tensor("n", 8, "h//2 + 1", "w//2 + 1"),
        ),
        ("max_pool2d", tensor("n", 8, "h", "w"), {"pool_size": 2, "strides": 2}, tensor("n", 8, "h//2", "w//2")),
        # Whether the last window starts behind the data depends on the size.
        (
            "max_pool1d",
            tensor("n", 8, "w"),
            {"pool_size": 2, "strides": 3, "padding": 1, "ceil_mode": True},
            tensor("n", 8, "min((w + 2)//3 + 1, w//3 + 1)"),
        ),
        # Rounding up, a window may be larger than the data.
        ("avg_pool1d", tensor(1, 8, 1), {"pool_size": 3, "strides": 3, "ceil_mode": True}, tensor(1, 8, 1)),
        ("avg_pool3d", tensor("n", 4, None, 9, "w"), {"pool_size": 3}, tensor("n", 4, None, 7, "w - 2")),
        ("avg_pool2d", unranked("f16"), {"out_layout": "NCHW4c"}, tensor(None, None, None, None, 4, dtype="f16")),
        (
            "max_pool2d",
            tensor(1, 2, 8, 8, 4),
            {"pool_size": 2, "layout": "NCHW4c", "out_layout": "NHWC"},
            tensor(1, 7, 7, 8),
        ),
        ("adaptive_avg_pool1d", tensor("n", 8, "w"), {"output_size": 5}, tensor("n", 8, 5)),
        ("adaptive_avg_pool2d", tensor("n", "h", "w", 8), {"output_size": 1, "layout": "NHWC"}, tensor("n", 1, 1, 8)),
        ("adaptive_avg_pool2d", tensor("n", 8, "h", "w"), {"output_size": [5]}, tensor("n", 8, 5, 5)),
        ("adaptive_avg_pool3d", tensor("n", 8, "d", "h", "w"), {"output_size": (3, 4, 5)}, tensor("n", 8, 3, 4, 5)),
        ("adaptive_avg_pool3d", tensor("n", 8, "d", "h", "w"), {"out_layout": "NDHWC"}, tensor("n", "d", "h", "w", 8)),
        ("adaptive_avg_pool2d", unranked(), {"output_size": 7}, tensor(None, None, 7, 7)),
    ],
)
def test_pooling(name: str, data: TensorInfo, attributes: dict[str, Any], expected: TensorInfo) -> None:
    assert infer(f"relax.nn.{name}", data, **attributes) == [expected]


@pytest.mark.parametrize(
    ("name", "data", "attributes", "message"),
    [
        (
            "max_pool2d",
            tensor(1, 3, 9, 9),
            {"pool_size": (1, 2, 3)},
            "attribute 'pool_size' ((1, 2, 3)) must have 1 or 2 entries, got 3",
        ),
        ("max_pool2d", tensor(1, 3, 9, 9), {"pool_size": 0}, "attribute 'pool_size' ((0, 0)) must be 1 or more"),
        ("max_pool2d", tensor(1, 3, 9, 9), {"strides": (1, -2)}, "attribute 'strides' ((1, -2)) must be 1 or more"),
        ("avg_pool1d", tensor(1, 3, 9), {"dilation": 0}, "attribute 'dilation' ((0,)) must be 1 or more, got 0"),
        ("avg_pool1d", tensor(1, 3, 9), {"padding": -1}, "attribute 'padding' ((-1, -1)) must be 0 or more"),
        (
            "avg_pool3d",
            tensor(1, 3, 9, 9, 9),
            {"padding": (1, 2)},
            "attribute 'padding' ((1, 2)) must have 1, 3 or 6 entries, got 2",
        ),
        (
            "max_pool1d",
            tensor(1, 3, 9),
            {"pool_size": 12, "padding": 1},
            "(tensor<1x3x9xf32>) is too small along W: a window is 12 wide, the padded data 11",
        ),
        (
            "max_pool1d",
            tensor(1, 3, 1),
            {"pool_size": 7, "strides": 3, "ceil_mode": True},
            "is too small along W: a window is 7 wide, the padded data 1",
        ),
        ("max_pool1d", tensor(1, 3, 9, 9), {}, "must be 3-D to have layout 'NCW', but is 4-D"),
        ("max_pool1d", tensor(1, 3, 9), {"layout": "NCL"}, "attribute 'layout' (NCL) names an unknown dimension 'L'"),
        ("max_pool1d", tensor(1, 3, 9), {"out_layout": "NC"}, "attribute 'out_layout' (NC) misses dimension 'W'"),
        (
            "max_pool1d",
            tensor(1, 3, 9, dtype="i1"),
            {},
            "operand 'data' (tensor<1x3x9xi1>) must have float or int elements",
        ),
        (
            "adaptive_avg_pool3d",
            tensor(1, 3, 9, 9, 9),
            {"output_size": (1, 2)},
            "attribute 'output_size' ((1, 2)) must have 1 or 3 entries, got 2",
        ),
        ("adaptive_avg_pool1d", tensor(1, 3, 9), {"output_size": 0}, "attribute 'output_size' ((0,)) must be 1 or"),
        (
            "adaptive_avg_pool1d",
            tensor(1, 3, 0),
            {"output_size": 3},
            "operand 'data' (tensor<1x3x0xf32>) must not be empty along W",
        ),
        ("adaptive_avg_pool1d", tensor(1, 3, 9, dtype="i1"), {}, "must have float or int elements"),
    ],
)
def test_refused(name: str, data: TensorInfo, attributes: dict[str, Any], message: str) -> None:
    assert message in refusal(f"relax.nn.{name}", data, **attributes)


def test_averages_count_padding_by_default_as_relax_does() -> None:
    """Check Relax's defaults, which depend on the rank: 1 and 3 count padding, 2 does not."""
    for rank, default in ((1, True), (2, False), (3, True)):
        data = tensor(1, 3, *[9] * rank)
        spelled = build_function(f"relax.nn.avg_pool{rank}d", data, count_include_pad=default)
        assert len(built_op(spelled).attributes) == 0
        other = build_function(f"relax.nn.avg_pool{rank}d", data, count_include_pad=not default)
        assert list(built_op(other).attributes) == ["count_include_pad"]
