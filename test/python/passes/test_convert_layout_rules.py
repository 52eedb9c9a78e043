# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of relax-convert-layout: each operator follows a convolution, and keeps its results.

The operators are those of Apache TVM's ConvertLayout (src/relax/op/**: FRelaxInferLayout), and more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy
import pytest
from before_after import keeps_results, op_names
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.passes.graph.layout.registry import find_layout_rule
from relax_mlir.passes.graph.layout.rules.shapes import by_position
from relax_mlir.passes.graph.relax_convert_layout import ConvertLayout

import relax_mlir as rx
from relax_mlir import relax

NHWC = ConvertLayout({"relax.nn.conv2d": ("NHWC", "OHWI")})
BLOCKED = ConvertLayout({"relax.nn.conv2d": "NCHW2c:OIHW2i2o"})
Case = Callable[[Any], Any]


def weights(*shape: int, seed: int = 0) -> Any:
    return relax.const(numpy.random.default_rng(seed).uniform(0.1, 1, shape).astype("float32"))


def integers(x: Any) -> Any:
    return relax.astype(relax.multiply(x, relax.const(4.0)), dtype="int32")


def truths(x: Any) -> Any:
    return relax.greater(x, relax.const(0.5))


def unary(name: str, of: Case = lambda x: x) -> Case:
    return lambda x: rx.find_op(name)(of(x))


def binary(name: str, of: Case = lambda x: x) -> Case:
    return lambda x: rx.find_op(name)(of(x), of(relax.nn.relu(x)))


def along(name: str, **attributes: Any) -> Case:
    return lambda x: rx.find_op(name)(x, **attributes)


FLOATS = "abs negative sign square ceil floor round trunc cos cosh sin sinh tan tanh exp erf sigmoid"
OTHERS = (
    "isfinite isinf isnan ones_like zeros_like nn.relu nn.gelu nn.gelu_tanh nn.selu nn.silu nn.leakyrelu nn.softplus"
)
MARKS = "grad.no_grad grad.start_checkpoint grad.end_checkpoint"
POSITIVE = "log sqrt rsqrt acos asin atan asinh atanh"
ARITHMETIC = "add subtract multiply divide power maximum minimum atan2 log_add_exp floor_divide mod floor_mod"
COMPARED = "equal not_equal less less_equal greater greater_equal"
REDUCED = "sum prod max min mean std variance"
OF_INTEGERS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"


def indices(x: Any) -> Any:
    """Return indices of the shape of x, within its channels."""
    return relax.astype(relax.multiply(relax.minimum(relax.abs(x), relax.const(0.9)), relax.const(4.0)), dtype="int64")


def images(x: Any) -> Any:
    boxes = relax.const(numpy.array([[0, 0, 0, 4, 4], [1, 1, 1, 5, 3]], "float32"))
    return relax.vision.roi_align(x, boxes, pooled_size=(2, 2), spatial_scale=1.0, sample_ratio=2)


