# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type checkers know the operators' builders and the schedules' steps.

Stubs of this package are from tools/dev/gen_stubs.py, and stubs of other packages from tools/stubs.py.
"""

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

def program(module: rx.Module) -> rx.runtime.Executable:
    return rx.compile(rx.lower(module, "llvm", donate=["x"]), opt_level=3, cache=False)
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

def program(module: rx.Module) -> None:
    rx.compile(module, opt_lvl=3)
    rx.compile(module, jobs="2")
    rx.lower(module, jobs=2)
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
    (20, 'Unexpected keyword argument "opt_lvl" for "compile"; did you mean "opt_level"?'),
    (21, 'Argument "jobs" to "compile" has incompatible type "str"; expected "int | None"'),
    (22, 'Unexpected keyword argument "jobs" for "lower"'),
]

OWN_STEPS = '''
import relax_mlir as rx
from relax_mlir.passes.kernels.loops.handles import IndexMap, LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit


@rx.register_primitive
def unroll_few(edit: Edit, loop: LoopRV, most: int = 4, map: IndexMap = ()) -> None:
    """Unrolls short loops."""
'''
OWN = '''
from __future__ import annotations

from functools import cache

import relax_mlir as rx

from . import steps

acme, VERSION = rx.Dialect("acme", doc="Of this test."), 3
SCALE = 2.0


@cache
def known() -> list[str]:
    return ["scaled"]


class Schedule(rx.Schedule):
    """With this package's steps."""


@rx.rules.register_legalize("relax.exp", target="c")
def exp(call: object) -> rx.Decline:
    return rx.Decline("not here")


def like_x(call):
    return call.x


acme.op("scaled", "x bias?", attrs={"axis": rx.attrs.Int(0)}, infer=like_x, doc='Says "scaled"')
acme.op("nn.pair", "*xs", results="first second", infer=lambda call: [call.xs[0]] * 2, doc="Two of them.")
'''
OWN_GOOD = """
import relax_mlir as rx
from acme.ops import SCALE, Schedule, acme, exp, known
from relax_mlir.bindings.ir import Value

def layer(x: Value) -> Value:
    first, second = acme.nn.pair([x, acme.scaled(x, axis=1, loc=x.location)])
    number: float = SCALE
    names: list[str] = [*known(), acme.name]
    declined: rx.Decline = exp(x)
    return acme.scaled(first, second)

def scheduled(module: rx.Module) -> rx.Module:
    sch = Schedule(module)
    sch.unroll_few(sch.get_loops("C")[0], most=2)
    return sch.mod
"""
OWN_WRONG = """
from acme.ops import Schedule, acme
from relax_mlir.bindings.ir import Value

def layer(x: Value, sch: Schedule) -> None:
    acme.scaled(x, axs=1)
    acme.scaled(x, axis="x")
    acme.scaled7(x)
    acme.nn.pear(x)
    sch.unroll_few("C")
"""
OWN_ERRORS = [
    (6, 'Unexpected keyword argument "axs" for "scaled" of "_acme"; did you mean "axis"?'),
    (7, 'Argument "axis" to "scaled" of "_acme" has incompatible type "str"; expected "SupportsIndex"'),
    (8, '"_acme" has no attribute "scaled7"; maybe "scaled"?'),
    (9, '"_nn" has no attribute "pear"'),
    (10, 'Argument 1 to "unroll_few" of "Schedule" has incompatible type "str"; expected "LoopRV"'),
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with the package as pyproject.toml composes it."""
    (tmp_path / "relax_mlir").mkdir()
    for name, place in PACKAGE_DIR.items():
        for each in (REPOSITORY / place).glob("*.py*") if name == "relax_mlir" else [REPOSITORY / place]:
            (tmp_path / "relax_mlir" / each.name).symlink_to(each)
    return tmp_path


def found(folder: Path, text: str) -> list[tuple[int, str]]:
    """Return the lines and texts of mypy's errors in a program."""
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


def write_stubs(folder: Path, *modules: str) -> subprocess.CompletedProcess[str]:
    """Run the tool in a folder with the package `acme`."""
    (folder / "acme").mkdir()
    (folder / "acme" / "__init__.py").write_text("")
    (folder / "acme" / "ops.py").write_text(OWN)
    (folder / "acme" / "steps.py").write_text(OWN_STEPS)
    (folder / "acme" / "layers.py").write_text("from .ops import acme")
    command = [sys.executable, "-m", "relax_mlir.tools.stubs", *modules]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("module", ["acme.ops", "acme.layers", "acme/ops.py"])
def test_the_stub_of_an_own_dialect(tmp_path: Path, module: str) -> None:
    done = write_stubs(tmp_path, module)
    assert (done.returncode, done.stderr) == (0, "")
    stub = tmp_path / "acme" / "ops.pyi"
    assert done.stdout == f"{stub}\n"
    lines = stub.read_text().splitlines()
    for line in (
        "acme: _acme",
        "VERSION: Any",
        """        'Says "scaled"'""",
        "SCALE = 2.0",
        "        def pair(xs: Value | Sequence[Value] = ..., **at: Unpack[At]) -> tuple[Value, Value]:",
        "    def unroll_few(self, loop: LoopRV, most: int = ..., map: IndexMap | Callable[..., object] = ...) -> None:",
    ):
        assert line in lines
    assert not any("acme.op(" in line or "return " in line for line in lines)


def test_where_there_is_no_dialect_nothing_is_written(tmp_path: Path) -> None:
    done = write_stubs(tmp_path, "acme")
    assert done.returncode == 1
    assert done.stderr == (
        "relax_mlir.tools.stubs: error: acme: no rx.Dialect is assigned to a name there: nothing to write\n"
    )
    assert list(tmp_path.rglob("*.pyi")) == []


def test_stubs_are_written_again_and_those_of_others_stay(tmp_path: Path) -> None:
    assert write_stubs(tmp_path, "acme.ops").returncode == 0
    again = [sys.executable, "-m", "relax_mlir.tools.stubs", "acme.ops"]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True, timeout=600).returncode == 0
    own = tmp_path / "acme" / "ops.pyi"
    own.write_text("by hand")
    done = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and f"{own} was written by something else" in done.stderr
    assert own.read_text() == "by hand"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed: it comes with the extra `dev`")
def test_mypy_knows_operators_and_steps_of_another_package(package: Path) -> None:
    assert write_stubs(package, "acme.ops").returncode == 0
    assert found(package, OWN_GOOD) == []
    assert found(package, OWN_WRONG) == OWN_ERRORS
