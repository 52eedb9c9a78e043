# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on devices of Vulkan and OpenCL: results equal the results of the CPU's programs, without leaks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from real_devices import KINDS, compiled, device_without_leaks, target
from relax_mlir.tools.relax_compile import run
from two_layer_transformer import transformer, words

_DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.onnx"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from device_without_leaks(request.param)


def check(module: rx.Module, kind: str, calls: Sequence[Sequence[Any]], atol: float = 1e-5) -> None:
    on_cpu, on_device = rx.compile(module), compiled(kind, module)
    for arguments in calls:
        expected = numpy.asarray(on_cpu["main"](*arguments))
        found = numpy.asarray(on_device.copying()["main"](*arguments))
        assert numpy.abs(expected).max() > 1e-3
        numpy.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def pictures(count: int) -> Any:
    return numpy.random.default_rng(count).random((count, 1, 8, 8), "float32")


def test_digits(kind: str) -> None:
    check(rx.from_onnx(_DIGITS), kind, [[pictures(2)], [pictures(5)]], 1e-6)


@pytest.mark.slow
def test_digits_by_the_tools(kind: str, tmp_path: Path) -> None:
    path, errors = tmp_path / "digits.rxa", io.StringIO()
    arguments = [str(_DIGITS), "--target", target(kind), "-o", str(path)]
    assert run(arguments, io.StringIO(), io.StringIO(), errors) == 0, errors.getvalue()
    found = numpy.asarray(rx.runtime.load(path).copying()["main"](pictures(2)))
    expected = numpy.asarray(rx.compile(rx.from_onnx(_DIGITS))["main"](pictures(2)))
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_transformer(kind: str) -> None:
    check(transformer(2, 5, masked=True), kind, [[words(2, 5)]])


@pytest.mark.slow
def test_transformer_of_any_size(kind: str) -> None:
    check(transformer("batch", "length", masked=True), kind, [[words(2, 3)], [words(1, 1)], [words(1, 6)]])
