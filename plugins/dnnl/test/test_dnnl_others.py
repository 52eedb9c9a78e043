# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl compared with the default path: pooling, norms, elementwise operators, reductions and views."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from dnnl_models import floats
from dnnl_parts import built, compare_steps
from external_parts import main_of
from relax_mlir import relax
from relax_mlir.bindings.navigation import last_of
from relax_mlir_dnnl.activations import activation_at
from relax_mlir_dnnl.elementwise import BINARY, PLAIN

const = relax.const


def named(name: str) -> Any:
    found = relax
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("attributes", [{}, {"ceil_mode": True}, {"strides": 1, "dilation": 2}, {"layout": "NHWC"}])
def test_pooling(kind: str, attributes: Any) -> None:
    pool = named(f"nn.{kind}_pool2d")
    parameters = {"pool_size": 3, "strides": 2, "padding": 1, **attributes}
    assert compare_steps(built(lambda x: pool(x, **parameters), (1, 8, 10, 9))) == ["pooling"]


def test_mean_pool_with_counted_padding() -> None:
    body = lambda x: relax.nn.avg_pool2d(x, pool_size=3, strides=2, padding=(1, 0, 2, 1), count_include_pad=True)  # noqa: E731
    assert compare_steps(built(body, (1, 8, 10, 9))) == ["pooling"]


@pytest.mark.parametrize("rank", [1, 3])
def test_pooling_of_other_ranks(rank: int) -> None:
    body = lambda x: named(f"nn.avg_pool{rank}d")(named(f"nn.max_pool{rank}d")(x, pool_size=2), pool_size=2, strides=2)  # noqa: E731
    assert compare_steps(built(body, (2, 4, 9, 7, 6)[: rank + 2])) == ["pooling", "pooling"]


@pytest.mark.parametrize("size", [1, (2, 3), (8, 9)])
def test_adaptive_pooling(size: Any) -> None:
    assert compare_steps(built(lambda x: relax.nn.adaptive_avg_pool2d(x, output_size=size), (1, 8, 8, 9))) == [
        "pooling"
    ]


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_norms(center: bool, scale: bool) -> None:
    parameters: Any = {"center": center, "scale": scale}
    channels: Any = {"channel_axis": 1, "axes": [2, 3], **parameters}

    def affine() -> Any:
        return const(floats(8)), const(floats(8, seed=4))

    def batch(x: Any) -> Any:
        statistics = const(floats(8, seed=5)), const(numpy.abs(floats(8, seed=6)))
        return relax.nn.batch_norm(x, *affine(), *statistics, axis=1, training=False, **parameters)[0]

    more = ["binary"] * (center + scale)
    layer = lambda x: relax.nn.layer_norm(x, *affine(), axes=[-1], epsilon=1e-3, **parameters)  # noqa: E731
    group = lambda x: relax.nn.group_norm(x, *affine(), num_groups=4, **channels)  # noqa: E731
    instance = lambda x: relax.nn.instance_norm(x, *affine(), **channels)  # noqa: E731
    assert compare_steps(built(batch, (2, 8, 5, 5))) == ["batch_norm"]
    assert compare_steps(built(layer, (2, 5, 8))) == ["layer_norm"]
    assert compare_steps(built(group, (2, 8, 5, 6))) == ["layer_norm", *more]
    assert compare_steps(built(instance, (2, 8, 5, 6))) == ["layer_norm", *more]


def test_layer_norm_over_two_axes() -> None:
    body = lambda x: relax.nn.layer_norm(x, const(floats(5, 8)), const(floats(5, 8, seed=4)), axes=[1, 2])  # noqa: E731
    assert compare_steps(built(body, (3, 5, 8))) == ["layer_norm"]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, axis: int) -> None:
    assert compare_steps(built(lambda x: named(f"nn.{name}")(x, axis=axis), (3, 4, 5))) == ["softmax"]


