# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: different in each call, and equal in each program. Windows are functions of other operators."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from against_onnxruntime import one_node
from compiling import array
from node_suite import Case, cases, check
from onnx import helper, parser
from scipy import stats

import relax_mlir as rx


def _run(model: Any, *inputs: Any) -> Any:
    return array(rx.compile(rx.from_onnx(model))["main"](*inputs))


@pytest.mark.parametrize(
    "case", cases("BlackmanWindow", "HannWindow", "HammingWindow")[::2], ids=lambda case: case.name
)
def test_windows_of_the_node_suite(case: Case) -> None:
    check(case)


def test_normal_numbers() -> None:
    model = one_node("RandomNormal", {}, shape=[100, 50], mean=3.0, scale=2.0, seed=7.0)
    found = _run(model)
    assert found.shape == (100, 50) and found.dtype == numpy.float32
    assert abs(found.mean() - 3) < 0.1 and abs(found.std() - 2) < 0.1
    numpy.testing.assert_array_equal(found, _run(model))


def test_uniform_numbers_of_another_type() -> None:
    x = numpy.zeros((20, 30), "float32")
    found = _run(one_node("RandomUniformLike", {"x": x}, symbolic=False, low=-1.0, high=4.0, dtype=11), x)
    assert found.shape == x.shape and found.dtype == numpy.float64
    assert found.min() >= -1 and found.max() < 4 and abs(found.mean() - 1.5) < 0.3


def test_nodes_without_a_seed_differ() -> None:
    first, second = (one_node("RandomUniform", {}, shape=[9]) for _ in range(2))
    second.graph.node[0].name = "another"
    assert (_run(first) != _run(second)).all()


def test_coins() -> None:
    x = numpy.array([0.0, 1.0, 0.5] * 200, "float32")
    found = _run(one_node("Bernoulli", {"x": x}, symbolic=False, seed=1.0, dtype=9), x)
    assert found.dtype == bool and not found[0::3].any() and found[1::3].all()
    assert 60 < found[2::3].sum() < 140


def test_classes() -> None:
    x = numpy.log(numpy.array([[1e-30, 1, 3], [1, 1e-30, 1e-30]], "float32"))
    found = _run(one_node("Multinomial", {"x": x}, symbolic=False, sample_size=400, seed=2.0, dtype=7), x)
    assert found.shape == (2, 400) and found.dtype == numpy.int64
    assert (found[1] == 0).all() and (found[0] > 0).all() and 50 < (found[0] == 1).sum() < 150


def _calls(model: Any, *inputs: Any, count: int = 2) -> list[Any]:
    main = rx.compile(rx.from_onnx(model))["main"]
    return [array(main(*inputs)) for _ in range(count)]


_X = numpy.full((50, 40), 0.5, "float32")
_DRAWN = {
    "RandomNormal": one_node("RandomNormal", {}, shape=[50, 40], seed=1.0),
    "RandomNormalLike": one_node("RandomNormalLike", {"x": _X}),
    "RandomUniform": one_node("RandomUniform", {}, shape=[50, 40]),
    "RandomUniformLike": one_node("RandomUniformLike", {"x": _X}, seed=4.5),
    "Bernoulli": one_node("Bernoulli", {"x": _X}, opset=15),
    "Multinomial": one_node("Multinomial", {"x": _X}, sample_size=9),
    "Dropout": one_node("Dropout", {"x": _X, "ratio": numpy.float32(0.5), "training": numpy.array(True)}, seed=2),
}


@pytest.mark.parametrize("op", _DRAWN)
def test_each_call_draws_anew_and_each_program_the_same(op: str) -> None:
    inputs = [_X, numpy.float32(0.5), numpy.array(True)][: len(_DRAWN[op].graph.input)]
    first, second = _calls(_DRAWN[op], *inputs), _calls(_DRAWN[op], *inputs)
    assert (first[0] != first[1]).any(), "two calls draw the same"
    numpy.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("op", [op for op, model in _DRAWN.items() if model.graph.input])
def test_sizes_that_only_the_data_tell(op: str) -> None:
    """Draw numbers in the shape of a tensor with a size from NonZero."""
    node = _DRAWN[op].graph.node[0]
    model = onnx.ModelProto()
    model.CopyFrom(_DRAWN[op])
    model.graph.node[0].input[0] = "found"
    steps = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Cast", ["places"], ["found"], to=onnx.TensorProto.FLOAT),
    ]
    model.graph.node.extend([*steps, node])
    del model.graph.node[0]
    model.graph.node[-1].input[0] = "found"
    x = numpy.zeros((5, 6), "float32")
    x[:2] = 1
    inputs = [x, numpy.float32(0.5), numpy.array(True)][: len(model.graph.input)]
    (found,) = _calls(model, *inputs, count=1)
    assert found.shape == ((2, 9) if op == "Multinomial" else (2, 12))


def test_seeds_part_nodes_and_calls() -> None:
    seeds = (7.0, 7.5, 8.0, -3.0, 1e20)
    drawn = [_run(one_node("RandomUniform", {}, shape=[64], seed=seed)) for seed in seeds]
    assert (drawn[0] == drawn[1]).all(), "the fraction of a seed means nothing"
    for index, one in enumerate(drawn[1:]):
        for other in drawn[index + 2 :]:
            assert (one != other).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_are_spread_as_they_should_be(dtype: str) -> None:
    number = {"float16": 10, "float32": 1, "float64": 11}[dtype]
    model = one_node("RandomUniform", {}, shape=[200, 100], dtype=number, low=2.0, high=6.0)
    uniform = numpy.concatenate([each.astype("float64").ravel() for each in _calls(model)])
    assert uniform.min() >= 2 and uniform.max() <= 6
    assert stats.kstest((uniform - 2) / 4, "uniform").statistic < 0.02
    normal = _calls(one_node("RandomNormal", {}, shape=[200, 100], dtype=number, mean=1.0, scale=3.0))
    normal = [each.astype("float64") for each in normal]
    assert stats.kstest((normal[0].ravel() - 1) / 3, "norm").statistic < 0.02
    assert abs(numpy.corrcoef(normal[0].ravel(), normal[1].ravel())[0, 1]) < 0.03, "calls do not depend on each other"
    assert abs(numpy.corrcoef(normal[0][:, 0], normal[0][:, 1])[0, 1]) < 0.3


def test_turns_of_a_loop_draw_anew() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
    main (int64 turns, bool starts) => (float[t, 4] rows) {
        rows = Loop (turns, starts) <body = turn (int64 i, bool goes) => (bool on, float[4] row) {
            on = Identity (goes)  row = RandomNormal <shape = [4]> ()
        }>
    }""")
    (rows,) = _calls(model, numpy.array(40), numpy.array(True), count=1)
    assert rows.shape == (40, 4) and len(numpy.unique(rows)) == 160


def test_a_seeded_dropout_begins_as_the_reference_does() -> None:
    inputs = {"x": _X, "ratio": numpy.array(0.3, "float32"), "training": numpy.array(True)}
    first, second = _calls(one_node("Dropout", inputs, symbolic=False, seed=5), *inputs.values())
    kept = numpy.random.RandomState(5).uniform(0.0, 1.0, _X.shape) >= numpy.float32(0.3)
    numpy.testing.assert_array_equal(first != 0, kept)
    assert 0.25 < (second == 0).mean() < 0.35 and (second != first).any()
