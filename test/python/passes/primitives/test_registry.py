# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each primitive has one file, a lit test of its effect, and refusals in a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from lit_schedules import read_table
from relax_mlir.passes.kernels.loops.primitives import find_primitive, primitive_names

LIT = Path(__file__).resolve().parents[3] / "passes" / "primitives"
PACKAGE = "relax_mlir.passes.kernels.primitives."
OURS = [name for name in primitive_names() if find_primitive(name).function.__module__.startswith(PACKAGE)]


@pytest.mark.parametrize("name", OURS)
def test_each_is_found_by_its_name(name: str) -> None:
    primitive = find_primitive(name)
    assert primitive.function.__module__ == PACKAGE + name
    assert primitive.usage.startswith(f"{name}(") and "'" not in primitive.usage and primitive.summary.endswith(".")
    assert f"sch.{name}" in (LIT / f"{name}.py").read_text(encoding="utf-8")
    refusals = [each for table in LIT.glob("refusals-*.py") for each in read_table(table)[1]]
    assert any(f"sch.{name}(" in step for each in refusals if each.section == name for step in each.steps)


def test_the_requested_primitives_of_tvm_exist() -> None:
    assert set(OURS) >= set(
        "get_block get_loops split fuse reorder tile vectorize unroll parallel bind compute_at reverse_compute_at "
        "compute_inline cache_read cache_write pad_einsum transform_layout tensorize "
        "decompose_reduction rfactor set_scope annotate".split()
    )