CASES: dict[str, list[Case]] = {
    **{f"relax.{name}": [unary(f"relax.{name}")] for name in f"{FLOATS} {OTHERS} {MARKS}".split()},
    **{f"relax.{name}": [unary(f"relax.{name}", lambda x: relax.abs(x))] for name in POSITIVE.split()},
    "relax.acosh": [unary("relax.acosh", lambda x: relax.add(relax.abs(x), relax.const(1.0)))],
    **{f"relax.{name}": [binary(f"relax.{name}")] for name in f"{ARITHMETIC} {COMPARED}".split()},
    **{f"relax.{name}": [binary(f"relax.{name}", integers)] for name in OF_INTEGERS.split()},
    **{f"relax.logical_{name}": [binary(f"relax.logical_{name}", truths)] for name in ("and", "or", "xor")},
    "relax.logical_not": [unary("relax.logical_not", truths)],
    "relax.bitwise_not": [unary("relax.bitwise_not", integers)],
    "relax.ewise_fma": [lambda x: relax.ewise_fma(x, relax.nn.relu(x), relax.exp(x))],
    "relax.astype": [along("relax.astype", dtype="float16")],
    "relax.bitcast": [along("relax.bitcast", dtype="int32")],
    "relax.full_like": [lambda x: relax.full_like(x, relax.const(2.0))],
    "relax.clip": [lambda x: relax.clip(x, 0, 1)],
    "relax.where": [
        lambda x: relax.where(truths(x), x, relax.const(0.0)),
        lambda x: relax.where(truths(x), weights(4, 1, 1), x),
        lambda x: relax.where(relax.const(numpy.arange(6) % 2 == 0), x, weights(2, 1, 6, 1)),
    ],
    "relax.nn.dropout": [lambda x: relax.nn.dropout(x, rate=0.5)],
    "relax.nn.prelu": [
        lambda x: relax.nn.prelu(x, weights(4), axis=1),
        lambda x: relax.nn.prelu(x, weights(6), axis=-1),
    ],
    # Along an axis.
    "relax.nn.softmax": [along("relax.nn.softmax", axis=axis) for axis in (1, -1)],
    "relax.nn.log_softmax": [along("relax.nn.log_softmax", axis=2)],
    "relax.sort": [along("relax.sort", axis=1)],
    "relax.argsort": [along("relax.argsort", axis=2)],
    "relax.topk": [along("relax.topk", k=2, axis=1)],
    "relax.flip": [along("relax.flip", axis=axis) for axis in (1, 2)],
    "relax.repeat": [along("relax.repeat", repeats=2, axis=axis) for axis in (1, -1)],
    "relax.cumsum": [along("relax.cumsum", axis=1)],
    "relax.cumprod": [along("relax.cumprod", axis=3)],
    "relax.reverse_sequence": [
        lambda x: relax.reverse_sequence(x, relax.const(numpy.array([2, 4])), seq_axis=2, batch_axis=0)
    ],
    "relax.gather_elements": [lambda x: relax.gather_elements(x, indices(x), axis=1)],
    "relax.scatter_elements": [lambda x: relax.scatter_elements(x, indices(x), relax.exp(x), axis=2, reduction="add")],
    "relax.scatter_nd": [
        lambda x: relax.scatter_nd(x, relax.const(numpy.array([[1], [0]])), relax.exp(x)),
        lambda x: relax.scatter_nd(x, relax.const(numpy.array([[1]])), weights(1, 4, 6, 6), reduction="mul"),
    ],
    "relax.quantize": [
        lambda x: relax.quantize(x, weights(4), relax.const(numpy.zeros(4, "int8")), axis=1, out_dtype="int8"),
        lambda x: relax.quantize(x, weights(), relax.const(numpy.int8(3)), axis=1, out_dtype="int8"),
    ],
    "relax.dequantize": [
        lambda x: relax.dequantize(
            relax.astype(x, dtype="int8"), weights(6), relax.const(numpy.zeros(6, "int8")), axis=2
        )
    ],
    "relax.requantize": [
        lambda x: relax.requantize(
            relax.astype(relax.multiply(x, relax.const(numpy.float32(1000))), dtype="int32"),
            relax.const(numpy.array([1 << 29, 1 << 30, 3 << 28, 5 << 27], "int32")),
            relax.const(numpy.array([2, 3, 4, 5], "int32")),
            relax.const(numpy.array([0, 1, -1, 2], "int8")),
            axis=1,
            form="q31",
            rounding="half_up",
        )
    ],
    # Reductions over channels, over space and over everything, with a use of the result.
    **{
        f"relax.{name}": [
            along(f"relax.{name}", axis=[2, 3], keepdims=True),
            along(f"relax.{name}", axis=[1], keepdims=True),
            along(f"relax.{name}", axis=[0, -1]),
            along(f"relax.{name}"),
            along(f"relax.{name}", keepdims=True),
            lambda x, name=name: relax.subtract(x, rx.find_op(f"relax.{name}")(x, axis=[1], keepdims=True)),
            lambda x, name=name: relax.exp(rx.find_op(f"relax.{name}")(x, axis=[2])),
        ]
        for name in REDUCED.split()
    },
    **{
        f"relax.{name}": [along(f"relax.{name}", axis=1), along(f"relax.{name}", axis=-1, keepdims=True)]
        for name in ("argmax", "argmin")
    },
    # Norms.
    "relax.nn.batch_norm": [
        lambda x, training=training: relax.nn.batch_norm(x, *map(weights, [4] * 4), axis=1, training=training)
        for training in (False, True)
    ],
    "relax.nn.layer_norm": [
        lambda x: relax.nn.layer_norm(x, weights(4, 6, 6), weights(4, 6, 6, seed=1), axes=[1, 2, 3]),
        lambda x: relax.nn.layer_norm(x, weights(6, 4), weights(6, 4, seed=1), axes=[-1, 1]),
    ],
    "relax.nn.rms_norm": [lambda x: relax.nn.rms_norm(x, weights(4, 6), axes=[1, 2])],
    "relax.nn.group_norm": [
        lambda x: relax.nn.group_norm(x, weights(4), weights(4, seed=1), num_groups=2, channel_axis=1, axes=[2, 3])
    ],
    "relax.nn.instance_norm": [
        lambda x: relax.nn.instance_norm(x, weights(4), weights(4, seed=1), channel_axis=1, axes=[2, 3])
    ],
    # Windows and images; one and three dimensions come below.
    "relax.nn.conv2d": [lambda x: relax.nn.conv2d(x, weights(6, 2, 3, 3), groups=2, strides=(2, 1))],
    "relax.nn.conv2d_transpose": [lambda x: relax.nn.conv2d_transpose(x, weights(4, 2, 3, 3), strides=(2, 2))],
    **{
        f"relax.nn.{kind}_pool2d": [
            lambda x, kind=kind: rx.find_op(f"relax.nn.{kind}_pool2d")(x, (3, 2), strides=(2, 1), padding=(1, 1))
        ]
        for kind in ("max", "avg")
    },
    "relax.nn.adaptive_avg_pool2d": [
        along("relax.nn.adaptive_avg_pool2d", output_size=size) for size in ((1, 1), (3, 4))
    ],
    "relax.image.resize2d": [
        lambda x: relax.image.resize2d(x, (9, 4)),
        lambda x: relax.image.resize2d(x, (12, 12), method="nearest_neighbor", rounding_method="floor"),
    ],
    "relax.image.grid_sample": [lambda x: relax.image.grid_sample(x, weights(2, 2, 3, 3))],
    "relax.vision.roi_align": [images],
    "relax.vision.roi_pool": [
        lambda x: relax.vision.roi_pool(
            x, relax.const(numpy.array([[1, 0, 0, 4, 4]], "float32")), pooled_size=(2, 2), spatial_scale=1.0
        )
    ],
    # Parts, joined, and more around.
    "relax.concat": [lambda x, axis=axis: relax.concat([x, relax.nn.relu(x)], axis=axis) for axis in (1, -2)],
    "relax.split": [
        along("relax.split", indices_or_sections=2, axis=1),
        along("relax.split", indices_or_sections=[2], axis=1),
        along("relax.split", indices_or_sections=[1, 4], axis=-1),
    ],
    "relax.stack": [lambda x, axis=axis: relax.stack([x, relax.nn.relu(x)], axis=axis) for axis in (0, 2, -1)],
    "relax.tile": [along("relax.tile", repeats=repeats) for repeats in ([3, 1, 2], [2], [2, 3, 1, 1])],
    "relax.nn.pad": [
        along("relax.nn.pad", pad_width=[0, 0, 0, 0, 1, 2, 3, 0], pad_value=2.0),
        along("relax.nn.pad", pad_width=[0, 1, 2, 0, 0, 0, 0, 0], pad_mode="replicate"),
    ],
    "relax.strided_slice": [
        along("relax.strided_slice", axes=[2, -1], begin=[1, 5], end=[6, 0], strides=[2, -1]),
        along("relax.strided_slice", axes=[1], begin=[1], end=[3]),
    ],
    "relax.dynamic_strided_slice": [
        lambda x: relax.dynamic_strided_slice(
            x, *(relax.const(numpy.array(each)) for each in ([0, 1, 0, 2], [2, 3, 6, 6], [1, 1, 2, 3]))
        )
    ],
    # Other dimensions.
    "relax.expand_dims": [
        lambda x, axis=axis: relax.exp(relax.expand_dims(x, axis=axis)) for axis in ([0], [-1], [2, 4], [])
    ],
    "relax.squeeze": [
        lambda x: relax.exp(relax.squeeze(relax.mean(x, axis=[1], keepdims=True), axis=[1])),
        lambda x: relax.exp(relax.squeeze(relax.max(x, axis=[2, 3], keepdims=True))),
    ],
    "relax.broadcast_to": [
        lambda x: relax.broadcast_to(relax.mean(x, axis=[1], keepdims=True), (2, 4, 6, 6)),
        lambda x: relax.add(relax.broadcast_to(relax.mean(x, axis=[0, 1]), (2, 4, 6, 6)), x),
    ],
    "relax.match_cast": [lambda x: relax.exp(relax.match_cast(x, ty=rx.tensor((2, "c", "h", 6))))],
    # Operators that change the layout themselves.
    "relax.permute_dims": [
        along("relax.permute_dims", axes=[0, 2, 3, 1]),
        along("relax.permute_dims"),
        lambda x: relax.exp(relax.permute_dims(relax.nn.relu(x), axes=[-1, 1, 0, 2])),
    ],
    "relax.layout_transform": [
        along("relax.layout_transform", index_map=lambda n, c, h, w: (n, c // 2, h, w, c % 2)),
        along("relax.layout_transform", index_map=lambda n, c, h, w: (n * 4 + c, h, w)),
        along("relax.layout_transform", index_map=lambda n, c, h, w: (n, c // 4, h, w, c % 4), pad_value=1.0),
    ],
    # These depend on where elements are.
    "relax.tril": [lambda x: relax.tril(x, 1)],
    "relax.triu": [lambda x: relax.triu(x, -1)],
    "relax.meshgrid": [lambda x: relax.meshgrid([relax.max(x, axis=[0, 1, 2]), relax.max(x, axis=[1, 2, 3])])],
}


#: Operators over one and three dimensions: all except convolutions that have a layout attribute there.
IN_SPACE: dict[str, Case] = {
    "relax.nn.conv{}d": lambda x: space("relax.nn.conv{}d", x)(x, weights(6, 2, *cube(x, 3)), groups=2),
    "relax.nn.conv{}d_transpose": lambda x: space("relax.nn.conv{}d_transpose", x)(x, weights(4, 3, *cube(x, 2))),
    "relax.nn.max_pool{}d": lambda x: space("relax.nn.max_pool{}d", x)(x, cube(x, 2), strides=cube(x, 2)),
    "relax.nn.avg_pool{}d": lambda x: space("relax.nn.avg_pool{}d", x)(
        x, cube(x, 3), ceil_mode=True, strides=cube(x, 2)
    ),
    "relax.nn.adaptive_avg_pool{}d": lambda x: space("relax.nn.adaptive_avg_pool{}d", x)(x, cube(x, 2)),
    "relax.image.resize3d": lambda x: relax.image.resize3d(x, (4, 7, 3)),
}


def space(name: str, x: Any) -> Any:
    return rx.find_op(name.format(len(x.type.shape) - 2))


def cube(x: Any, size: int) -> tuple[int, ...]:
    return (size,) * (len(x.type.shape) - 2)


def behind_convolution(case: Case, spatial: int = 2) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 4) + (6,) * spatial)}) as f:
        (x,) = f
        kernel = weights(4, 4, *(3,) * spatial)
        made = case(rx.find_op(f"relax.nn.conv{spatial}d")(x, kernel, padding=(1,) * spatial))
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def last(module: rx.Module, name: str) -> Any:
    return [op for op in operations_in(module.operation) if op.name == name][-1]


