# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile and relax-run with .pt2 files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

COMPILE = Path(sys.executable).parent / "relax-compile"


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inner(x))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shapes = ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(Model(), (torch.randn(3, 4),), dynamic_shapes=shapes), tmp_path / "model.pt2")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(COMPILE), *arguments, "--cache-dir", str(folder / "cache")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_program_of_a_file(folder: Path) -> None:
    assert run(folder, "model.pt2").returncode == 0
    program = str(COMPILE.with_name("relax-run"))
    done = subprocess.run([program, "model.rxa", "--shape", "x:5,4"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and "5, 2" in done.stdout, done.stdout + done.stderr


def test_check(folder: Path) -> None:
    done = run(folder, "model.pt2", "--check")
    assert (done.returncode, done.stdout) == (0, "model.pt2: all nodes can be imported\n")


def test_the_module_of_a_file(folder: Path) -> None:
    done = run(folder, "model.pt2", "--emit=relax")
    assert "relax.nn.relu" in done.stdout and '["x_0", 4]' in done.stdout


def test_shapes_are_the_programs_own(folder: Path) -> None:
    done = run(folder, "model.pt2", "--shape", "x:1,4")
    assert done.returncode == 1 and "dynamic_shapes of torch.export.export say which sizes change" in done.stderr


def test_a_file_that_is_no_program(folder: Path) -> None:
    (folder / "other.pt2").write_text("none")
    done = run(folder, "other.pt2")
    assert done.returncode == 1 and "is not a program that torch" in done.stderr and "Traceback" not in done.stderr
    assert not (folder / "other.rxa").exists()


def test_the_list_of_operators(folder: Path) -> None:
    done = run(folder, "--list-torch-operators")
    assert done.returncode == 0 and "aten::linear " in done.stdout


class Counting(nn.Module):
    """Model with state, complex numbers, a size as an argument, and results in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor, turn: torch.Tensor, times: int, flag: bool) -> dict[str, object]:
        self.count.add_(1)
        return {"sum": x * self.count * times, "turn": turn * 2, "rows": x.shape[0], "none": None, "flag": flag}


def test_results_are_compared_with_torch(folder: Path) -> None:
    shapes = ({0: torch.export.Dim("batch")}, None, torch.export.Dim.DYNAMIC, None)
    args = (torch.randn(3, 4), torch.ones(2, dtype=torch.complex64), 3, True)
    torch.export.save(torch.export.export(Counting(), args, dynamic_shapes=shapes), folder / "counting.pt2")
    assert run(folder, "counting.pt2").returncode == 0
    program = str(COMPILE.with_name("relax-run"))
    command = [program, "counting.rxa", "--shape=x:5,4", "--compare"]
    done = subprocess.run([*command, "counting.pt2"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("close") == 4
    done = subprocess.run([*command, "model.pt2"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "the program has 4 inputs, 'model.pt2' 1" in done.stderr
