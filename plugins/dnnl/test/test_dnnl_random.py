# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl on random graphs in f32 and bf16, with empty, single and symbolic sizes, NaN and infinities."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import relax_mlir as rx
from before_after import results_of
from dnnl_models import floats
from example_counts import draws
from external_parts import assert_close, built
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_in
from relax_mlir_dnnl import machine

const = relax.const
#: One rounding per operator, each half of the distance of adjacent numbers, and sums in another order.
TOLERANCE = {"float32": 1e-4, "bfloat16": 8 * 2**-8}


def dtype_of(x: Any) -> str:
    return "bfloat16" if "bf16" in str(x.type) else "float32"


def weight(x: Any, *shape: int) -> Any:
    """Return a constant with x's element type."""
    return const(floats(*shape, scale=0.3).astype(ml_dtypes.bfloat16 if dtype_of(x) == "bfloat16" else "float32"))


def guarded(x: Any) -> Any:
    y = relax.nn.softmax(x)
    return relax.where(relax.isnan(y), relax.zeros((), dtype_of(x)), y)


#: Functions from tensors of shape [a, 4, 6] to tensors of the same shape.
UNARY: list[Any] = [
    relax.tanh,
    relax.sigmoid,
    relax.abs,
    relax.negative,
    relax.nn.softmax,
    guarded,
    lambda x: relax.matmul(x, weight(x, 6, 6)),
    lambda x: relax.permute_dims(relax.tanh(relax.permute_dims(x, [0, 2, 1])), [0, 2, 1]),
    lambda x: relax.concat(relax.split(x, indices_or_sections=[2, 3], axis=2)[::-1], axis=2),
    lambda x: relax.concat(
        [relax.strided_slice(x, axes=[1], begin=[-2], end=[4]), relax.strided_slice(x, axes=[1], begin=[0], end=[2])],
        axis=1,
    ),
    lambda x: relax.strided_slice(relax.concat([relax.tanh(x), x], axis=1), axes=[1], begin=[3], end=[7]),
    lambda x: relax.nn.layer_norm(x, weight(x, 6), weight(x, 6), axes=[-1], epsilon=0.1),
    lambda x: relax.add(x, relax.mean(x, axis=[1], keepdims=True)),
    lambda x: relax.subtract(relax.sum(x, axis=[2], keepdims=True), x),
    lambda x: relax.multiply(x, relax.broadcast_to(relax.mean(x, axis=[2], keepdims=True), relax.shape_of(x))),
]
#: oneDNN's softmax of a row with NaN or infinity is not NaN everywhere (docs/codegens/dnnl.md).
NO_NAN = {"relax.nn.softmax"}
BINARY_OPS: list[Any] = [relax.add, relax.multiply, relax.subtract]
SHAPE, ROWS = (4, 6), st.sampled_from([0, 1, 3])


def insert_specials(array: Any, data: Any) -> Any:
    """Write NaN or infinities to up to two elements of an array."""
    for value in data.draw(st.lists(st.sampled_from([numpy.nan, numpy.inf, -numpy.inf]), max_size=2)):
        if array.size:
            array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = value
    return array


@given(st.data())
@draws(60)
def test_random_graphs(data: Any) -> None:
    """Compare with the default path, also for NaN and infinities."""
    dtypes = ["float32"] if machine.why_not_loaded() or machine.why_not_computed("bf16") else list(TOLERANCE)
    dtype, rows = data.draw(st.sampled_from(dtypes)), data.draw(ROWS)
    stated = data.draw(st.sampled_from([rows, "n"]))
    other = (stated, *(data.draw(st.sampled_from([1, size])) for size in SHAPE))

    def body(x: Any, y: Any) -> Any:
        values = [x]
        for _ in range(data.draw(st.integers(1, 5))):
            taken = values[data.draw(st.integers(0, len(values) - 1))]
            if data.draw(st.booleans()):
                made = data.draw(st.sampled_from(UNARY))(taken)
                values.append(
                    relax.strided_slice(made, axes=[1], begin=[0], end=[4]) if made.type.shape[1] != 4 else made
                )
            else:
                values.append(data.draw(st.sampled_from(BINARY_OPS))(taken, data.draw(st.sampled_from([y, *values]))))
        return tuple(values[-data.draw(st.integers(1, 2)) :])

    module = built(body, rx.tensor((stated, *SHAPE), dtype), rx.tensor(other, dtype))
    stored = ml_dtypes.bfloat16 if dtype == "bfloat16" else numpy.float32
    shapes = (rows, *SHAPE), (rows, *other[1:])
    arrays = [floats(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    if not {op.name for op in operations_in(module.operation)} & NO_NAN:
        arrays = [insert_specials(each, data) for each in arrays]
    arrays = [each.astype(stored) for each in arrays]
    expected = results_of(module, arrays)
    made = rx.compile(module.copy(), partition=["dnnl"], opt_level=0)["main"](*arrays)
    results = [rx.runtime.to_numpy(each) for each in (made if isinstance(made, (list, tuple)) else [made])]
    assert_close(expected, results, TOLERANCE[dtype])
