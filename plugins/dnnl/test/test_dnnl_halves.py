# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl with bf16 and f16, if the CPU supports them, compared with f32 on the default path."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from before_after import results_of
from dnnl_models import floats
from dnnl_parts import build_part, call_part, steps_of
from external_parts import assert_close, built
from relax_mlir import relax
from relax_mlir_dnnl import machine

const = relax.const
STORED = {"bfloat16": ml_dtypes.bfloat16, "float16": numpy.float16}
TYPES = {**STORED, "float32": numpy.float32}
NAMES = {"bfloat16": "bf16", "float16": "f16"}
#: Largest relative rounding error: half of the distance of adjacent numbers.
ROUNDING = {"bfloat16": 2**-8, "float16": 2**-11}


@pytest.fixture(params=STORED)
def half(request: Any) -> str:
    lacks = machine.why_not_loaded() or machine.why_not_computed(NAMES[request.param])
    if lacks:
        pytest.skip(lacks)
    return str(request.param)


def weights(half: str, dtype: str) -> Any:
    """Return a function from a shape to a constant of `dtype`, with elements that the half type has, too."""
    return lambda *shape: const(floats(*shape, scale=0.1).astype(STORED[half]).astype(TYPES[dtype]))


BODIES: dict[str, tuple[Any, list[Any]]] = {
    "conv": (lambda w, x: relax.nn.conv2d(x, w(16, 8, 3, 3), padding=1), [(2, 8, 9, 7)]),
    "conv, bias, relu": (
        lambda w, x: relax.nn.relu(relax.add(relax.nn.conv2d(x, w(32, 8, 3, 3), padding=1), w(32, 1, 1))),
        [(1, 8, 9, 7)],
    ),
    "depthwise": (lambda w, x: relax.nn.conv2d(x, w(16, 1, 3, 3), groups=16), [(1, 16, 9, 9)]),
    "deconv": (lambda w, x: relax.nn.conv2d_transpose(x, w(8, 16, 2, 2), strides=2), [(1, 8, 5, 5)]),
    "matmul": (lambda w, x: relax.matmul(x, w(24, 40)), [("n", 24)]),
    "batched": (lambda w, x, y: relax.matmul(x, y), [(3, 5, 24), (3, 24, 7)]),
    "pool": (lambda w, x: relax.nn.avg_pool2d(x, pool_size=2), [(1, 8, 6, 6)]),
    "exp": (lambda w, x: relax.exp(x), [(5, 33)]),
    "gelu": (lambda w, x: relax.nn.gelu(x), [(5, 33)]),
    "add": (lambda w, x, y: relax.add(x, y), [(5, 33), (33,)]),
    "softmax": (lambda w, x: relax.nn.softmax(x), [(5, 33)]),
    "layer_norm": (lambda w, x: relax.nn.layer_norm(x, w(32), w(32), axes=[-1]), [(5, 32)]),
    "batch_norm": (
        lambda w, x: relax.nn.batch_norm(x, w(8), w(8), w(8), relax.exp(w(8)), axis=1, training=False)[0],
        [(2, 8, 5, 5)],
    ),
    "group_norm": (
        lambda w, x: relax.nn.group_norm(x, w(8), w(8), num_groups=2, channel_axis=1, axes=[2, 3]),
        [(2, 8, 5, 5)],
    ),
    "sum": (lambda w, x: relax.sum(x, axis=[1]), [(5, 33)]),
    "concat": (lambda w, x, y: relax.concat([relax.exp(x), y], axis=1), [(5, 3), (5, 4)]),
    "prelu": (lambda w, x: relax.nn.prelu(x, w(8)), [(2, 8, 5, 5)]),
    "resize": (lambda w, x: relax.image.resize2d(x, (12, 12)), [(1, 8, 6, 6)]),
    "astype": (lambda w, x: relax.astype(relax.exp(x), "float32"), [(5, 33)]),
}


@pytest.mark.parametrize("name", BODIES)
def test_rounding_error(half: str, name: str) -> None:
    """Compare with f32, within three rounding errors. The default path must meet the same limit."""
    body, shapes = BODIES[name]
    module, wide = (
        built(lambda *x, dtype=dtype: body(weights(half, dtype), *x), *(rx.tensor(shape, dtype) for shape in shapes))
        for dtype in (half, "float32")
    )
    sizes = [tuple(6 if size == "n" else size for size in shape) for shape in shapes]
    arrays = [floats(*shape, seed=seed).astype(STORED[half]) for seed, shape in enumerate(sizes)]
    (exact,) = results_of(wide, [each.astype("float32") for each in arrays])
    (ours,) = results_of(module, arrays)
    part = build_part(module)
    (made,) = call_part(part, arrays, [ours])
    assert {part.function.values[each].dtype for each in part.function.inputs} == {NAMES[half]}
    for found in (made, ours):
        assert_close([exact], [found.astype("float32")], 3 * ROUNDING[half])


def test_mixed_precision_product_is_one_primitive(half: str) -> None:
    """Fuse a product of mixed precision, with an epilogue that is computed in f32 and then rounded."""

    def body(x: Any) -> Any:
        y = relax.nn.conv2d(x, weights(half, half)(32, 8, 3, 3), padding=1)
        y = relax.nn.relu(relax.add(relax.astype(y, "float32"), const(floats(32, 1, 1))))
        return relax.astype(y, half)

    module = built(body, rx.tensor((1, 8, 9, 7), half))
    arrays = [floats(1, 8, 9, 7).astype(STORED[half])]
    expected, part = results_of(module, arrays), build_part(module)
    assert steps_of(part.function) == ["convolution+bias+eltwise"]
    (made,) = call_part(part, arrays, expected)
    assert_close([each.astype("float32") for each in expected], [made.astype("float32")], 3 * ROUNDING[half])


def test_half_result_with_two_users(half: str) -> None:
    def body(x: Any) -> Any:
        y = relax.matmul(x, weights(half, half)(24, 16))
        return relax.astype(y, "float32"), y

    module = built(body, rx.tensor((5, 24), half))
    arrays = [floats(5, 24).astype(STORED[half])]
    expected, part = results_of(module, arrays), build_part(module)
    assert steps_of(part.function) == ["inner_product", "reorder"]
    wide, narrow = call_part(part, arrays, expected)
    numpy.testing.assert_array_equal(wide, narrow.astype("float32"))
