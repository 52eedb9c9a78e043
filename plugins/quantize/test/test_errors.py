# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of quantized models: by stage, by layer, within budgets, and as pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from partitioning import codegen
from relax_mlir import relax
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Fixed, Op, Share
from relax_mlir_quantize.budget import _least
from relax_mlir_quantize.comparison import Noise

SIZE = 16
GENERATOR = numpy.random.default_rng(0)
WEIGHTS = [GENERATOR.normal(size=(SIZE, SIZE)).astype("float32") / 4 for _ in range(3)]
# A few large weights: one scale for the whole tensor represents the others badly.
WEIGHTS[1][0, 0] = 40.0
DATA = [GENERATOR.normal(size=(2, SIZE)).astype("float32") for _ in range(6)]
X, W = wildcard().named("x"), is_const().named("w")
LAYER = is_op("relax.matmul")(X, W)
TYPES: dict[str, Any] = {"x": ("i8", "i16"), "w": ("i8 symmetric", "i4 symmetric")}


def model() -> rx.Module:
    """Return three layers. tanh between them stay real."""
    module = rx.Module()
    with module.function("main", [rx.tensor((2, SIZE))]) as f:
        (x,) = f
        y = relax.matmul(x, relax.const(WEIGHTS[0]))
        y = relax.tanh(y)
        y = relax.matmul(y, relax.const(WEIGHTS[1]))
        y = relax.tanh(y)
        y = relax.matmul(y, relax.const(WEIGHTS[2]))
        f.returns(y)
    return module


def quantized(**options: Any) -> Any:
    options.setdefault("for_", rx.Recipe(Op("relax.matmul", pattern=LAYER, **TYPES)))
    return rx.quantize(model(), DATA, calibrate="minmax", **options)


def snr(expected: numpy.ndarray, found: numpy.ndarray) -> float:
    noise = Noise()
    noise.add(expected, found)
    return noise.snr


def rounded(array: numpy.ndarray, scale: float, zero: int = 0) -> numpy.ndarray:
    return (numpy.clip(numpy.rint(array / scale) + zero, -128, 127) - zero) * scale


@pytest.fixture(scope="module")
def measured() -> Iterator[Any]:
    """Yield a quantized model with measured errors, for a codegen that runs here."""
    recipe = rx.Recipe(Op("npu.mm", **TYPES))
    with codegen([("npu.mm", LAYER)], recipe=recipe) as npu:
        made = quantized(for_=npu)
        made.report.measure()
        made.report.sensitivity()
        yield made


def test_local_error_is_that_of_rounded_operands(measured: Any) -> None:
    data = numpy.concatenate(DATA)
    least, most = data.min(), data.max()
    scale = (most - least) / 255
    zero = numpy.rint(-128 - least / scale)
    x = rounded(data, scale, zero)
    w = rounded(WEIGHTS[0], abs(WEIGHTS[0]).max() / 127)
    real, found = data @ WEIGHTS[0], x @ w
    step = (real.max() - real.min()) / 255
    found = rounded(found, step, numpy.rint(-128 - real.min() / step))
    row = measured.report.rows[0]
    assert row.snr["local"] == pytest.approx(snr(real, found), abs=0.3)
    # The first layer reads the same numbers in the whole model.
    assert row.snr["fake"] == pytest.approx(row.snr["local"], abs=0.1)


def test_layers_that_share_operands_and_scales() -> None:
    """A residual, a concatenation with a shared scale, and a softmax with a fixed one."""
    module = rx.Module()
    with module.function("main", [rx.tensor((2, SIZE))]) as f:
        (x,) = f
        first = relax.matmul(x, relax.const(WEIGHTS[0]))
        second = relax.matmul(first, relax.const(WEIGHTS[2]))
        both = relax.add(first, second)
        joined = relax.concat([both, x], axis=0)
        shares = relax.nn.softmax(joined)
        y = relax.matmul(shares, relax.const(WEIGHTS[1]))
        f.returns(y)
    recipe = rx.Recipe(
        Op("relax.matmul", pattern=LAYER, x="i8", w="i8@channel symmetric"),
        Op("relax.add", x1="i8", x2="i8"),
        Share("relax.concat"),
        Fixed("relax.nn.softmax", scale=1 / 256, zero=-128, type="i8"),
    )
    report = rx.quantize(module, DATA, recipe, calibrate="minmax").report.measure(3)
    assert [row.pattern for row in report.rows] == ["relax.matmul", "relax.matmul", "relax.add", "relax.matmul"]
    assert all(row.snr["local"] > 20 and row.snr["fake"] <= row.snr["local"] + 3 for row in report.rows)
    report.sensitivity()
    assert all(15 < each.alone < 100 for each in report.effects)


