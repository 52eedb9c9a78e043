# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each primitive has one file, a lit test and refusals in a table. It is found without an import of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import relax_mlir_tvm.primitives
from lit_schedules import read_table
from relax_mlir.passes.kernels.loops.primitives import _OF_TVM, find_primitive, primitive_names
from tvm_steps import TVM_STEPS

LIT = Path(__file__).parent / "primitives"
PACKAGE = "relax_mlir_tvm.primitives."
OURS = [name for name in primitive_names() if find_primitive(name).function.__module__.startswith(PACKAGE)]
#: Steps that only look at the loops, or that other steps draw from.
_NOT_RANDOM = {"get_output_blocks", "get_producers", "get_consumers", "unannotate", "sample_partitioned_tile"}
#: Steps of the core that TVM has with more arguments.
_DECISIONS_OF_THE_CORE = {"sample_categorical", "sample_perfect_tile"}

UNKNOWN = """
import relax_mlir as rx
from relax_mlir import te

x = te.placeholder((8,), name="x")
schedule = rx.Schedule(te.create_prim_func([x, te.compute((8,), lambda i: x[i] * 2, name="y")]))
text = "# schedule 1\\nsch.cache_index('y', 'global')"
for call in (lambda: schedule.cache_index("y", "global"), lambda: schedule.replay(text)):
    try:
        call()
    except (AttributeError, rx.RelaxError) as error:
        print(type(error).__name__, error)
print(*(name for name in dir(schedule) if name == "cache_index"))
"""


@pytest.mark.parametrize("name", OURS)
def test_each_is_found_by_its_name(name: str) -> None:
    primitive = find_primitive(name)
    assert primitive.function.__module__ == PACKAGE + name
    assert primitive.usage.startswith(f"{name}(") and "'" not in primitive.usage and primitive.summary.endswith(".")
    assert f"sch.{name}" in (LIT / f"{name}.py").read_text(encoding="utf-8")
    refusals = [each for table in LIT.glob("refusals-*.py") for each in read_table(table)[1]]
    assert any(f"sch.{name}(" in step for each in refusals if each.section == name for step in each.steps)


def test_the_core_knows_the_names() -> None:
    assert set(OURS) == _OF_TVM
    files = {file.stem for file in Path(relax_mlir_tvm.primitives.__file__).parent.glob("*.py")}
    assert files == {*OURS, "__init__", "inverse_points"}
    assert {*TVM_STEPS, *_NOT_RANDOM} == {*OURS, *_DECISIONS_OF_THE_CORE}


def run(code: str, **environment: str) -> list[str]:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_error_names_the_package() -> None:
    attribute, replayed, listed = run(UNKNOWN, RELAX_MLIR_DISABLED_PLUGINS="relax_mlir_tvm*")
    assert attribute.startswith("AttributeError a schedule has no 'cache_index': it is in the package relax_mlir_tvm")
    assert "RelaxError line 2 of the schedule" in replayed and "it is in the package relax_mlir_tvm" in replayed
    assert listed == ""


def test_the_package_is_imported_for_its_steps_only() -> None:
    code = """
import sys
import relax_mlir as rx
from relax_mlir import te

x = te.placeholder((8,), name="x")
schedule = rx.Schedule(te.create_prim_func([x, te.compute((8,), lambda i: x[i] * 2, name="y")]))
schedule.split(schedule.get_loops("y")[0], [None, 4])
print("relax_mlir_tvm" in sys.modules)
schedule.get_output_blocks()
print("relax_mlir_tvm" in sys.modules)
"""
    assert run(code) == ["False", "True"]
