# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibrations that are interrupted continue: the result is that of a calibration without an interrupt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

RANDOM = numpy.random.default_rng(3)
WEIGHTS = RANDOM.normal(size=(8, 4)).astype("float32")
SAMPLES = [RANDOM.normal(size=(2, 8)).astype("float32") * (number + 1) for number in range(40)]


def model(weights: Any = WEIGHTS) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 8))}) as f:
        (x,) = f
        # An activation between: smoothing would run the samples before, without a state.
        tripled = relax.nn.relu(relax.matmul(x, relax.const(numpy.eye(8, dtype="float32") * 3)))
        f.returns(relax.matmul(tripled, relax.const(weights)))
    return module


class _Interrupt:
    """Progress that interrupts, and counts calls."""

    def __init__(self, at: int = 0):
        self._at, self.seen = at, list[int]()

    def __call__(self, done: int, count: int) -> None:
        self.seen.append(done)
        if done == self._at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 15, 16, 17, 39])
@pytest.mark.parametrize("method", ["minmax", "entropy"])
def test_an_interrupted_calibration_continues(at: int, method: str, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    options: dict[str, Any] = {"calibrate": method, "resume": path, "smooth": None}
    with pytest.raises(KeyboardInterrupt):
        rx.quantize(model(), SAMPLES, progress=_Interrupt(at), **options)
    assert [each.name for each in tmp_path.iterdir()] == ["state.npz"]
    rest = _Interrupt()
    continued = rx.quantize(model(), SAMPLES, progress=rest, **options)
    assert rest.seen == list(range(at + 1, 41))
    whole = rx.quantize(model(), SAMPLES, calibrate=method, smooth=None)
    assert continued.module.print() == whole.module.print()


def test_a_whole_calibration_serves_other_methods(tmp_path: Path) -> None:
    path, seen = tmp_path / "state.npz", _Interrupt()
    rx.quantize(model(), SAMPLES, resume=path)
    again = rx.quantize(model(), SAMPLES, resume=path, calibrate="mse", progress=seen)
    assert seen.seen == []
    assert again.module.print() == rx.quantize(model(), SAMPLES, calibrate="mse").module.print()


def test_states_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    rx.quantize(model(), SAMPLES, resume=path)
    before = path.read_bytes()
    for module, samples, options in (
        (model(WEIGHTS * 2), SAMPLES, {}),
        (model(), SAMPLES[:-1], {}),
        (model(), SAMPLES[::-1], {}),
        (model(), SAMPLES, {"for_": rx.Recipe(rx.recipes.Op("relax.matmul", x1="i8", x2="i8", y="i8"))}),
    ):
        with pytest.raises(rx.RelaxError, match=f"resume: {path} belongs to another model, recipe or data"):
            rx.quantize(module, samples, resume=path, **options)  # type: ignore[arg-type]  # options of each row
    assert path.read_bytes() == before
    path.write_text("no state")
    with pytest.raises(rx.RelaxError, match=f"resume: {path} is no state of a calibration: "):
        rx.quantize(model(), SAMPLES, resume=path)
    assert path.read_text() == "no state"
