# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned files in a fresh clone: equal programs to the last byte, for little more work than without files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel
from relax_mlir_tune.space import Space
from relax_mlir_tune.tasks import tasks_of

_COMPILE = """
import sys
import relax_mlir as rx
from relax_mlir.tools.common.models import read_model
model, tuned, program = sys.argv[1:]
rx.compile(read_model(model), tuned=tuned or None).save(program)
"""


def layers() -> rx.Module:
    """Return a module with three kernels, of which two are equal."""
    draw = numpy.random.default_rng(0)
    with rx.Module() as module, module.function("main", {"x": rx.tensor((16, 64))}) as f:
        (value,) = f
        for _ in range(2):
            value = relax.matmul(value, relax.const(draw.standard_normal((64, 64)).astype("float32")))
        f.returns(relax.nn.softmax(value))
    return module


def write_tuned(folder: Path) -> int:
    """Write a file with other plans for each kernel, without a search. Return their number."""
    count = 0
    for task in tasks_of(layers(), "llvm"):
        space = Space(rx.lower(task.module, "llvm", pipeline=planned(rx.stages("llvm"))), "llvm")
        if not space.choices:
            continue
        plans, random = space.default, Random(1)
        for _ in range(6):
            plans = space.neighbour(plans, random) or plans
        facts = MachineFacts.of(space.machine)
        TunedKernel(task.name, task.key, task.types, facts, plans, space.default, Times(2.0, 1.0, 0.0)).write(folder)
        count += 1
    return count


def compiled(model: Path, tuned: Path | None, place: Path) -> bytes:
    """Compile a model in a process with a cache of its own. Return the bytes of the program's file."""
    program = place / "program.rxa"
    environment = {**os.environ, "RELAX_MLIR_CACHE": str(place / "cache")}
    command = [sys.executable, "-c", _COMPILE, str(model), str(tuned or ""), str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return program.read_bytes()


def test_clones_compile_the_same_bytes(tmp_path: Path) -> None:
    model, folder = tmp_path / "model.mlir", tmp_path / "tuned"
    model.write_text(str(layers()))
    assert write_tuned(folder) >= 1
    (folder / "trials.sqlite").write_bytes(b"not in git")
    programs = []
    for clone in ("one", "two"):
        place = tmp_path / clone
        shutil.copytree(folder, place / "tuned", ignore=shutil.ignore_patterns("*.sqlite"))
        programs.append(compiled(model, place / "tuned", place))
    plain = tmp_path / "plain"
    plain.mkdir()
    assert programs[0] == programs[1] != compiled(model, None, plain)


def test_a_kernel_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_mlir.passes.kernels.schedule import tuned_plans

    written = write_tuned(tmp_path)
    for number in range(50):  # files of other models cost their names only
        shutil.copy(next(tmp_path.glob("*.json")), tmp_path / f"other-{number:016x}-x86_64-256-512K.json")
    hashed, read = [], []
    key_of, read_tuned = tuned_plans.kernel_key, tuned_plans.read_tuned
    monkeypatch.setattr(tuned_plans, "kernel_key", lambda function: hashed.append(0) or key_of(function))
    monkeypatch.setattr(tuned_plans, "read_tuned", lambda path: read.append(path) or read_tuned(path))
    kernels = len(tasks_of(layers(), "llvm"))
    hashed.clear()
    rx.compile(layers(), tuned=tmp_path, cache=False)
    assert written <= len(hashed) <= kernels
    assert len(read) == len(set(read)) == written