def test_errors_accumulate(measured: Any) -> None:
    local, fake = ([row.snr[name] for row in measured.report.rows] for name in ("local", "fake"))
    assert fake[2] < local[2]
    assert all(10 < each < 80 for each in (*local, *fake))


def test_error_of_the_results(measured: Any) -> None:
    real, program = rx.compile(model())["main"], rx.compile(measured.module)["main"]
    expected, found = (numpy.concatenate([numpy.from_dlpack(f(x)) for x in DATA]) for f in (real, program))
    assert measured.report.results[0]["fake"] == pytest.approx(snr(expected, found), abs=0.5)
    assert measured.report.results[0]["integers"] > 60
    assert measured.report.samples == len(DATA)


def test_device_is_compared_with_the_integers(measured: Any) -> None:
    assert not measured.report.skipped
    assert all(row.snr["device"] > 60 for row in measured.report.rows)
    assert all(row.differing["device"] < 0.01 for row in measured.report.rows)


def test_device_that_does_not_run_here() -> None:
    class Refusing(rx.Codegen):
        def compile(self, module: Any, options: Any) -> bytes:
            raise rx.RelaxError("needs the vendor's compiler")

    recipe = rx.Recipe(Op("npu.mm", **TYPES))
    with codegen([("npu.mm", LAYER)], base=Refusing, recipe=recipe) as npu:
        report = quantized(for_=npu).report.measure(1)
        assert "needs the vendor's compiler" in report.skipped["device"]
        assert "integers-device is not measured" in report.table()
        assert "device" not in report.rows[0].snr


def test_no_kernel_is_a_reason() -> None:
    """A layer stays real if the codegen refuses its quantized form."""

    def check(match: Any) -> bool | str:
        return abs(match.number("w_scale") or 0) < 0.1 or "the scale of the weights is above 0.1"

    recipe = rx.Recipe(Op("npu.mm", **TYPES))

    def accepts(match: Any) -> bool | str:
        return match.get("w_scale") is None or check(match)

    with codegen([("npu.mm", LAYER, accepts)], recipe=recipe) as npu:
        report = quantized(for_=npu).report
    assert len(report.rows) == 2
    reason = next(reason for reason in report.kept.values() if "gains no kernel" in reason)
    assert "the scale of the weights is above 0.1" in reason


def test_reasons_of_all_nodes(measured: Any) -> None:
    report = measured.report
    assert [report.why(row.node) for row in report.rows] == ["", "", ""]
    assert set(report.operators.values()) == {"relax.tanh"}
    assert all(report.why(node) == "no pattern of the recipe has relax.tanh" for node in report.kept)
    with pytest.raises(rx.RelaxError, match="no node is called 'lost'"):
        report.why("lost")


def test_sensitivity_begins_with_the_worst(measured: Any) -> None:
    effects = measured.report.effects
    assert [each.alone for each in effects] == sorted(each.alone for each in effects)
    assert effects[0].node == measured.report.rows[1].node
    # Without the worst layer the error is the least.
    assert max(effects, key=lambda each: each.without) is effects[0]
    assert measured.report.sensitivity().splitlines()[1].startswith(effects[0].node)


