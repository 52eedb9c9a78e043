# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in another layout than the chip's: a recipe or an option states the layout, and nodes keep their names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from partitioning import Native, codegen
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Float, Op, Share

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"


def layer(product: Any) -> Any:
    sums = product(wildcard().named("x"), is_const().named("w")).named("product")
    biased = sums.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    return biased.optional(lambda y: is_op("relax.nn.relu")(y))


def is_of_one_shape(match: Any) -> bool | str:
    return match["a"].type.shape == match["b"].type.shape or "the chip adds tensors of one shape"


ROWS: list[Any] = [
    ("npu.conv", layer(is_op("relax.nn.conv2d").has_attr(data_layout="NHWC", kernel_layout="HWIO"))),
    ("npu.pool", is_op("relax.nn.avg_pool2d").has_attr(layout="NHWC")(wildcard().named("x"))),
    ("npu.linear", layer(is_op("relax.matmul"))),
    ("npu.add", is_op("relax.add")(wildcard().named("a"), wildcard().named("b")), is_of_one_shape),
]
WEIGHTS = {"x": "u8", "w": "i8@channel symmetric", "bias": "i32 derived"}
ENTRIES = [
    Op("npu.conv", **WEIGHTS),
    Op("npu.pool", x="u8"),
    Op("npu.linear", **WEIGHTS),
    Op("npu.add", a="u8", b="u8"),
    Share("relax.nn.max_pool2d"),
    Float("relax.nn.softmax"),
]


@pytest.fixture(scope="module")
def digits() -> rx.Module:
    return rx.from_onnx(DIGITS / "digits.onnx")


@pytest.fixture(scope="module")
def pictures() -> Any:
    return (numpy.load(DIGITS / "digits.npz")["pictures"][:24, None] / 16).astype("float32")


@pytest.fixture
def npu(request: pytest.FixtureRequest) -> Iterator[str]:
    """Register a chip that takes NHWC. Its recipe states the layout of the test's parameter."""
    with codegen(ROWS, base=Native, recipe=rx.Recipe(*ENTRIES, layout=request.param)) as name:
        yield name


@pytest.mark.parametrize(("npu", "layout"), [("NHWC:HWIO", None), ("", "NHWC:HWIO")], indirect=["npu"])
def test_digits_on_a_chip_of_another_layout(npu: str, layout: str | None, digits: rx.Module, pictures: Any) -> None:
    quantized = rx.quantize(digits, {"pictures": pictures}, for_=npu, layout=layout)
    found = {row.node: row.pattern for row in quantized.report.rows}
    relus = dict.fromkeys(("/2/Relu", "/5/Relu", "/9/Relu"), "npu.conv")
    assert found == {**relus, "/10/AveragePool": "npu.pool", "/13/Gemm": "npu.linear"}
    assert list(quantized.report.kept) == ["/14/Softmax"]
    program = rx.compile(quantized.module, partition=npu, strict_partition=True)
    expected = rx.reference(quantized.module)["main"](pictures)
    assert abs(program["main"](pictures) - expected).max() < 0.02
    assert (expected.argmax(1) == rx.reference(digits)["main"](pictures).argmax(1)).all()


@pytest.mark.parametrize("npu", ["", "NHWC:HWIO"], indirect=True)
def test_the_reason_names_the_pattern_of_the_operator(npu: str, digits: rx.Module, pictures: Any) -> None:
    report = rx.quantize(digits, {"pictures": pictures[:8]}, for_=npu, layout="").report
    assert [row.pattern for row in report.rows] == ["npu.linear"]
    assert report.why("/3/Conv").startswith("'npu.conv': relax.nn.conv2d has data_layout=NCHW; pattern: ")
    assert report.operators["/3/Conv"] == "relax.nn.conv2d"
    assert report.why("/10/AveragePool").startswith("'npu.pool': relax.nn.avg_pool2d has layout=NCHW; pattern: ")


@pytest.mark.parametrize(
    ("layout", "data", "kernel"), [("NHWC", "NHWC", "OIHW"), ("NHWC:OHWI", "NHWC", "OHWI"), ("NWC:WIO", "NCHW", "OIHW")]
)
def test_layouts_of_data_and_kernels(layout: str, data: str, kernel: str) -> None:
    """A layout is for the operators with its dimensions."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 3, 8, 8))}) as f:
        (x,) = f
        y = relax.nn.conv2d(x, relax.const(numpy.ones((4, 3, 3, 3), "float32")))
        f.returns(relax.nn.max_pool2d(y, pool_size=(2, 2)))
    conv = is_op("relax.nn.conv2d")(wildcard().named("x"), is_const().named("w"))
    recipe = rx.Recipe(Op("conv", pattern=conv, x="i8", w="i8"), layout=layout)
    samples = {"x": numpy.random.default_rng(0).normal(size=(8, 3, 8, 8)).astype("float32")}
    quantized = rx.quantize(module, samples, recipe).module
    (found,) = operations_named(quantized.operation, "relax.nn.conv2d")
    (pool,) = operations_named(quantized.operation, "relax.nn.max_pool2d")
    assert (found.opview.data_layout, found.opview.kernel_layout, pool.opview.layout) == (data, kernel, data)


@pytest.mark.parametrize("layout", ["NHW", "NHWC:", "NHWC:OI", "NNWC", 3, None])
def test_layouts_of_recipes_are_checked(layout: Any) -> None:
    with pytest.raises(rx.RelaxError, match=r"a recipe: layout=.*: expected the layout of data, such as 'NHWC', or of"):
        rx.Recipe(*ENTRIES, layout=layout)
