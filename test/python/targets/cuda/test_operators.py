# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator, compiled for cuda and run on the emulator of GPUs, against the CPU's code.

`suite.py gpu-emulated` runs all tests of operators in this way: test_legalize_*.py compare with independent results.
"""

from __future__ import annotations

from typing import Any

import pytest
from against_cpu import CASES, IDS, program, wrong_operators
from emulated_gpu import run_emulated
from gpu_operator_cases import FAMILIES
from relax_mlir.passes.legalize.rules import rules_by_op
from relax_mlir.targets.default.legalize_decompositions import WITHOUT_LOOPS


@pytest.mark.slow
@pytest.mark.parametrize(("family", "is_open"), CASES, ids=IDS)
def test_operators(family: str, is_open: bool) -> None:
    def run(function: str, *given: Any) -> Any:
        return run_emulated(program(family, is_open, "cuda"), *given, function=function)

    wrong = list(wrong_operators(family, is_open, run))
    assert not wrong, "\n".join(wrong)


def test_every_operator_has_a_case() -> None:
    """Check that gpu_operator_cases.py has a line for each operator."""
    cased = {f"relax.{name.partition(' ')[0]}" for family in FAMILIES.values() for name in family}
    ruled = {name for name in rules_by_op("cuda") if name.startswith("relax.")} - {*WITHOUT_LOOPS}
    assert sorted(ruled - cased) == [] and sorted(cased - ruled) == []