def test_budget_takes_types_before_real_layers() -> None:
    told: list[str] = []
    types: dict[str, Any] = {"x": ("i8", "i16"), "w": "i8@channel symmetric"}
    recipe = rx.Recipe(Op("relax.matmul", pattern=LAYER, **types))
    bound = quantized(for_=recipe).report.measure().results[0]["fake"]
    made = quantized(for_=recipe, snr=bound + 1, tell=told.append)
    chosen = next(point for point in made.report.points if point.is_chosen)
    assert chosen.snr >= bound + 1
    assert len(made.report.rows) == 3
    assert "i16" in {row.types["x"] for row in made.report.rows}
    assert any("more precise types: at most 3 measurements" in text for text in told)


def test_budget_makes_the_worst_layers_real() -> None:
    recipe = rx.Recipe(Op("relax.matmul", pattern=LAYER, x="i8", w="i8 symmetric"))
    made = quantized(for_=recipe, snr=25)
    assert len(made.report.rows) == 2
    assert "stays real for snr=25" in made.report.kept.values()
    expected, found = (numpy.from_dlpack(rx.compile(each)["main"](DATA[0])) for each in (model(), made.module))
    assert snr(expected, found) > 24


def test_budget_that_nothing_holds() -> None:
    with pytest.raises(rx.RelaxError, match="no quantized model holds snr=200"):
        quantized(snr=200)


def test_budget_of_a_score() -> None:
    """The model in floating point is scored first, and each candidate after it."""
    expected = [numpy.from_dlpack(rx.compile(model())["main"](x)).argmax(1) for x in DATA]
    scores: list[float] = []

    def evaluate(program: Any) -> float:
        found = [numpy.from_dlpack(program["main"](x)).argmax(1) for x in DATA]
        scores.append(float(100 * numpy.equal(expected, found).mean()))
        return scores[-1]

    made = quantized(drop=0, evaluate=evaluate)
    chosen = next(point for point in made.report.points if point.is_chosen)
    assert scores[0] == 100
    assert chosen.score == 100


def test_budget_of_bytes_takes_smaller_weights() -> None:
    whole = quantized(bytes=10**9).report.points[0].bytes
    made = quantized(bytes=whole - 100)
    kinds = [row.types["w"] for row in made.report.rows]
    assert kinds.count("i4 symmetric") == 1
    assert made.report.points[0].bytes <= whole - 100
    with pytest.raises(rx.RelaxError, match="bytes=10: the constants of the quantized model have at least"):
        quantized(bytes=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": 1.0}, "drop= and evaluate= belong together"),
        ({"snr": math.nan}, "snr=nan: expected a finite number"),
        ({"drop": -1.0, "evaluate": lambda _: 1.0}, "expected a number of at least 0"),
        ({"drop": 1.0, "evaluate": lambda _: "good"}, "evaluate: expected a number"),
        ({"drop": 1.0, "evaluate": lambda _: math.nan}, "evaluate: expected a finite score"),
    ],
)
def test_bad_budgets(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        quantized(**options)


@pytest.mark.parametrize("needed", range(1, 9))
def test_search_is_bounded(needed: int) -> None:
    tried: list[int] = []

    def make(count: int) -> Any:
        tried.append(count)
        return count

    assert _least(8, make, lambda count: count >= needed) == needed  # type: ignore[operator]
    assert len(tried) <= 5
    assert _least(8, make, lambda count: False) is None


def test_pictures_and_json(measured: Any) -> None:
    report = measured.report
    assert "no variant is measured" in report.picture() or report.points
    points = report.explore(2, 1)
    assert [each.real_layers for each in points] == [0, 2]
    assert points[0].bytes < points[1].bytes
    assert "2 layers real" in report.picture()
    page = report.html()
    assert page.count("<svg") == 3
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    read = json.loads(report.to_json())
    assert [each["node"] for each in read["layers"]] == [row.node for row in report.rows]
    assert read["results"][0]["fake"] == pytest.approx(report.results[0]["fake"])
    assert {each["operator"] for each in read["kept"]} == {"relax.tanh"}
    assert len(read["points"]) == 2


def test_a_report_without_a_model_measures_nothing() -> None:
    from relax_mlir_quantize.quantization_report import Report

    with pytest.raises(rx.RelaxError, match="has no model to measure"):
        Report().measure()
