# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search of a rule's decisions: the simulated accelerator of examples/npu, tuned by its own clock."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.tuning import decided_schedule
from relax_mlir_tune.decisions import DecisionSpace, point_of, schedule_of
from relax_mlir_tune.measuring import Job
from relax_mlir_tune.space import machine_of
from relax_mlir_tune.tasks import Task, tasks_of

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "npu"
PLUGIN = str(EXAMPLE / "npu" / "__init__.py")
sys.path.insert(0, str(EXAMPLE))

import npu  # noqa: E402, F401  # registers the target


def product(rows: int = 96, depth: int = 256) -> rx.Module:
    with rx.Module() as module:
        weights = numpy.random.default_rng(0).integers(-8, 8, (depth, 128)).astype("int8")
        with module.function("main", {"x": rx.tensor((rows, depth), "i8")}) as f:
            (x,) = f
            f.returns(relax.matmul(x, relax.const(weights), out_dtype="int32"))
    return module


@pytest.fixture(scope="module")
def task() -> Task:
    (found,) = tasks_of(product(), "npu")
    return found


def job_of(task: Task) -> Job:
    return Job(task.key, task.module.bytecode(), "npu", 1)


def space_of_task(task: Task) -> DecisionSpace:
    made = decided_schedule(task.module, "npu")
    assert made is not None
    return DecisionSpace(made, machine_of("npu"))


def test_the_default_is_one_point(task: Task) -> None:
    made = decided_schedule(task.module, "npu")
    assert made is not None and made.rule == "rows_of_a_product"
    assert made.taken == ((1, 96), 2, 3) == tuple(each.default for each in made.decisions)
    assert schedule_of(task.module, "npu", point_of(made.rule, made.taken)) == made
