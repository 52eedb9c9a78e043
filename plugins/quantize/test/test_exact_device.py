# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage of integers: the recipe's arithmetic, which an exact chip equals in each bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.passes.core.external import CODEGENS
from relax_mlir.recipes import Op
from relax_mlir.support import external_runtime
from tutorial_npu import register_mynpu

DRAW = numpy.random.default_rng(2)
DATA = [DRAW.normal(size=(4, 16)).astype("float32") for _ in range(8)]
MATRICES = [DRAW.normal(size=(16, 16)).astype("float32") / 4 for _ in range(2)]
WAYS = [
    rx.Requantize("q31>>shift", rounding="half_away"),
    rx.Requantize("q15>>shift", rounding="down"),
    rx.Requantize("power_of_two", rounding="half_up"),
]


@pytest.fixture
def npu() -> Iterator[dict[str, Any]]:
    """Yield the names of the tutorial's codegen, which is registered for the test."""
    yield register_mynpu()
    CODEGENS.entries.pop("mynpu", None)
    external_runtime._RUNTIMES.entries.pop("mynpu", None)


def model() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 16))}) as f:
        y = relax.add(relax.matmul(*f, relax.const(MATRICES[0])), relax.const(MATRICES[1][0]))
        f.returns(relax.matmul(relax.nn.relu(y), relax.const(MATRICES[1])))
    return module


def use(npu: dict[str, Any], device: rx.Requantize, stated: rx.Requantize | None) -> None:
    """Let the device compute in one way, and the recipe state another one."""
    npu["HOW"] = device
    npu["MyNPU"].recipe = rx.Recipe(
        Op("mynpu.linear", x="i8", w="i8@channel symmetric", bias="i32 derived", out=stated)
    )


def measured(**options: Any) -> Any:
    quantized = rx.quantize(model(), DATA, "mynpu", calibrate="minmax", **options)
    quantized.report.measure()
    return quantized


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("how", WAYS, ids=str)
def test_an_exact_chip_equals_the_integers(npu: dict[str, Any], how: rx.Requantize) -> None:
    use(npu, how, how)
    quantized = measured()
    assert [row.differing["device"] for row in quantized.report.rows] == [0, 0]
    assert quantized.report.results[0]["device"] == numpy.inf
    # The target's own integers round to the nearest.
    assert any(row.differing["integers"] for row in quantized.report.rows) == (how.rounding != "half_away")
    integers = quantized.module.copy()
    rx.Pipeline("relax-requantize{recipe=mynpu}").run(integers)
    program = rx.compile(quantized.module, partition=["mynpu"], strict_partition=True)
    x = DRAW.normal(size=(50, 16)).astype("float32") * 2
    assert (numpy.from_dlpack(program["main"](x)) == rx.reference(integers)["main"](x)).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_chip_with_another_rounding_differs(npu: dict[str, Any]) -> None:
    use(npu, WAYS[1], WAYS[0])
    rows = measured().report.rows
    assert all(0 < row.differing["device"] <= 1 for row in rows)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_recipe_without_an_arithmetic_has_the_targets_integers(npu: dict[str, Any]) -> None:
    use(npu, WAYS[1], None)
    rows = measured().report.rows
    assert all(row.differing["integers"] < 0.01 < row.differing["device"] for row in rows)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_budgets_measure_the_integers_of_the_recipe(npu: dict[str, Any]) -> None:
    """A chip with powers of two is less precise than the target's own integers."""
    scores: list[Any] = []

    def evaluate(program: Any) -> float:
        scores.append(numpy.from_dlpack(program["main"](DATA[0])))
        return float(len(scores))

    use(npu, WAYS[2], WAYS[2])
    quantized = measured(drop=0.0, evaluate=evaluate)
    program = rx.compile(quantized.module, partition=["mynpu"], strict_partition=True)
    assert (numpy.from_dlpack(program["main"](DATA[0])) == scores[-1]).all()
    chosen = next(point for point in quantized.report.points if point.is_chosen)
    assert chosen.snr == pytest.approx(quantized.report.results[0]["fake"], abs=60)
