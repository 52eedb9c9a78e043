# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that are put into an outside codegen, into a kernel and into a pass are found, and named."""

from __future__ import annotations

from typing import Any

import faulty_codegen  # noqa: F401  # registers it
import numpy
import pytest
from relax_mlir.testing.bisect import bisect
from relax_mlir.testing.each import each, first_wrong

import relax_mlir as rx
from relax_mlir import relax


def const(*shape: int) -> Any:
    return relax.const(numpy.random.default_rng(sum(shape)).normal(size=shape).astype("float32"))


def model() -> tuple[rx.Module, list[Any]]:
    """A layer, tanh, a difference with the constant first, and quantization."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 8))}) as f:
        y = relax.nn.relu(relax.matmul(*f, const(8, 16)))
        y = relax.exp(relax.multiply(y, relax.const(-0.1)))
        y = relax.tanh(y)
        y = relax.subtract(relax.const(numpy.float32(0.75)), y)
        f.returns(relax.quantize(y, relax.const(numpy.float32(0.125)), relax.const(numpy.int8(0)), 0))
    return module, [numpy.random.default_rng(0).normal(size=(6, 8)).astype("float32")]


@pytest.mark.parametrize(
    ("fault", "only"),
    [("bound", "matmul*"), ("order", "subtract*constants*"), ("empty", "tanh f32*"), ("rounding", "quantize*")],
)
def test_the_kit_finds_a_fault(fault: str, only: str) -> None:
    report = rx.testing.check(f"faulty{{fault={fault}}}", only=[only, "faulty.*"], jobs=2)
    assert report.faults, str(report)


def test_a_codegen_without_faults_is_right() -> None:
    report = rx.testing.check("faulty", only=["tanh f32*", "subtract f32*"], jobs=2)
    assert report.is_right, str(report)


@pytest.mark.parametrize(
    ("fault", "operator"),
    [("bound", "relax.nn.relu"), ("order", "relax.subtract")],
)
def test_bisecting_names_the_operator(fault: str, operator: str) -> None:
    module, arguments = model()
    culprit = bisect(module, arguments, partition=[f"faulty{{fault={fault}}}"])
    assert culprit is not None
    assert culprit.kind == "part"
    assert operator in str(culprit.module)
    assert culprit.error > 0


def test_nothing_is_wrong_where_nothing_is() -> None:
    module, arguments = model()
    assert first_wrong(each(module, arguments, partition=["faulty"])) is None
    assert bisect(module, arguments, partition=["faulty"]) is None