def bytes_of(values: Any) -> int:
    types = [value.type for value in values]
    return sum(prod(type_.shape) * max(type_.element_type.width, 8) // 8 for type_ in types)


def every_case(names: Iterable[str] = CASES) -> list[Any]:
    cases = [(name, case) for name in names for case in CASES[name]]
    return [pytest.param(*each, id=f"{each[0]}-{index}") for index, each in enumerate(cases)]


@pytest.mark.parametrize(("name", "case"), every_case())
def test_follows_and_keeps_results(name: str, case: Case) -> None:
    module = behind_convolution(case)
    after = keeps_results(module, NHWC)
    assert last(after, "relax.nn.conv2d").attributes["data_layout"].value == "NHWC"
    # Some operators do not follow: an operator with a larger result than operand comes after the conversion.
    before, rule = last(module, name), find_layout_rule(rx.find_op(name))
    is_larger = bytes_of(before.results) > bytes_of(before.operands[:1])
    has_one = name == "relax.vision.roi_pool"  # which knows one layout only
    is_fixed = rule is None or rule.moves or rule.function is by_position or has_one
    if not is_fixed and not is_larger and list(before.operands[0].type.shape) == [2, 4, 6, 6]:
        assert list(last(after, name).operands[0].type.shape) == [2, 6, 6, 4]


def in_short(case: Case) -> Case:
    """Reduce the results along two of their axes."""

    def reduced(x: Any) -> Any:
        made = case(x)
        results = made if isinstance(made, tuple) else (made,)
        return tuple(relax.max(each, axis=[axis]) for each in results if len(each.type.shape) > 1 for axis in (1, -1))

    return reduced


GROWING = "argsort broadcast_to concat expand_dims image.resize2d nn.pad repeat stack tile topk nn.dropout".split()


@pytest.mark.parametrize(("name", "case"), every_case([f"relax.{name}" for name in GROWING]))
def test_what_grows_follows_into_something_small(name: str, case: Case) -> None:
    module = behind_convolution(in_short(case))
    after = keeps_results(module, NHWC)
    if list(last(module, name).operands[0].type.shape) == [2, 4, 6, 6]:
        assert list(last(after, name).operands[0].type.shape) == [2, 6, 6, 4]
    keeps_results(module, BLOCKED)


@pytest.mark.parametrize(("name", "case"), every_case())
def test_keeps_results_in_blocks(name: str, case: Case) -> None:
    after = keeps_results(behind_convolution(case), BLOCKED)
    assert "relax.layout_transform" in op_names(after)


#: Names and numbers of dimensions.
SPACES = [(name, spatial) for name in IN_SPACE for spatial in (1, 3) if str(spatial) in name.format(spatial)]


@pytest.mark.parametrize(("name", "spatial"), SPACES)
def test_lines_and_volumes(name: str, spatial: int) -> None:
    module = behind_convolution(IN_SPACE[name], spatial)
    letters = "DHW"[-spatial:]
    for data, kernel in ((f"N{letters}C", f"O{letters}I"), (f"NC{letters}2c", f"OI{letters}2i2o")):
        after = keeps_results(module, ConvertLayout({f"relax.nn.conv{spatial}d": (data, kernel)}))
        assert last(after, f"relax.nn.conv{spatial}d").operands[0].type.shape[-1] == (4 if data[-1] == "C" else 2)


def test_every_operator_with_a_rule_has_a_case() -> None:
    covered = {*CASES, *(name.format(spatial) for name, spatial in SPACES)}
    ruled = {row.full_name for row in all_ops() if row.dialect.name == "relax" and find_layout_rule(row) is not None}
    assert ruled == covered
