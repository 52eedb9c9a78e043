# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusals of operators that onnxruntime's kernels lack or define differently. They stay with the target."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from compiling import floats, module_with
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_in
from relax_mlir_onnxruntime.checks import DEVIATIONS, why_not_run

IMAGE, OPEN = (1, 4, 6, 6), (1, 4, "h", "w")
EMPTY = "these sizes allow images without elements"


def reasons(body: Any, *shapes: Any) -> str:
    module = module_with([rx.tensor(each) for each in shapes], body)
    operations = (op for op in operations_in(module.operation) if op.name.startswith("relax."))
    return " ".join(why_not_run(op) for op in operations if op.name != "relax.shape_expr")


def pool(kind: str, **attributes: Any) -> Any:
    return lambda x: getattr(relax.nn, f"{kind}_pool2d")(x, pool_size=3, strides=2, **attributes)


def normal(x: Any) -> Any:
    parameters = relax.const(floats(4)), relax.const(floats(4))
    return relax.nn.instance_norm(x, *parameters, channel_axis=1, axes=[2, 3])


def padded(mode: str, width: int) -> Any:
    return lambda x: relax.nn.pad(x, pad_width=[0, 0, 0, 0, 0, 0, width, 0], pad_mode=mode)


@pytest.mark.parametrize(
    ("body", "shapes", "why"),
    [
        (relax.exp, [(2, 0)], "the result has no elements"),
        (pool("max", padding=1, ceil_mode=True), [OPEN], EMPTY),
        (pool("avg", padding=2), [OPEN], EMPTY),
        (lambda x: relax.image.resize2d(x, (3, 3)), [OPEN], EMPTY),
        (lambda x, y: relax.vision.roi_align(x, y, pooled_size=2, spatial_scale=1.0), [OPEN, (3, 5)], EMPTY),
        (padded("reflect", 1), [OPEN], "allow tensors without elements"),
        (padded("reflect", 6), [IMAGE], "reflects at most 5 of 6 elements, not 6"),
        (padded("circular", 1), [OPEN], "allow tensors without elements"),
        (lambda x: relax.take(x, relax.const(numpy.int64([0])), axis=0, mode="nan"), [("n", 2)], "cannot gather"),
        (normal, [OPEN], "a rounding error instead of 0"),
        (normal, [(2, 4, 1, 1)], "a rounding error instead of 0"),
        (lambda x: relax.prod(relax.astype(x, "int32")), [(3, 2)], "products of i32 in floats"),
        (lambda x: relax.cumprod(relax.astype(x, "int8"), axis=0), [(3, 2)], "products of i8 in floats"),
        (lambda x: relax.median(x, axis=[0])[0], [(3, 2)], "another index among equal elements"),
    ],
)
def test_operators_with_other_results_stay_on_the_target(body: Any, shapes: Any, why: str) -> None:
    assert why in reasons(body, *shapes)


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        (pool("max", padding=1), [OPEN]),
        (pool("max", ceil_mode=True), [OPEN]),
        (pool("avg", padding=2, ceil_mode=True), [IMAGE]),
        (lambda x: relax.image.resize2d(x, ("h*2", "w*2")), [OPEN]),
        (lambda x, y: relax.vision.roi_align(x, y, pooled_size=2, spatial_scale=1.0), [IMAGE, ("n", 5)]),
        (padded("reflect", 5), [IMAGE]),
        (padded("constant", 9), [OPEN]),
        (lambda x: relax.take(x, relax.const(numpy.int64([0])), axis=0, mode="clip"), [("n", 2)]),
        (normal, [IMAGE]),
        (relax.prod, [(3, 2)]),
    ],
)
def test_operators_with_equal_results_are_partitioned(body: Any, shapes: Any) -> None:
    assert reasons(body, *shapes).strip() == ""


def test_deviations_are_those_of_operators_that_it_takes() -> None:
    taken = {name for row in rx.codegens.find_codegen("onnxruntime").composites() for name in row.heads}
    assert taken >= DEVIATIONS.keys()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int32", "int64"])
def test_sums_that_are_too_large_are_cut_off(dtype: str) -> None:
    data = numpy.full((2, 19), 100, dtype)
    body = lambda x: (relax.sum(x, axis=[1]), relax.cumsum(x, axis=1))  # noqa: E731
    module = module_with([rx.tensor(data.shape, dtype)], body)
    program = rx.compile(module, partition=["onnxruntime"])
    assert "by onnxruntime" in repr(program)
    wanted = numpy.sum(data, axis=1, dtype=dtype), numpy.cumsum(data, axis=1, dtype=dtype)
    for found, right in zip(program["main"](data), wanted, strict=True):
        numpy.testing.assert_array_equal(rx.runtime.to_numpy(found), right)


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_the_epsilon_of_doubles_is_a_double(name: str) -> None:
    def body(x: Any) -> Any:
        ones, zeros = relax.const(numpy.ones(4)), relax.const(numpy.zeros(4))
        if name == "batch_norm":
            return relax.nn.batch_norm(x, ones, zeros, zeros, zeros, axis=1, training=False, epsilon=1e-5)[0]
        if name == "layer_norm":
            return relax.nn.layer_norm(x, ones, zeros, axes=[-1], epsilon=1e-5)
        return relax.nn.group_norm(x, ones, zeros, num_groups=2, channel_axis=1, axes=[2], epsilon=1e-5)

    data = 1e-3 * numpy.random.default_rng(0).normal(size=(2, 4, 4))
    module = module_with([rx.tensor(data.shape, "float64")], body)
    program = rx.compile(module, partition=["onnxruntime"])
    assert "by onnxruntime" in repr(program)
    numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](data)), rx.reference(module)["main"](data), 1e-12)
