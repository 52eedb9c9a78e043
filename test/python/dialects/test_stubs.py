# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type checkers know the operators' builders: by the stubs that tools/dev/gen_stubs.py writes from the tables."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from installing import PACKAGE_DIR, REPOSITORY

GOOD = """
from relax_mlir import relax
from relax_mlir.bindings.ir import Operation, Value

def layer(x: Value, w: Value) -> Value:
    y: Value = relax.nn.conv2d(x, w, strides=(2, 2))
    return relax.sum(relax.nn.relu(y), axis=1, loc=x.location)

def names(op: Operation) -> list[str]:
    return [each.name for block in op.regions[0].blocks for each in block.operations]
"""
WRONG = """
from relax_mlir import relax
from relax_mlir.bindings.ir import Operation, Value

def layer(x: Value, op: Operation) -> None:
    relax.sum(x, axs=1)
    relax.nn.conv2d(x)
    relax.nn.relu7(x)
    op.operand
    relax.exp(x, ip=x.location)
"""
ERRORS = [
    (6, 'Unexpected keyword argument "axs" for "sum"; did you mean "axis"?'),
    (7, 'Missing positional argument "weight" in call to "conv2d" of "_nn"'),
    (8, '"_nn" has no attribute "relu7"; maybe "relu" or "prelu"?'),
    (9, '"Operation" has no attribute "operand"'),
    (10, 'Argument "ip" to "exp" has incompatible type "Location"; expected "InsertionPoint | None"'),
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the package in it, put together as pyproject.toml says."""
    (tmp_path / "relax_mlir").mkdir()
    for name, place in PACKAGE_DIR.items():
        for each in (REPOSITORY / place).glob("*.py*") if name == "relax_mlir" else [REPOSITORY / place]:
            (tmp_path / "relax_mlir" / each.name).symlink_to(each)
    return tmp_path


def found(folder: Path, text: str) -> list[tuple[int, str]]:
    """The lines and texts of mypy's errors in a program."""
    (folder / "program.py").write_text(text)
    options = ["--no-error-summary", "--hide-error-codes", "--follow-imports=silent", "--ignore-missing-imports"]
    command = [sys.executable, "-m", "mypy", *options, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.stderr == ""
    lines = [line.split(":", 3) for line in done.stdout.splitlines() if ": error: " in line]
    return [(int(line), text.strip()) for _, line, _, text in lines]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed: it comes with the extra `dev`")
def test_mypy_knows_operators_and_operations(package: Path) -> None:
    assert found(package, GOOD) == []
    assert found(package, WRONG) == ERRORS
