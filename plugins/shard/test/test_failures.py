# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that fail, hang or are killed: a sentence on every rank that waits, in time, and no process left."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, resource, signal, sys, time
import numpy, tvm_ffi
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_shard.engines import current

engine, failing = sys.argv[1:]

@tvm_ffi.register_global_func("failing.step")
def step(x, out):
    if current("step").rank == 1:
        if failing == "raises":
            raise ValueError("the step fails")
        if failing == "hangs":
            time.sleep(60)
        if failing == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if failing == "has no memory":
            resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
            numpy.ones(1 << 32)
    numpy.from_dlpack(out)[...] = numpy.from_dlpack(x)

module = rx.Module()
with module.function("main", {"x": rx.tensor((2, 4)), "w": rx.tensor((4, 6))}) as f:
    x = relax.call_dps_packed("failing.step", [f.args[0]], out_ty=f.args[0].type)
    f.returns(relax.nn.softmax(relax.matmul(x, f.args[1])))
program = rx.compile(rx.shard(module, {"tp": 2}, {"w": (None, "tp")}))
try:
    with rx.launch(program, engine=engine, timeout=0.5 if failing == "hangs" else 30) as ranks:
        print(f"calling {os.getpid()}\\n", end="", flush=True)
        ranks["main"](numpy.zeros((2, 4), "float32"), numpy.zeros((4, 6), "float32"))
except rx.RelaxError as error:
    sys.exit(str(error))
"""
#: Seconds to the end on a machine with other work; 0.5 to 1.5 without.
LIMIT = 4.0
ENGINES = [
    "threads",
    pytest.param(
        "mpi",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'relax-mlir[mpi]'"
        ),
    ),
]


def run_ranks(folder: Path, engine: str, failing: str) -> tuple[str, float]:
    """Run the program. Return its errors and the seconds from the call to the end, after checks of its processes."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), engine, failing]
    count = 1
    if engine == "mpi":
        command, count = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", *command], 2
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        processes = [int(process.stdout.readline().split()[1]) for _ in range(count)]
        begin = time.monotonic()
        _, errors = process.communicate(timeout=60)
        seconds = time.monotonic() - begin
    assert process.returncode != 0
    for number in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)
    return errors, seconds


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("failing", "problem"),
    [
        ("raises", "the step fails"),
        ("has no memory", "Unable to allocate 32.0 GiB"),
        ("hangs", "rank 0 waited 0.5 s in ccl.all_gather at program.py:27 for rank 1"),
    ],
)
def test_a_failing_rank_is_named_on_all_ranks(tmp_path: Path, engine: str, failing: str, problem: str) -> None:
    errors, seconds = run_ranks(tmp_path, engine, failing)
    assert problem in errors
    assert "Traceback" not in errors
    if engine == "mpi" and failing != "hangs":
        assert f"rank 1 of 2: {problem}" in errors
        assert f"rank 0 of 2 stops, because rank 1 failed: {problem}" in errors
    assert seconds < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_rank_ends_all(tmp_path: Path, engine: str) -> None:
    """MPI's launcher ends the others and reports the signal, a process beside them the rank."""
    errors, seconds = run_ranks(tmp_path, engine, "is killed")
    assert "Traceback" not in errors
    assert engine == "threads" or "rank 1 of 2 on " in errors
    assert seconds < LIMIT
