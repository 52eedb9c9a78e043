# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""batch_flatten, pad and pixel_shuffle: inferred types against numpy, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir.dialects.relax.nn_misc  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import build_function, built_op, infer
from relax_mlir.dialects.core.infos import TensorInfo
from shorthand import refusal, tensor, unranked
from symbolic import evaluated, named

dtypes = st.sampled_from(["f16", "bf16", "f32", "f64", "i1", "i8", "ui8", "i64"])
NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@draws(40)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), dtypes)
def test_batch_flatten_is_numpys_reshape(shape: list[int], dtype: str) -> None:
    expected = tensor(*np.zeros(shape).reshape(shape[0], -1).shape, dtype=dtype)
    assert infer("relax.nn.batch_flatten", tensor(*shape, dtype=dtype)) == [expected]
    symbolic, sizes = named(shape, dtype)
    (result,) = infer("relax.nn.batch_flatten", symbolic)
    assert isinstance(result, TensorInfo)
    assert evaluated(result, sizes) == expected


@draws(40)
@given(st.data(), st.sampled_from(sorted(NUMPY_MODES)), dtypes)
def test_pad_is_numpys(data: st.DataObject, mode: str, dtype: str) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    widths = data.draw(st.lists(st.integers(0, 7), min_size=2 * len(shape), max_size=2 * len(shape)))
    pairs = np.reshape(widths, (-1, 2))
    expected = tensor(*np.pad(np.zeros(shape), pairs, mode=NUMPY_MODES[mode]).shape, dtype=dtype)
    arguments: dict[str, Any] = {"pad_width": widths, "pad_mode": mode}
    assert infer("relax.nn.pad", tensor(*shape, dtype=dtype), **arguments) == [expected]
    symbolic, sizes = named(shape, dtype)
    (result,) = infer("relax.nn.pad", symbolic, **arguments)
    assert isinstance(result, TensorInfo)
    assert evaluated(result, sizes) == expected


@draws(40)
@given(st.lists(st.integers(1, 3), max_size=2), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), dtypes)
def test_pixel_shuffle_is_numpys_transpose(
    batch: list[int], channels: int, height: int, factor: int, dtype: str
) -> None:
    shape = [*batch, channels * factor * factor, height, 5]
    split = np.zeros([*batch, channels, factor, factor, height, 5])
    moved = np.moveaxis(split, (-4, -3), (-3, -1))  # (..., C, H, r, W, r)
    expected = tensor(*moved.reshape(*batch, channels, height * factor, 5 * factor).shape, dtype=dtype)
    assert infer("relax.nn.pixel_shuffle", tensor(*shape, dtype=dtype), upscale_factor=factor) == [expected]


@pytest.mark.parametrize(
    ("name", "data", "attributes", "expected"),
    [
        ("batch_flatten", tensor("n", 2, "h", 3), {}, tensor("n", "6*h")),
        ("batch_flatten", tensor("n", 2, None), {}, tensor("n", None)),
        ("batch_flatten", unranked("i8"), {}, tensor(None, None, dtype="i8")),
        ("pad", tensor("n", None, 3), {"pad_width": [1, 2, 3, 4, 0, 0]}, tensor("n + 3", None, 3)),
        ("pad", tensor(5, "n"), {"pad_width": [-1, -4, -2, 1]}, tensor(0, "n - 1")),
        ("pad", tensor(0), {"pad_width": [1, 1]}, tensor(2)),
        ("pad", tensor(), {"pad_width": []}, tensor()),
        ("pad", unranked(), {"pad_width": [1, 2, 3, 4]}, tensor(None, None)),
        ("pixel_shuffle", tensor("n", "4*c", "h", 5), {"upscale_factor": 2}, tensor("n", "c", "2*h", 10)),
        ("pixel_shuffle", tensor("c", None, 5), {"upscale_factor": 2}, tensor("c//4", None, 10)),
        ("pixel_shuffle", unranked(), {"upscale_factor": 2}, unranked()),
    ],
)
def test_symbols_and_unknown_sizes(
    name: str, data: TensorInfo, attributes: dict[str, Any], expected: TensorInfo
) -> None:
    assert infer(f"relax.nn.{name}", data, **attributes) == [expected]


def test_a_large_integer_pad_value_stays_exact() -> None:
    value = 2**62 + 1
    module = build_function("relax.nn.pad", tensor(1, dtype="i64"), pad_width=[1, 1], pad_value=value)
    assert f"pad_value = {value} : i64" in str(built_op(module))


@pytest.mark.parametrize(
    ("name", "data", "attributes", "message"),
    [
        ("batch_flatten", tensor(3), {}, "operand 'data' (tensor<3xf32>) must be 2-D or more, but is 1-D"),
        (
            "pad",
            tensor(3, 4),
            {"pad_width": [1, 2]},
            "attribute 'pad_width' ((1, 2)) must have 4 entries, before and after each dimension of op",
        ),
        (
            "pad",
            unranked(),
            {"pad_width": [1, 2, 3]},
            "attribute 'pad_width' ((1, 2, 3)) must have two entries for each dimension",
        ),
        (
            "pad",
            tensor(3, 4),
            {"pad_width": [0, 0, -3, -2]},
            "attribute 'pad_width' ((0, 0, -3, -2)) removes 5 of 4 elements along axis 1",
        ),
        (
            "pad",
            tensor(3, 0),
            {"pad_width": [0, 0, 0, 2], "pad_mode": "circular"},
            "(tensor<3x0xf32>) is empty along axis 1: there is nothing to pad it with in mode 'circular'",
        ),
        (
            "pad",
            tensor(3),
            {"pad_width": [0, 0], "pad_mode": "reflekt"},
            "'constant', 'reflect', 'replicate', 'circular', got 'reflekt'; did you mean 'reflect'?",
        ),
        ("pad", tensor(3), {}, "misses attribute 'pad_width'"),
        (
            "pixel_shuffle",
            tensor(8, 4),
            {"upscale_factor": 2},
            "operand 'data' (tensor<8x4xf32>) must be 3-D or more (..., C, H, W), but is 2-D",
        ),
        ("pixel_shuffle", tensor(8, 4, 4), {"upscale_factor": 0}, "attribute 'upscale_factor' (0) must be 1 or more"),
        (
            "pixel_shuffle",
            tensor(6, 4, 4),
            {"upscale_factor": 2},
            "channels that 4 divides, the square of attribute 'upscale_factor' (2), got 6",
        ),
        ("pixel_shuffle", tensor("4*c + 1", 4, 4), {"upscale_factor": 2}, "that 4 divides"),
    ],
)
def test_refused(name: str, data: TensorInfo, attributes: dict[str, Any], message: str) -> None:
    assert message in refusal(f"relax.nn.{name}", data, **attributes)
