# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibrations that are interrupted continue: the result is that of a calibration without an interrupt."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import example_counts
import numpy
import pytest
import relax_mlir as rx
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray
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


CHANGES: dict[str, Callable[[ndarray], ndarray | None]] = {
    "without": lambda array: None,
    "longer": lambda array: numpy.concatenate([array.reshape(-1), array.reshape(-1)]),
    "not finite": lambda array: numpy.full(array.shape, numpy.nan),
    "negative": lambda array: -1 - array if array.dtype.kind in "if" else array[..., None],
    "another type": lambda array: array.astype("S8"),
    "objects": lambda array: numpy.array([print], object),
}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("state") / "state.npz"
    rx.quantize(model(), SAMPLES, resume=path)
    return path.read_bytes()


def refusal(path: Path) -> str:
    """Return the message with which a state is refused."""
    with pytest.raises(rx.OptionError) as caught:
        rx.quantize(model(), SAMPLES, resume=path)
    return caught.value.message


@pytest.mark.parametrize("change", CHANGES)
def test_changed_arrays_are_refused(change: str, state: bytes, tmp_path: Path) -> None:
    arrays = dict(numpy.load(io.BytesIO(state)))
    assert len(arrays) > 5
    path = tmp_path / "state.npz"
    for name, array in arrays.items():
        changed = {**arrays, name: CHANGES[change](array)}
        numpy.savez(path, **{each: value for each, value in changed.items() if value is not None})
        assert refusal(path).startswith(f"resume: {path} is no state of a calibration: "), name
        assert "remove the file to start again, or name another" in refusal(path)


@given(st.data())
@example_counts.draws(60)
def test_damaged_files_are_refused(state: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Change bytes, cut, insert: a file is refused in one line, or has the same content."""
    place = data.draw(st.integers(0, len(state) - 1))
    new = data.draw(st.binary(min_size=1, max_size=16))
    rest = data.draw(st.sampled_from([b"", new + state[place + len(new) :], new + state[place:]]))
    path = tmp_path_factory.mktemp("damaged") / "state.npz"
    path.write_bytes(state[:place] + rest)
    try:
        found = rx.quantize(model(), SAMPLES, resume=path).module.print()
    except rx.OptionError as error:
        assert str(path) in error.message and "remove" in str(error) and "\n" not in error.message
    else:
        assert found == rx.quantize(model(), SAMPLES).module.print()


def test_an_array_in_place_of_a_state_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "state.npz").open("wb") as file:
        numpy.save(file, WEIGHTS)
    assert "is no state of a calibration: " in refusal(tmp_path / "state.npz")
