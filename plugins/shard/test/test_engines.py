# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines of several processes: MPI, and a group of torch.distributed."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir_shard.mpi import MpiRank

PROGRAM = """
import os
import sys
import numpy
import relax_mlir as rx
from relax_mlir import relax

engine, failing = sys.argv[1], sys.argv[2:]
if engine == "torch":
    import torch.distributed
    torch.distributed.init_process_group("gloo")

module = rx.Module()
with module.function("main", {"x": rx.tensor((5, 8)), "w": rx.tensor((8, 6)), "i": rx.tensor((5,), "int64")}) as f:
    y = relax.nn.softmax(relax.matmul(f.args[0], f.args[1]))
    f.returns(relax.take(y, f.args[2], axis=0))
random = numpy.random.default_rng(0)
x, w = random.standard_normal((5, 8), "float32"), random.standard_normal((8, 6), "float32")
i = numpy.array([4, 3, 2, 1, 0])
specs, options = {"w": (None, "tp"), "i": ("dp",)}, {}
is_odd = "1" in (os.environ.get("RANK"), os.environ.get("PMI_RANK"))
if "different" in failing and is_odd:
    specs = {}
if "options" in failing and is_odd:
    options = {"numerics": "fast"}
with rx.launch(rx.compile(rx.shard(module, {"dp": 2, "tp": 2}, specs), **options), engine=engine) as ranks:
    if "index" in failing:
        i[4] = 9
    if "rows" in failing and is_odd:
        x = x[:4]
    found = ranks["main"](x, w, i)
expected = numpy.from_dlpack(rx.compile(module)["main"](x, w, i))
assert found.shape == expected.shape and (found == expected).all(), (found, expected)
print("equal bits")
"""


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def by_mpi(script: Path, *arguments: str, ranks: int = 4) -> subprocess.CompletedProcess[str]:
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", str(ranks), sys.executable, str(script), "mpi", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def by_torch(script: Path, *arguments: str) -> list[tuple[int, str]]:
    """Start four processes with the variables that torchrun sets."""
    shared = {**os.environ, "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, str(script), "torch", *arguments]
    processes = [
        subprocess.Popen(command, env={**shared, "RANK": str(rank)}, stdout=-1, stderr=-2, text=True)
        for rank in range(4)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    return [(process.returncode, output) for process, output in zip(processes, outputs, strict=True)]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'relax-mlir[mpi]'"
)
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed; suite.py torch runs this test"
)


@needs_mpi
def test_ranks_of_mpi_have_the_bits_of_one_process(script: Path) -> None:
    run = by_mpi(script)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("equal bits") == 4


@needs_mpi
def test_mpi_must_start_the_ranks_of_the_mesh(script: Path) -> None:
    run = by_mpi(script, ranks=2)
    assert run.returncode != 0
    assert "a mesh of dp=2,tp=2, which are 4 ranks, and mpi started 2 processes" in run.stderr


@needs_mpi
@pytest.mark.parametrize(
    ("failing", "problem"),
    [
        ("different", "rank 0 and rank 1 have different programs: start all with the same one; their 'arguments' is"),
        ("options", "their 'order of sums' is same and fast"),
        ("rows", "rank 0 stops, because rank 1 failed: argument 'x' has size 5 along dimension 0, got 4"),
    ],
)
def test_ranks_that_differ_are_refused(script: Path, failing: str, problem: str) -> None:
    run = by_mpi(script, failing)
    assert run.returncode != 0
    assert problem in run.stderr


@needs_mpi
def test_a_rank_that_fails_ends_all(script: Path) -> None:
    run = by_mpi(script, "index")
    assert run.returncode != 0
    assert "index 9 is out of range" in run.stderr


def test_a_missing_mpi_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(rx.OptionError, match="engine 'mpi' needs mpi4py and MPI: pip install mpi4py mpich"):
        MpiRank()


@needs_mpi
def test_a_missing_library_of_mpi_is_a_sentence() -> None:
    code = "from relax_mlir_shard.mpi import MpiRank; MpiRank()"
    environment = {**os.environ, "MPI4PY_LIBMPI": "/none/libmpi.so"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert "OptionError: engine 'mpi' needs mpi4py and MPI" in run.stderr


@needs_torch
def test_ranks_of_torch_have_the_bits_of_one_process(script: Path) -> None:
    for status, output in by_torch(script):
        assert (status, "equal bits" in output) == (0, True), output


@needs_torch
def test_a_rank_that_fails_ends_the_ranks_of_torch(script: Path) -> None:
    runs = by_torch(script, "index")
    assert all(status != 0 for status, _ in runs)
    assert any("index 9 is out of range" in output for _, output in runs)
