# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repeated and changed cells of a notebook with declarations; duplicates elsewhere are refused."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

#: A cell that makes every kind of declaration, for an operator that gives `factor * x`.
CELL = """
import relax_mlir as rx
from relax_mlir import relax, tir
from relax_mlir.patterns import is_op, wildcard
from dataclasses import dataclass
from typing import ClassVar

FACTOR = {factor}
d = rx.Dialect("cells", doc="Of a notebook.")
d.op("times", "x", infer=lambda call: call.x, doc="FACTOR * x.")
tir.declare_intrinsic("twice", "x", dialect=d, doc="2 * x.")
rx.register_target(rx.Target("celltarget", doc="The {factor}th.", parents=("llvm",)))

@rx.register_legalize("cells.times")
def times(call):
    return call.elementwise(lambda x: x * float(FACTOR))

@rx.register_lower_intrinsic("cells.twice")
def twice(op):
    return rx.number(op.x) + rx.number(op.x)

@rx.register_gradient("cells.times")
def gradient(call):
    return relax.multiply(call.gradient, relax.const(float(FACTOR)))

rx.register_precision("cells.times", "{precision}")

@rx.register_codegen("cellunit")
class Unit(rx.Codegen):
    patterns = (("cellunit.exp", is_op("relax.exp")(wildcard())),)

    def compile(self, module, options):
        return b"{factor}"

    def load(self, data):
        return {{}}

@rx.register_pass
@dataclass(frozen=True)
class Nothing(rx.Pass):
    \"\"\"Does nothing.\"\"\"

    name: ClassVar[str] = "cell-nothing"

    def run(self, op):
        pass

def result():
    import numpy
    module = rx.Module()
    with module.function("main", {{"x": rx.tensor((2,))}}) as f:
        f.returns(d.times(*f))
    module.verify()
    return module, rx.compile(module, jobs=1, cache=False)["main"](numpy.ones(2, "float32"))[0]
"""

#: Runs cells as a notebook does: in one namespace, each under a name that no file has.
NOTEBOOK = """
import sys
for number, cell in enumerate({cells!r}):
    exec(compile(cell, f"/tmp/ipykernel_{{number}}/{{hash(cell)}}.py", "exec"), globals())
"""


def run(*cells: str, file: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = NOTEBOOK.format(cells=[textwrap.dedent(cell) for cell in cells])
    if file is not None:
        file.write_text(program)
    command = [sys.executable, str(file)] if file is not None else [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_a_cell_is_run_again_as_it_is_and_changed() -> None:
    first, changed = (CELL.format(factor=factor, precision="follow") for factor in (3, 5))
    used = "old, value = result(); print(value)"
    again = CELL.format(factor=7, precision="never")
    # Modules from before stay usable, with the operator's old definition.
    before = (
        "old.verify(); rx.Pipeline('cell-nothing,relax-canonicalize').run(old); print(str(old).count('cells.times'))"
    )
    found = run(first, used, first, used, changed, used, again, used, before)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["3.0", "3.0", "5.0", "7.0", "1"]


def test_an_operator_alone_is_declared_again() -> None:
    again = 'd.op("times", "x y", infer=lambda call: call.y, doc="The other one.")'
    both = """
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,)), "y": rx.tensor((3,))}) as f:
        f.returns(d.times(*f))
    module.verify()
    print(str(module).count("-> tensor<3xf32>"))
    """
    found = run(CELL.format(factor=3, precision="never"), "result()", again, both)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["2"]


@pytest.mark.parametrize(
    ("declaring", "message"),
    [
        ('rx.Dialect("doubled")', "dialect 'doubled' is declared twice: at {place}:4 and at {place}:4"),
        ('made.op("o", "x", infer=lambda call: call.x, doc="")', "operator mine.o is declared twice: at {place}:4"),
        (
            'rx.register_target(rx.Target("doubled", doc=str(count), parents=("llvm",)))',
            "target 'doubled' is registered twice: at {place}:4 and at {place}:4",
        ),
    ],
)
def test_a_double_in_a_file_is_refused_with_both_places(declaring: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "doubles.py"
    text = f'import relax_mlir as rx\nmade = rx.Dialect("mine")\nfor count in range(2):\n    {declaring}\n'
    file.write_text(text)
    command = [sys.executable, str(file)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode == 1
    assert message.format(place=f"{tmp_path.name}/doubles.py") in found.stderr


def test_a_target_that_is_declared_again_has_its_new_options() -> None:
    """Parse a target's text once, and forget the result when the cell runs again."""
    cell = """
    import relax_mlir as rx
    options = {options}
    rx.register_target(rx.Target("celltarget", parents=("llvm",), options=options))
    """
    used = """
    try:
        print(len(rx.Pipeline("relax-legalize-ops{target=celltarget{size=2}}").steps))
    except rx.RelaxError as error:
        print(error.message.split("'")[2].strip())
    """
    option = '(rx.TargetOption("size", "of something"),)'
    found = run(cell.format(options=option), used, cell.format(options="()"), used)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["1", "has no option"]
