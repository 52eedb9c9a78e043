# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator, compiled for vulkan and opencl and run by real drivers, gives what the CPU's code gives."""

from __future__ import annotations

from typing import Any

import pytest
import real_devices
import spirv_validation
from against_cpu import CASES, IDS, program, wrong_operators


@pytest.mark.slow
@pytest.mark.parametrize(("family", "is_open"), CASES, ids=IDS)
@pytest.mark.parametrize("kind", real_devices.KINDS)
def test_operators(kind: str, family: str, is_open: bool) -> None:
    real_devices.skip_without(kind)
    executable = program(family, is_open, real_devices.target(kind))
    spirv_validation.check(executable)
    functions = executable.copying()

    def run(function: str, *given: Any) -> Any:
        return functions[function](*given)

    wrong = list(wrong_operators(family, is_open, run))
    assert not wrong, "\n".join(wrong)
