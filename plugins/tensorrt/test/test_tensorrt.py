# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen tensorrt: layers of each conversion rule, evaluated in NumPy, against the default path.

The cases cover the operators and attributes of Apache TVM's test_tensorrt.py (relay) and test_codegen_tensorrt.py.
"""

from __future__ import annotations

from typing import Any

import blocks
import numpy
import pytest
import relax_mlir as rx
from hypothesis import HealthCheck, given, settings
from relax_mlir import relax
from relax_mlir_tensorrt import elementwise
from relax_mlir_tensorrt.norms import REDUCTIONS
from tensorrt_parts import agrees, built, floats, recorded

const = relax.const


def named(name: str) -> Any:
    found = relax
    for part in name.split("."):
        found = getattr(found, part)
    return found


def conv(x: Any, *shape: int, **attributes: Any) -> Any:
    return named(f"nn.conv{len(shape) - 2}d")(x, const(floats(*shape)), **attributes)


# ---- windows ----


@pytest.mark.parametrize(
    ("data", "weight", "attributes"),
    [
        ((2, 8, 6, 7), (6, 8, 3, 3), {"padding": 1}),
        ((1, 4, 9, 8), (6, 4, 3, 2), {"padding": (1, 0, 2, 1), "strides": (2, 1), "dilation": (2, 1)}),
        ((1, 8, 7, 7), (16, 2, 3, 3), {"groups": 4, "padding": 1}),
        ((1, 8, 7, 7), (16, 1, 3, 3), {"groups": 8, "strides": 2}),
        ((2, 4, 13), (6, 4, 3), {"padding": 2, "strides": 2}),
        ((1, 4, 6, 5, 7), (6, 4, 3, 2, 3), {"padding": (1, 0, 1, 1, 1, 0)}),
    ],
)
def test_convolutions(data: Any, weight: Any, attributes: Any) -> None:
    kinds = agrees(built(lambda x: conv(x, *weight, **attributes), data))
    assert [each for each in kinds if each != "shuffle"] == ["convolution"]


def test_channels_last() -> None:
    def body(x: Any) -> Any:
        return relax.nn.conv2d(x, const(floats(3, 3, 4, 8)), padding=1, data_layout="NHWC", kernel_layout="HWIO")

    assert agrees(built(body, (2, 5, 6, 4))) == ["shuffle", "convolution", "shuffle"]


def test_another_layout_for_the_result() -> None:
    body = lambda x: relax.add(conv(x, 8, 4, 3, 3, out_layout="NHWC"), const(floats(8)))  # noqa: E731
    assert agrees(built(body, (1, 4, 6, 7))) == ["convolution", "shuffle", "elementwise"]


@pytest.mark.parametrize("rank", [1, 2])
def test_weights_that_are_passed(rank: int) -> None:
    body = lambda x, w: named(f"nn.conv{rank}d")(x, w, padding=1)  # noqa: E731
    assert "convolution" in agrees(built(body, (1, 4, 6, 5)[: rank + 2], (8, 4, 3, 3)[: rank + 2]))


@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1, 1)])
def test_a_bias_is_the_layers_own(shape: Any) -> None:
    body = lambda x: relax.add(const(floats(*shape)), conv(x, 6, 4, 3, 3))  # noqa: E731
    assert agrees(built(body, (1, 4, 8, 8))) == ["convolution"]


@pytest.mark.parametrize("shape", [(6, 1), (4,), (1, 6, 6, 1), (2, 1, 1, 1), (1,)])
def test_sums_along_other_dimensions_are_elementwise_layers(shape: Any) -> None:
    body = lambda x: relax.add(conv(x, 6, 4, 3, 3), const(floats(*shape)))  # noqa: E731
    assert "elementwise" in agrees(built(body, (1, 4, 8, 6)))


def test_a_product_that_others_read_keeps_its_value() -> None:
    def body(x: Any) -> Any:
        y = conv(x, 6, 4, 3, 3)
        return relax.nn.relu(y), relax.add(y, const(floats(6, 1, 1)))

    assert "elementwise" in agrees(built(body, (1, 4, 8, 6)))


@pytest.mark.parametrize(
    ("data", "weight", "attributes"),
    [
        ((1, 8, 5, 6), (8, 5, 3, 3), {"strides": 2, "padding": 1, "output_padding": 1}),
        ((1, 8, 5, 6), (8, 3, 3, 3), {"strides": 2, "padding": 1, "groups": 2}),
        ((1, 8, 5, 6), (8, 3, 3, 2), {"dilation": (1, 2), "padding": (1, 0, 0, 1)}),
        ((1, 8, 5), (8, 3, 4), {"strides": 2, "padding": 1}),
        ((1, 4, 3, 5, 4), (4, 3, 2, 2, 2), {"strides": 2}),
    ],
)
def test_transposed_convolutions(data: Any, weight: Any, attributes: Any) -> None:
    def body(x: Any) -> Any:
        y = named(f"nn.conv{len(weight) - 2}d_transpose")(x, const(floats(*weight)), **attributes)
        channels = weight[1] * attributes.get("groups", 1)
        return relax.add(y, const(floats(channels, *(1 for _ in weight[2:]))))

    assert "deconvolution" in agrees(built(body, data))


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("attributes", [{}, {"layout": "NHWC"}, {"padding": (1, 0, 0, 1)}, {"strides": (1, 2)}])
def test_pooling(kind: str, attributes: Any) -> None:
    attributes_given = {"pool_size": 3, "strides": 2, "padding": 1, **attributes}
    assert "pooling" in agrees(built(lambda x: named(f"nn.{kind}_pool2d")(x, **attributes_given), (1, 8, 10, 9)))


def test_pools_to_the_end() -> None:
    body = lambda x: relax.nn.max_pool2d(x, pool_size=3, strides=2, ceil_mode=True)  # noqa: E731
    assert agrees(built(body, (1, 4, 8, 10))) == ["pooling"]
    mean = lambda x: relax.nn.avg_pool2d(x, pool_size=2, strides=2, ceil_mode=True)  # noqa: E731
    assert agrees(built(mean, (1, 4, 8, 10))) == ["pooling"]


def test_means_that_count_padding() -> None:
    body = lambda x: relax.nn.avg_pool2d(x, pool_size=3, strides=2, padding=(1, 0, 2, 1), count_include_pad=True)  # noqa: E731
    assert agrees(built(body, (1, 8, 10, 9))) == ["pooling"]


@pytest.mark.parametrize("rank", [1, 3])
def test_pooling_of_other_ranks(rank: int) -> None:
    body = lambda x: named(f"nn.avg_pool{rank}d")(named(f"nn.max_pool{rank}d")(x, pool_size=2), pool_size=2, strides=2)  # noqa: E731
    kinds = agrees(built(body, (2, 4, 9, 7, 6)[: rank + 2]))
    assert [each for each in kinds if each != "shuffle"] == ["pooling", "pooling"]


@pytest.mark.parametrize(("size", "kind"), [(1, "reduce"), ((2, 3), "pooling"), ((8, 9), "pooling")])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_adaptive_pooling(size: Any, kind: str, layout: str) -> None:
    shape = (1, 4, 8, 9) if layout == "NCHW" else (1, 8, 9, 4)
    body = lambda x: relax.nn.adaptive_avg_pool2d(x, output_size=size, layout=layout)  # noqa: E731
    assert kind in agrees(built(body, shape))


# ---- elementwise functions ----

_NEAR_ZERO = ("atanh", "asin", "acos")
_POSITIVE = ("sqrt", "log", "rsqrt", "acosh")


@pytest.mark.parametrize(
    "name", [*elementwise.ACTIVATIONS, *elementwise.UNARY, "rsqrt", "square", "nn.silu", "nn.selu", "nn.leakyrelu"]
)
def test_functions_of_elements(name: str) -> None:
    data = floats(2, 5, 7, scale=2)
    if name in _NEAR_ZERO:
        data = numpy.tanh(data) * numpy.float32(0.9)
    if name in _POSITIVE:
        data = numpy.abs(data) + numpy.float32(1.01)
    agrees(built(named(name), (2, 5, 7)), [data])


def test_functions_with_numbers() -> None:
    def body(x: Any) -> Any:
        y = relax.nn.leakyrelu(relax.nn.softplus(x, beta=2.0), alpha=0.2)
        return relax.clip(relax.power(y, const(3.0)), 0.5, 4.0)

    agrees(built(body, (3, 4)))
    agrees(built(lambda x: relax.nn.prelu(x, const(floats(4)), axis=1), (2, 4, 3)))
    agrees(built(lambda x: relax.nn.prelu(x, const(floats(3)), axis=-1), (2, 4, 3)))


@pytest.mark.parametrize("other", [(2, 5, 7), (5, 1), (1,), (7,), (2, 1, 1), (3, 2, 5, 7)])
@pytest.mark.parametrize("name", [*elementwise.BINARY, "divide", "floor_divide"])
def test_two_tensors(name: str, other: Any) -> None:
    body = lambda x, y: (named(name)(x, y), named(name)(y, x))  # noqa: E731
    agrees(built(body, (2, 5, 7), other))


@pytest.mark.parametrize("name", [*elementwise.COMPARISONS, "not_equal"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_comparisons(name: str, dtype: str) -> None:
    one, other = (numpy.array(each, dtype) for each in ([[1, 2, 3], [4, 5, 6]], [[1, 3, 2]]))
    if dtype == "float32":
        one[0, 0] = numpy.nan
    inputs = rx.tensor((2, 3), dtype), rx.tensor((1, 3), dtype)
    agrees(built(lambda x, y: named(name)(x, y), *inputs), [one, other])


@pytest.mark.parametrize("name", elementwise.LOGICAL)
def test_conditions(name: str) -> None:
    def body(c: Any, d: Any, x: Any, y: Any) -> Any:
        return relax.where(relax.logical_not(named(name)(c, d)), x, y)

    inputs = rx.tensor((2, 1), "bool"), rx.tensor((2, 2), "bool"), rx.tensor((2,)), rx.tensor((3, 2, 2))
    conditions = numpy.array([[True], [False]]), numpy.array([[True, False], [True, False]])
    agrees(built(body, *inputs), [*conditions, floats(2), floats(3, 2, 2)])


@pytest.mark.parametrize("dtype", ["int64", "float16", "float32"])
def test_other_element_types(dtype: str) -> None:
    def body(x: Any) -> Any:
        y = relax.multiply(relax.add(x, x), relax.negative(x))
        return relax.astype(relax.max(y, axis=[1]), "float32")

    agrees(built(body, rx.tensor((3, 4), dtype)), tolerance=2e-3)


# ---- products, norms, reductions ----


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, 7), (7, 4)),
        ((5, 12), (12,)),
        ((12,), (12,)),
        ((12,), (3, 12, 4)),
        ((3, 4, 12), (12,)),
        ((2, 3, 5, 7), (3, 7, 4)),
        ((5, 7), (3, 7, 4)),
        ((2, 1, 5, 7), (1, 3, 7, 4)),
    ],
)
def test_matrices(one: Any, other: Any) -> None:
    assert [each for each in agrees(built(relax.matmul, one, other)) if each != "shuffle"] == ["matrix_multiply"]


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_norms(center: bool, scale: bool) -> None:
    options: Any = {"center": center, "scale": scale, "epsilon": 1e-2}
    channels: Any = {"channel_axis": 1, "axes": [2, 3], **options}
    affine: Any = lambda: (const(floats(8)), const(floats(8, seed=4)))  # noqa: E731
    more = ["shuffle", "elementwise"] * (center + scale)

    def layer(x: Any) -> Any:
        return relax.nn.layer_norm(x, *affine(), axes=[-1], **options)

    assert agrees(built(layer, (2, 5, 8))) == ["normalization", *more]
    group = lambda x: relax.nn.group_norm(x, *affine(), num_groups=4, **channels)  # noqa: E731
    instance = lambda x: relax.nn.instance_norm(x, *affine(), **channels)  # noqa: E731
    for body in (group, instance):
        assert agrees(built(body, (2, 8, 5, 6))) == ["shuffle", "normalization", "shuffle", *more]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((2, 8, 5, 5), 1), ((2, 5, 5, 8), 3), ((3, 8), 1)])
@pytest.mark.parametrize("known", [False, True])
def test_batch_norm(shape: Any, axis: int, scale: bool, known: bool) -> None:
    values = [floats(8), floats(8, seed=4), floats(8, seed=5), numpy.abs(floats(8, seed=6))]

    def body(x: Any, *given: Any) -> Any:
        parameters = given or [const(each) for each in values]
        options: Any = {"axis": axis, "training": False, "scale": scale, "center": not scale, "epsilon": 1e-3}
        return relax.nn.batch_norm(x, *parameters, **options)[0]

    passed = [] if known else values
    kinds = agrees(built(body, shape, *((8,) for _ in passed)), [floats(*shape), *passed])
    assert ("scale" in kinds) == (known and axis == 1 and len(shape) == 4)


def test_a_norm_over_several_axes() -> None:
    body = lambda x: relax.nn.layer_norm(x, const(floats(5, 8)), const(floats(5, 8, seed=4)), axes=[1, 2])  # noqa: E731
    agrees(built(body, (3, 5, 8)))
    agrees(built(lambda x: relax.nn.rms_norm(x, const(floats(5, 8)), axes=[1, 2], epsilon=1e-2), (3, 5, 8)))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, axis: int) -> None:
    data = floats(3, 4, 5, scale=40)
    agrees(built(lambda x: named(f"nn.{name}")(x, axis=axis), (3, 4, 5)), [data])


@pytest.mark.parametrize("options", [{}, {"axis": [1]}, {"axis": [0, -1], "keepdims": True}])
@pytest.mark.parametrize("name", [*REDUCTIONS, "mean"])
def test_reductions(name: str, options: Any) -> None:
    assert agrees(built(lambda x: named(name)(x, **options), (2, 5, 7))) == ["reduce"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_the_largest(name: str, keepdims: bool) -> None:
    agrees(built(lambda x: named(name)(x, axis=1, keepdims=keepdims), (2, 5, 7)))


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
@pytest.mark.parametrize("largest", [True, False])
def test_the_largest(ret_type: Any, largest: bool) -> None:
    def body(x: Any) -> Any:
        return relax.topk(x, k=3, axis=1, ret_type=ret_type, largest=largest, dtype="int64")

    assert "topk" in agrees(built(body, (2, 6, 3)))


# ---- data movement ----


def test_views() -> None:
    def body(x: Any) -> Any:
        y = relax.squeeze(relax.expand_dims(relax.nn.relu(x), axis=[1]), axis=[1])
        return relax.flatten(relax.permute_dims(y)), relax.reshape(y, (2, -1)), relax.nn.batch_flatten(y)

    agrees(built(body, (4, 3, 2)))


def test_parts_and_wholes() -> None:
    def body(x: Any, y: Any) -> Any:
        first, second, third = relax.split(relax.concat([x, y], axis=-1), [2, 3], axis=-1)
        cut = relax.strided_slice(x, axes=[0, -1], begin=[-3, 3], end=[100, 0], strides=[2, -1])
        return relax.add(first, third), second, cut, relax.broadcast_to(second, (2, 5, 4))

    agrees(built(body, (5, 4), (5, 1)))


def test_padding() -> None:
    body = lambda x: relax.nn.pad(x, (0, 0, 1, 2, 3, 0), pad_value=1.5)  # noqa: E731
    assert agrees(built(body, (2, 3, 4))) == ["slice"]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("axis", [0, -1])
def test_gathering(axis: int, dtype: str) -> None:
    body = lambda x, i: relax.take(x, i, axis=axis)  # noqa: E731
    indices = numpy.array([[0, 2], [1, 3]], dtype)
    assert agrees(built(body, (4, 3, 5), rx.tensor((2, 2), dtype)), [floats(4, 3, 5), indices]) == ["gather"]


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize(
    ("method", "rounding"), [("linear", "round"), ("nearest_neighbor", "floor"), ("nearest_neighbor", "ceil"),
                             ("nearest_neighbor", "round_prefer_floor"), ("nearest_neighbor", "round_prefer_ceil")]
)  # fmt: skip
def test_images(method: Any, rounding: Any, mode: Any) -> None:
    options: Any = {"method": method, "rounding_method": rounding, "coordinate_transformation_mode": mode}
    for size in ((10, 9), (4, 5)):
        agrees(built(lambda x, size=size: relax.image.resize2d(x, size=size, **options), (1, 2, 5, 7)))


# ---- symbols ----


def test_sizes_that_are_computed_when_it_runs() -> None:
    def body(x: Any) -> Any:
        y = relax.reshape(x, ("n", "m", 2, 2))
        z = relax.broadcast_to(relax.nn.softmax(y), (3, "n", "m", 2, 2))
        return relax.reshape(y, (-1, 4)), z, relax.add(x, const(floats(4)))

    module = built(body, ("n", "m", 4))
    agrees(module, sizes={"n": 3, "m": 5})
    agrees(module, sizes={"n": 1, "m": 1})


def test_images_of_any_number() -> None:
    def body(x: Any) -> Any:
        y = relax.nn.relu(relax.add(conv(x, 6, 4, 3, padding=1), const(floats(6, 1))))
        return relax.reshape(relax.nn.group_norm(y, const(floats(6)), const(floats(6)), 2, 1, [2]), ("n", 60))

    agrees(built(body, ("n", 4, 10)), sizes={"n": 3})


def test_sizes_that_are_made_on_the_way() -> None:
    def body(x: Any) -> Any:
        return relax.nn.max_pool1d(conv(x, 6, 4, 3), pool_size=2, strides=2)

    agrees(built(body, ("n", 4, "m")), sizes={"n": 2, "m": 9})


# ---- whole blocks ----


def test_a_residual_block_is_one_network() -> None:
    assert agrees(blocks.resnet()).count("convolution") == 2
    assert len(recorded(blocks.resnet())[1]) == 1


@pytest.mark.parametrize(("block", "length", "products"), [(blocks.transformer, "n", 8), (blocks.llama, 6, 9)])
def test_blocks_of_transformers_are_one_network(block: Any, length: Any, products: int) -> None:
    assert agrees(block(width=8, length=length)).count("matrix_multiply") == products
    assert len(recorded(block(width=8, length=length))[1]) == 1


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(blocks.images())
def test_random_images(module: rx.Module) -> None:
    agrees(module, tolerance=1e-4)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(blocks.sequences())
def test_random_sequences(module: rx.Module) -> None:
    agrees(module, tolerance=1e-4)


def test_equal_outputs_are_separate_tensors() -> None:
    """Expect a separate tensor for each output, also if two outputs are equal."""

    def body(x: Any) -> Any:
        y = relax.nn.relu(x)
        return y, relax.exp(y), y

    (network,) = recorded(built(body, (3, 4)))[1].values()
    assert len({tensor.name for tensor in network.outputs}) == len(network.outputs)
    agrees(built(body, (3, 4)))
