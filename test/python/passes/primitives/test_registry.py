# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each primitive has one file and two lit tests: for its effect and for its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from relax_mlir.passes.loops.primitives import find_primitive, primitive_names

LIT = Path(__file__).resolve().parents[3] / "passes" / "primitives"
PACKAGE = "relax_mlir.passes.primitives."
OURS = [name for name in primitive_names() if find_primitive(name).function.__module__.startswith(PACKAGE)]


@pytest.mark.parametrize("name", OURS)
def test_each_is_found_by_its_name(name: str) -> None:
    primitive = find_primitive(name)
    assert primitive.function.__module__ == PACKAGE + name
    assert primitive.usage.startswith(f"{name}(") and "'" not in primitive.usage and primitive.summary.endswith(".")
    for file in (f"{name}.py", f"{name}-invalid.py"):
        assert f"sch.{name}" in (LIT / file).read_text(encoding="utf-8"), file


def test_all_of_tvms_that_were_asked_for_are_there() -> None:
    assert set(OURS) >= set(
        "get_block get_loops split fuse reorder tile vectorize unroll parallel bind compute_at reverse_compute_at "
        "compute_inline cache_read cache_write pad_einsum transform_layout tensorize "
        "decompose_reduction rfactor set_scope annotate".split()
    )