@pytest.mark.parametrize("name", [*PLAIN, "nn.leakyrelu", "nn.softplus"])
def test_functions_of_elements(name: str) -> None:
    data = floats(2, 5, 7, scale=3)
    given = numpy.abs(data) + 0.01 if name in ("sqrt", "log", "rsqrt") else data
    assert compare_steps(built(named(name), (2, 5, 7)), [given]) == ["eltwise"]


def test_functions_with_numbers() -> None:
    def body(x: Any) -> Any:
        y = relax.nn.leakyrelu(relax.nn.softplus(x, beta=2.0), alpha=0.2)
        return relax.clip(relax.power(relax.nn.selu(y), const(3.0)), 0.5, 4.0)

    compare_steps(built(body, (3, 4)))


@pytest.mark.parametrize("other", [(2, 5, 7), (5, 1), (1,), (7,), (2, 1, 1)])
@pytest.mark.parametrize("name", [*BINARY])
def test_two_tensors(name: str, other: Any) -> None:
    assert compare_steps(built(lambda x, y: named(name)(x, y), (2, 5, 7), other)) == ["binary"]


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
def test_the_broadcast_operand_may_be_the_first(name: str) -> None:
    assert compare_steps(built(lambda x, y: named(name)(x, y), (5, 1), (2, 5, 7))) == ["binary"]


@pytest.mark.parametrize("name", [*BINARY])
def test_numbers(name: str) -> None:
    expected = ["eltwise"] if name in ("add", "subtract", "multiply") else ["binary"]
    assert compare_steps(built(lambda x: named(name)(x, const(1.5)), (3, 4))) == expected


def test_spelt_out_activations() -> None:
    multiply = relax.multiply
    forms: Any = {
        "mish": lambda x: multiply(x, relax.tanh(relax.nn.softplus(x))),
        "hard swish": lambda x: multiply(x, relax.clip(relax.add(multiply(x, const(1 / 6)), const(0.5)), 0, 1)),
        "elu": lambda x: relax.where(relax.greater(x, const(0.0)), x, multiply(relax.nn.selu(x), const(0.5))),
        "swish": lambda x: multiply(relax.sigmoid(x), x),
    }
    for form in forms.values():
        assert compare_steps(built(form, (2, 5, 7))) == ["eltwise"]
        after = lambda x, form=form: form(relax.nn.conv2d(x, const(floats(8, 4, 1, 1))))  # noqa: E731
        assert compare_steps(built(after, (1, 4, 5, 6))) == ["convolution+eltwise"]


def test_low_softplus_threshold_is_no_mish() -> None:
    body = lambda x: relax.multiply(x, relax.tanh(relax.nn.softplus(x, threshold=1.0)))  # noqa: E731
    module = built(body, (2, 5, 7))
    assert activation_at(last_of(main_of(module)).operands[0].owner.operation) is None


@pytest.mark.parametrize("parameters", [{}, {"axis": [1]}, {"axis": [0, -1], "keepdims": True}])
@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
def test_reductions(name: str, parameters: Any) -> None:
    assert compare_steps(built(lambda x: named(name)(x, **parameters), (2, 5, 7))) == ["reduction"]


def test_scalar_reduction_with_post_op() -> None:
    assert compare_steps(built(lambda x: relax.add(relax.sum(x), const(1.0)), (3, 4)))[0].startswith("reduction")


def test_views_between_operators() -> None:
    def body(x: Any) -> Any:
        y = relax.squeeze(relax.expand_dims(relax.nn.relu(x), axis=[1]), axis=[1])
        return relax.flatten(relax.exp(relax.permute_dims(y, [1, 0])))

    assert compare_steps(built(body, (3, 4))) == ["eltwise", "view", "view", "view", "eltwise", "view"]


def test_results_that_are_views_of_another_result() -> None:
    body = lambda x: (y := relax.nn.relu(x), relax.permute_dims(y, [1, 0]))  # noqa: E731
    assert compare_steps(built(body, (3, 4))) == ["eltwise", "view"]
