# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run with sharded programs."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.tools.relax_run import run
from relax_mlir_shard.engine_choice import engine_of_launcher
from relax_mlir_shard.network import Network


def run_tool(*arguments: str) -> tuple[int, str]:
    errors = io.StringIO()
    return run(list(arguments), io.StringIO(), io.StringIO(), errors), errors.getvalue()


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Save a sharded program, and the results of one process beside it."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8)), "w": rx.tensor((8, 6))}) as f:
        f.returns(relax.nn.softmax(relax.matmul(*f)))
    rx.compile(module).save(tmp_path / "one.rxa")
    assert run_tool(str(tmp_path / "one.rxa"), "--shape=x:4,8", f"--output={tmp_path / 'one.npy'}")[0] == 0
    path = tmp_path / "model.rxa"
    rx.compile(rx.shard(module, {"dp": 2, "tp": 2}, {"x": ("dp", None), "w": (None, "tp")})).save(path)
    return str(path)


def check_results(folder: Path) -> None:
    numpy.testing.assert_array_equal(numpy.load(folder / "ranks.npy"), numpy.load(folder / "one.npy"))


@pytest.mark.parametrize("ranks", ["4", "threads", "threads:4"])
def test_ranks_are_threads(tmp_path: Path, program: str, ranks: str) -> None:
    output = f"--output={tmp_path / 'ranks.npy'}"
    status, notes = run_tool(program, f"--ranks={ranks}", "--shape=x:4,8", "--threads=1", "--benchmark", output)
    assert status == 0, notes
    assert "4 ranks run by the engine 'threads'" in notes
    check_results(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'relax-mlir[mpi]'"
)
def test_ranks_are_processes_of_mpiexec(tmp_path: Path, program: str) -> None:
    here = Path(sys.executable)
    command = [here.with_name("mpiexec"), "-n", "4", here.with_name("relax-run"), program, "--shape=x:4,8"]
    run = subprocess.run([*command, f"--output={tmp_path / 'ranks.npy'}"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("4 ranks run by the engine 'mpi' (PMI_SIZE=4)") == 1
    assert run.stdout.count("float32") == 1
    check_results(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--ranks=3"], "a mesh of dp=2,tp=2, which are 4 ranks, got ranks=3"),
        (["--ranks=4x:2"], "no engine '4x'"),
        (["--ranks=mpi:x"], "option --ranks expects a number, an engine or both, as in mpi:4, got 'mpi:x'"),
        (["--ranks=4", "--profile"], "option --profile is for programs of one rank"),
        (["--shape=x:3,8"], "its size 3 along dimension 0 has no 2 equal parts"),
    ],
)
def test_options_are_checked(program: str, arguments: list[str], problem: str) -> None:
    status, errors = run_tool(program, *arguments)
    assert status == 1
    assert problem in errors


def test_other_programs_have_no_ranks(tmp_path: Path, program: str) -> None:
    status, errors = run_tool(str(tmp_path / "one.rxa"), "--ranks=2", "--shape=x:4,8")
    assert (status, "has no plan for several ranks" in errors) == (1, True)


def test_the_measured_network_is_written(tmp_path: Path) -> None:
    path, output = tmp_path / "network.json", io.StringIO()
    assert run([f"--measure-network={path}", "--ranks=threads:2"], io.StringIO(), output, io.StringIO()) == 0
    network = Network.read(str(path))
    assert output.getvalue() == f"{network}\n"
    assert 1e-7 < network.alpha < 0.1
    assert 1e-13 < network.beta < 1e-6
    assert "needs 2 ranks or more, and threads has 1" in run_tool("--measure-network", "--ranks=1")[1]
    assert "no engine 'none'" in run_tool("--measure-network", "--ranks=none")[1]


@pytest.mark.parametrize(
    ("variables", "chosen"),
    [
        ({"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}, ("torch", "WORLD_SIZE=2")),
        ({"WORLD_SIZE": "2", "SLURM_STEP_NUM_TASKS": "2"}, ("torch", "WORLD_SIZE=2")),
        ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3"}, ("mpi", "SLURM_STEP_NUM_TASKS=4")),
        ({"SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "4"}, ("threads", "")),
        ({"PMI_SIZE": ""}, ("threads", "")),
    ],
)
def test_variables_of_launchers_choose_the_engine(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], chosen: tuple[str, str]
) -> None:
    for name in ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert engine_of_launcher() == chosen
