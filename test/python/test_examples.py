# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples do what they show; the accelerator's package is a target of its own, with a child."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.passes.legalize.rules import rules_for

import relax_mlir as rx
from relax_mlir import relax

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module", autouse=True)
def examples_on_the_path() -> Iterator[None]:
    folders = [str(EXAMPLES), str(EXAMPLES / "mynpu")]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def mynpu(examples_on_the_path: None) -> Any:
    for name in ("target", "kernels"):
        importlib.import_module(f"mynpu.{name}")
    return importlib.import_module("mynpu.ops").mynpu


def test_the_mandelbrot_set_is_numpys() -> None:
    example: Any = importlib.import_module("mandelbrot")
    draw = rx.compile(rx.Module.parse(example.GRAPH))["main"]
    for size in ((40, 20), (7, 3)):
        points = example.plane(*size)
        counts = numpy.from_dlpack(draw(*points, 25))
        assert (counts == example.with_numpy(*points, 25)).mean() > 0.98
    assert "@" in example.picture(example.with_numpy(*example.plane(40, 20), example.ITERATIONS))


def softmax(axis: int) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 8))]) as f:
        f.returns(relax.nn.softmax(*f, axis=axis))
    return module


def test_a_target_of_ones_own_runs_its_kernel_where_it_can(mynpu: Any) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 8))]) as f:
        (x,) = f
        y = mynpu.ops["scaled_relu"](x, scale=0.5)
        f.returns(relax.nn.softmax(y), relax.nn.softmax(y, axis=0))
    executable = rx.compile(module, target="mynpu")
    x = numpy.random.default_rng(3).normal(size=(4, 8)).astype("float32")
    powers = numpy.exp(numpy.maximum(x, 0) * 0.5)
    rows, columns = (numpy.from_dlpack(each) for each in executable["main"](x))
    numpy.testing.assert_allclose(rows, powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    numpy.testing.assert_allclose(columns, powers / powers.sum(0, keepdims=True), rtol=1e-5)


def test_a_rule_holds_for_its_target_and_the_targets_children_only(mynpu: Any) -> None:
    rx.register_target(rx.Target("mynpu2", parents=("mynpu",)))
    for target in ("mynpu", "mynpu2"):
        assert [rule.target for rule in rules_for("relax.nn.softmax", target)] == ["mynpu", "default"]
        module = softmax(-1)
        rx.LegalizeOps(target=target)(module)
        assert "relax.call_dps_packed" in str(module)
    for target in ("llvm", "cpu", "default"):
        assert [rule.target for rule in rules_for("relax.nn.softmax", target)] == ["default"]
        module = softmax(-1)
        rx.LegalizeOps(target=target)(module)
        assert "relax.call_dps_packed" not in str(module)


def test_a_rule_that_declines_passes_the_operator_on(mynpu: Any) -> None:
    module = softmax(0)
    rx.LegalizeOps(target="mynpu")(module)
    assert "relax.call_dps_packed" not in str(module) and "relax.call_tir" in str(module)


def test_a_map_of_the_run_goes_first(mynpu: Any) -> None:
    def mine(op: Any, operands: list[Any], builder: Any) -> Any:
        return relax.call_dps_packed("mine", operands, builder.result_infos)

    module = softmax(-1)
    rx.LegalizeOps(target="mynpu", customize_legalize_map={"relax.nn.softmax": mine})(module)
    assert 'func = "mine"' in str(module)
