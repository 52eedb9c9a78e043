# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-canonicalize-layers: one form of a layer, with the results of the form that was written."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from before_after import keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax

PASSES = "relax-canonicalize-layers,relax-fold-constant{keep-quantized=true}"
RANDOM = numpy.random.default_rng(61)


def built(shape: Any, body: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype)]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def real(numbers: Any, channels: int = 0, axis: int = 0) -> Any:
    """Return dequantized integers, with one scale or one for each place of an axis."""
    count = (channels,) if channels else ()
    scale = relax.const(RANDOM.uniform(0.01, 0.1, count).astype("float32"))
    zero_point = relax.const(RANDOM.integers(-9, 9, count).astype("int8"))
    return relax.dequantize(numbers, scale, zero_point, axis=axis)


def integers(*shape: int) -> Any:
    return relax.const(RANDOM.integers(-128, 128, shape).astype("int8"))


FORMS = {
    "matmul": lambda x, w: relax.matmul(x, w((4, 3), 1)),
    "permute": lambda x, w: relax.matmul(x, relax.permute_dims(w((3, 4), 0))),
    "negative axes": lambda x, w: relax.matmul(x, relax.permute_dims(w((3, 4), -2), axes=[-1, -2])),
    "einsum": lambda x, w: relax.einsum([x, w((3, 4), 0)], subscripts="...y,xy->...x"),
    "einsum as read": lambda x, w: relax.einsum([x, w((4, 3), 1)], subscripts="...y,yx->...x"),
    "weight first": lambda x, w: relax.einsum([w((3, 4), 0), x], subscripts="xy,...y->...x"),
    "einsum of permuted": lambda x, w: relax.einsum(
        [x, relax.permute_dims(w((4, 3), 1), [1, 0])], subscripts="...y,xy->...x"
    ),
    "reshaped": lambda x, w: relax.matmul(x, relax.reshape(w((1, 4, 3), 2), (4, 3))),
}


@draws(24)
@given(
    st.sampled_from(sorted(FORMS)), st.sampled_from([(2, 4), ("n", 4), (0, 4), (2, "n", 4)]),
    st.booleans(), st.booleans(), st.sampled_from(["f32", "channel", "tensor"]),
)  # fmt: skip
def test_every_product_becomes_matmul(
    form: str, shape: tuple[Any, ...], is_quantized: bool, has_bias: bool, kind: str
) -> None:
    def weight(sizes: tuple[int, ...], axis: int) -> Any:
        if kind == "f32":
            return relax.const(RANDOM.normal(size=sizes).astype("float32"))
        return real(integers(*sizes), 3 if kind == "channel" else 0, axis)

    def body(x: Any) -> Any:
        y = FORMS[form](real(x) if is_quantized else x, weight)
        return relax.add(y, relax.reshape(real(integers(3), 3), (1, 3))) if has_bias else y

    after = keeps_results(built(shape, body, "int8" if is_quantized else "float32"), PASSES, tolerance=1e-5)
    names = [name for name in op_names(after) if name not in ("relax.dequantize", "relax.constant")]
    assert names == ["relax.matmul", *["relax.add"] * has_bias]


def test_a_convolution_has_its_weight_and_bias_as_constants() -> None:
    def body(x: Any) -> Any:
        weight = relax.permute_dims(real(integers(3, 3, 2, 5), 5, 3), [3, 2, 0, 1])
        return relax.add(relax.nn.conv2d(real(x), weight), relax.expand_dims(real(integers(5), 5), axis=[1, 2]))

    after = keeps_results(built(("n", 2, 6, 6), body, "int8"), PASSES, tolerance=0)
    assert sorted(op_names(after)) == ["relax.add", *["relax.dequantize"] * 3, "relax.nn.conv2d"]


def test_layers_of_one_value_have_a_dequantize_each() -> None:
    def body(x: Any) -> Any:
        data, weight = real(x), real(integers(4, 4))
        return relax.matmul(data, weight), relax.matmul(data, weight), relax.matmul(data, data), relax.exp(data)

    after = keeps_results(built((4, 4), body, "int8"), PASSES, tolerance=0)
    assert op_names(after).count("relax.dequantize") == 6


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        # Rows are sums, too; nothing is summed; the result is transposed; a batch of weights; three operands.
        ((3, 4), lambda x, w: relax.einsum([x, w(3, 4)], subscripts="ay,xy->x")),
        ((3, 4), lambda x, w: relax.einsum([x, w(3, 4)], subscripts="xy,xy->xy")),
        ((3, 4), lambda x, w: relax.einsum([x, w(5, 4)], subscripts="ay,xy->xa")),
        ((3, 4), lambda x, w: relax.einsum([x, w(3, 5, 4)], subscripts="ay,axy->ax")),
        ((3, 4), lambda x, w: relax.einsum([x, w(5, 4), w(5, 5)], subscripts="ay,xy,xz->az")),
        # One scale for each place of an axis that the view joins with another one.
        ((3, 6), lambda x, w: relax.matmul(real(x), relax.reshape(real(integers(2, 3, 4), 2, 0), (6, 4)))),
    ],
)
def test_operators_that_form_no_layer_stay(shape: Any, body: Any) -> None:
    def weight(*sizes: int) -> Any:
        return relax.const(RANDOM.normal(size=sizes).astype("float32"))

    dtype = "int8" if shape == (3, 6) else "float32"
    module = built(shape, lambda x: body(x, weight), dtype)
    assert op_names(keeps_results(module, "relax-canonicalize-layers")) == op_names(module)
