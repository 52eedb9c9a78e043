# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models for cuda on the emulator of GPUs: results equal those of the CPU's programs, without leaks."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from gpu_emulator.driver import Checks, EmulatedCuda
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.tools.relax_compile import run
from two_layer_transformer import WORDS, transformer, words

import relax_mlir as rx

_DIGITS = Path(__file__).parents[4] / "examples" / "digits" / "digits.onnx"


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    """Yield a new device without data of other programs."""
    device = EmulatedCuda()
    with use_library(device):
        yield device


def checked(module: rx.Module, device: EmulatedCuda, calls: Sequence[Sequence[Any]], atol: float = 1e-5) -> int:
    """Compare the programs' results, and return the number of launched kernels."""
    on_cpu, on_device = rx.compile(module), rx.compile(module, "cuda")
    for arguments in calls:
        expected = on_cpu["main"](*arguments)
        found = on_device.copying()["main"](*arguments)
        device.check()
        assert numpy.abs(numpy.asarray(expected)).max() > 1e-3
        numpy.testing.assert_allclose(numpy.asarray(found), numpy.asarray(expected), rtol=0, atol=atol)
    launched = len(device.calls("cuLaunchKernel"))
    on_device.synchronize()
    del on_device, found
    gc.collect()
    assert device.leaks() == []
    return launched


@pytest.mark.slow
def test_digits(device: EmulatedCuda) -> None:
    pictures = numpy.random.default_rng(3).random((2, 1, 8, 8), "float32")
    module = rx.from_onnx(_DIGITS)
    assert checked(module, device, [[pictures]], 1e-6) > 4


@pytest.mark.slow
def test_digits_by_relax_compile(device: EmulatedCuda, tmp_path: Path) -> None:
    """Load the tool's output: its results equal the CPU's."""
    pictures = numpy.random.default_rng(3).random((2, 1, 8, 8), "float32")
    results = {}
    for target in ("llvm", "cuda"):
        path, errors = tmp_path / f"{target}.rxa", io.StringIO()
        arguments = [str(_DIGITS), "--target", target, "-o", str(path)]
        assert run(arguments, io.StringIO(), io.StringIO(), errors) == 0, errors.getvalue()
        program = rx.runtime.load(path)
        results[target] = numpy.asarray((program.copying() if target == "cuda" else program)["main"](pictures))
    assert len(device.calls("cuLaunchKernel")) > 4
    numpy.testing.assert_allclose(results["cuda"], results["llvm"], rtol=0, atol=1e-6)
    assert (results["cuda"].argmax(1) == results["llvm"].argmax(1)).all()


@pytest.mark.parametrize("masked", [False, True], ids=["all", "causal"])
def test_transformer(masked: bool, device: EmulatedCuda) -> None:
    launched = checked(transformer(2, 5, masked=masked), device, [[words(2, 5)]])
    assert launched >= 2 * 6


@pytest.mark.slow
def test_transformer_of_any_size(device: EmulatedCuda) -> None:
    module = transformer("batch", "length", masked=True)
    checked(module, device, [[words(2, 3)], [words(1, 1)], [words(1, 6)]])


def test_ids_that_no_row_has_are_reported_and_nothing_leaks(device: EmulatedCuda) -> None:
    # After a failed kernel, later kernels read unwritten memory.
    device.checks = Checks(unwritten=False)
    program = rx.compile(transformer("batch", "length"), "cuda")
    with pytest.raises(IndexError, match=r"relax\.take.*index 11 is out of range"):
        program.copying()["main"](numpy.full((2, 3), WORDS))
        program.synchronize()
    found = program.copying()["main"](words(2, 3))
    assert numpy.isfinite(numpy.asarray(found)).all()
    device.check()
    del program, found
    gc.collect()
    assert device.leaks() == []


def test_results_outlive_the_program(device: EmulatedCuda) -> None:
    module = transformer(1, 4)
    expected = numpy.asarray(rx.compile(module)["main"](words(1, 4)))
    program = rx.compile(module, "cuda")
    found = program.copying()["main"](words(1, 4))
    del program
    gc.collect()
    numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=0, atol=1e-5)
    assert device.leaks() == []
