# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search for another kind of CPU: an emulator runs the program of each trial, and its bits are the default's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from emulated_cpus import CPUS, Cpu, emulated, linked
from relax_mlir import relax
from relax_mlir.runtime.artifact import parse_artifact
from relax_mlir_tune import tune
from relax_mlir_tune.measuring import DIFFERENT, KernelJob, Outcome, arguments_of, build, reason_of
from relax_mlir_tune.space import Plans

_SIZE = 24


class EmulatedRunner:
    """Links the program of each trial for another CPU, and runs the program by an emulator."""

    width = 1
    notes: Sequence[str] = ()

    def __init__(self, cpu: Cpu, folder: Path) -> None:
        self._cpu, self._folder = cpu, folder
        self._count = 0
        #: Argument and result of the default's plans.
        self.default: tuple[numpy.ndarray, numpy.ndarray] | None = None

    def cpu(self) -> str:
        return self._cpu.emulated

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        (given,) = arguments_of(rx.Module.parse(job.module), job)
        default = self._program(job, None)
        expected, _ = self._run(default, given)
        self.default = given, expected
        for each in plans:
            try:
                program = self._program(job, each)
            except rx.RelaxError as error:
                yield Outcome(each, problem=reason_of(error))
                continue
            found, _ = self._run(program, given)
            if found.tobytes() != expected.tobytes():
                yield Outcome(each, problem=DIFFERENT, is_wrong=True)
                continue
            yield Outcome(
                each, tuple((self._run(default, given)[1], self._run(program, given)[1]) for _ in range(turns))
            )

    def _program(self, job: KernelJob, plans: Plans | None) -> Path:
        data = build(job, plans).program.data
        assert data is not None
        artifact = parse_artifact(memoryview(data))
        assert artifact.triple.startswith(self._cpu.kind) and not artifact.constants
        self._count += 1
        folder = self._folder / f"program{self._count}"
        folder.mkdir()
        return linked([bytes(each) for each in artifact.objects], self._cpu, folder)

    def _run(self, program: Path, given: numpy.ndarray) -> tuple[numpy.ndarray, float]:
        start = time.perf_counter()
        found = emulated(program, self._cpu, given, given)
        return found, time.perf_counter() - start

    def close(self) -> None:
        """Nothing is open between trials."""


@pytest.mark.slow
@pytest.mark.parametrize("cpu", [CPUS["armv8"]], ids=["armv8"])
def test_trials_for_another_cpu_keep_the_bits(cpu: Cpu, tmp_path: Path) -> None:
    if problem := cpu.lacks():
        pytest.skip(problem)
    with rx.Module() as module, module.function("main", {"x": rx.tensor((_SIZE, _SIZE))}) as f:
        (x,) = f
        f.returns(relax.nn.relu(relax.matmul(x, x)))
    runner = EmulatedRunner(cpu, tmp_path)
    found = tune(module, f"llvm{{{cpu.target}}}", trials=6, folder=tmp_path / "tuned", runner=runner)
    (task,) = found.tasks
    assert task.search is not None and len(task.search.outcomes) == 6
    assert not found.wrong
    assert sum(bool(each.turns) for each in task.search.outcomes.values()) >= 3
    assert runner.default is not None
    given, result = runner.default
    numpy.testing.assert_allclose(result, numpy.maximum(given @ given, 0), rtol=2e-5, atol=2e-5)
