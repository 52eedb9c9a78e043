# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type checkers know operators' builders and schedules' steps: by the stubs that tools/dev/gen_stubs.py writes."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from installing import PACKAGE_DIR, REPOSITORY

GOOD = """
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.ir import Operation, Value

def layer(x: Value, w: Value) -> Value:
    y: Value = relax.nn.conv2d(x, w, strides=(2, 2))
    return relax.sum(relax.nn.relu(y), axis=1, loc=x.location)

def names(op: Operation) -> list[str]:
    return [each.name for block in op.regions[0].blocks for each in block.operations]

def scheduled(module: rx.Module) -> rx.Module:
    sch = rx.Schedule(module)
    i, *rest = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, 6])
    sch.reorder(i_0, *rest, i_1)
    sch.transform_layout("C", ("write", 0), lambda i, j: (j, i))
    sch.compute_at(sch.cache_read("C", 0, "local"), i_0)
    return sch.mod
"""
WRONG = """
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.ir import Operation, Value

def layer(x: Value, op: Operation) -> None:
    relax.sum(x, axs=1)
    relax.nn.conv2d(x)
    relax.nn.relu7(x)
    op.operand
    relax.exp(x, ip=x.location)

def scheduled(sch: rx.Schedule) -> None:
    block = sch.get_block("C")
    sch.split(block, [None, 6])
    sch.split(sch.get_loops(block)[0], factor=[None, 6])
    sch.bind(sch.get_loops(block)[0], 3)
"""
ERRORS = [
    (7, 'Unexpected keyword argument "axs" for "sum"; did you mean "axis"?'),
    (8, 'Missing positional argument "weight" in call to "conv2d" of "_nn"'),
    (9, '"_nn" has no attribute "relu7"; maybe "relu" or "prelu"?'),
    (10, '"Operation" has no attribute "operand"'),
    (11, 'Argument "ip" to "exp" has incompatible type "Location"; expected "InsertionPoint | None"'),
    (15, 'Argument 1 to "split" of "Steps" has incompatible type "BlockRV"; expected "LoopRV"'),
    (16, 'Unexpected keyword argument "factor" for "split" of "Steps"; did you mean "factors"?'),
    (17, 'Argument 2 to "bind" of "Steps" has incompatible type "int"; expected "str"'),
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
def test_mypy_knows_operators_operations_and_steps(package: Path) -> None:
    assert found(package, GOOD) == []
    assert found(package, WRONG) == ERRORS
