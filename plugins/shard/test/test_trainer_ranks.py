# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers on several ranks: the losses and parameters of one process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_shard.engines import RankError
from test_engines import by_mpi, by_torch, needs_mpi, needs_torch

SHAPES = {"w1": (12, 16), "gain": (16,), "w2": (16, 6)}
BY_COLUMNS = {"w1": (None, "tp"), "w2": (None, "tp")}
PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_trainer_ranks import *
mesh, optimizer = {{"dp": 2, "tp": 2}}, rx.optim.Adam(lr=0.1)
assert_equal(train(optimizer, mesh=mesh, specs=BY_COLUMNS, engine=sys.argv[1]), train(optimizer))
print("equal bits")
"""


def loss(batch: int | str = "n") -> rx.Module:
    module = rx.Module()
    inputs = {"x": rx.tensor((batch, 12)), "labels": rx.tensor((batch,), "int64")}
    with module.function("loss", inputs | {name: rx.tensor(shape) for name, shape in SHAPES.items()}) as f:
        x, labels, w1, gain, w2 = f
        hidden = relax.nn.silu(relax.nn.rms_norm(relax.matmul(x, w1), gain))
        scores = relax.nn.log_softmax(relax.matmul(hidden, w2), axis=1)
        f.returns(relax.nn.nll_loss(scores, labels), scores)
    return module


def start(optimizer: Any, batch: int | str = "n", **options: Any) -> rx.Trainer:
    generator = numpy.random.default_rng(0)
    parameters = {name: generator.standard_normal(shape, "float32") / 4 for name, shape in SHAPES.items()}
    return rx.Trainer(loss(batch), "loss", optimizer, parameters, **options)


def train(optimizer: Any, batch: int | str = "n", **options: Any) -> list[Any]:
    """Return the results of some steps, and the parameters after them."""
    trainer, generator = start(optimizer, batch, **options), numpy.random.default_rng(1)
    rows, rate = 12 if batch == "n" else int(batch), {"lr": 0.1} if optimizer.lr is None else {}
    results: list[Any] = []
    for _ in range(4):
        results += trainer.step(
            generator.standard_normal((rows, 12), "float32"), generator.integers(0, 6, rows), **rate
        )
    results += trainer.parameters.values()
    trainer.close()
    return results


def assert_equal(one: list[Any], other: list[Any]) -> None:
    for x, y in zip(one, other, strict=True):
        numpy.testing.assert_array_equal(x, y)


@cache
def expected(optimizer: Any) -> list[Any]:
    return train(optimizer)


@pytest.mark.parametrize(
    ("mesh", "specs", "optimizer"),
    [
        ({"dp": 2}, None, rx.optim.MomentumSGD(None, 0.9)),
        ({"dp": 3}, None, rx.optim.Adam(lr=0.1)),
        ({"dp": 2}, {"w1": (None, "dp"), "x": (None, None)}, rx.optim.Adam(lr=0.1)),
        ({"dp": 2, "tp": 2}, BY_COLUMNS, rx.optim.Adam(lr=0.1)),
        (
            {"dp": 3, "tp": 2},
            {"w1": ("tp", None), "gain": ("tp",), "w2": ("tp", "dp")},
            rx.optim.MomentumSGD(None, 0.9),
        ),
    ],
)
def test_ranks_train_with_the_bits_of_one_process(mesh: Any, specs: Any, optimizer: Any) -> None:
    assert_equal(train(optimizer, mesh=mesh, specs=specs), expected(optimizer))


def test_a_static_batch_has_short_parts() -> None:
    optimizer = rx.optim.SGD(0.1)
    assert_equal(train(optimizer, 7, mesh={"dp": 2}), train(optimizer, 7))


def test_partial_sums_of_gradients_are_close() -> None:
    """Add the ranks' gradients: their sums, of other bits, train alike."""
    optimizer = rx.optim.Adam(lr=0.1)
    one, other = expected(optimizer), train(optimizer, mesh={"dp": 3}, sums="split")
    assert any((x != y).any() for x, y in zip(one, other, strict=True))
    for x, y in zip(one, other, strict=True):
        numpy.testing.assert_allclose(y, x, rtol=1e-4, atol=1e-6)


def test_parameters_and_states_stay_divided() -> None:
    signature = start(rx.optim.Adam(), mesh={"tp": 2}, specs=BY_COLUMNS).executable.signature("loss_step")
    sizes = {entry["name"]: entry["shape"] for entry in signature["inputs"]}
    assert [sizes[name] for name in ("w1", "w1_mean", "w2_square")] == [[12, 8], [12, 8], [16, 3]]
    assert [entry["shape"] for entry in signature["outputs"]][2:5] == [[12, 8], [16], [16, 3]]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"mesh": {}}, "mesh={} has no axis 'dp', which divides batches: add it, or specs="),
        ({"mesh": {"dp": 0}}, "axis 'dp' needs a number of ranks, 1 or more, got 0"),
        ({"mesh": {"dp": 2}, "specs": {"w1": ("tp", None)}}, "the mesh dp=2 has no axis 'tp'"),
        ({"mesh": {"dp": 2}, "specs": {"w": ("dp", None)}}, "specs: @loss_step has no value 'w'; did you mean"),
        ({"specs": BY_COLUMNS}, "specs, sums and engine are for a trainer on several ranks: pass mesh="),
        ({"sums": "split"}, "specs, sums and engine are for a trainer on several ranks: pass mesh="),
        ({"mesh": {"dp": 2}, "engine": "thread"}, "no engine 'thread'; did you mean 'threads'"),
    ],
)
def test_options_of_ranks_are_checked(options: Any, problem: str) -> None:
    with pytest.raises(rx.OptionError) as error:
        start(rx.optim.SGD(0.1), **options)
    assert problem in str(error.value)


def test_refused_steps_leave_the_parameters() -> None:
    trainer = start(rx.optim.SGD(0.1), mesh={"dp": 2})
    before = trainer.parameters
    x, labels = numpy.ones((7, 12), "float32"), numpy.zeros(7, "int64")
    with pytest.raises(rx.OptionError, match="argument 'x': its size 7 along dimension 0 has no 2 equal parts"):
        trainer.step(x, labels)
    with pytest.raises(RankError, match=r"rank . of 2: .*target 6 is out of range"):
        trainer.step(x[:4], labels[:4] + 6)
    assert_equal([*trainer.parameters.values()], [*before.values()])
    trainer.step(x[:4], labels[:4])
    trainer.close()
    with pytest.raises(RankError, match="the ranks have ended: launch again"):
        trainer.step(x[:4], labels[:4])


@needs_mpi
@pytest.mark.slow
def test_mpi_trains_with_the_bits_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    run = by_mpi(tmp_path / "program.py")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("equal bits") == 4


@needs_torch
@pytest.mark.slow
def test_torch_trains_with_the_bits_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    for status, output in by_torch(tmp_path / "program.py"):
        assert (status, "equal bits" in output) == (0, True), output
