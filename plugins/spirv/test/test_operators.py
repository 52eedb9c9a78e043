# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator, compiled for vulkan and opencl and run by real drivers, against the CPU's code."""

from __future__ import annotations

from typing import Any

import pytest
import real_devices
import spirv_validation
from against_cpu import CASES, IDS, program, wrong_operators
from real_devices import with_more
from relax_mlir.runtime import Executable
from relax_mlir_spirv.abi import unpacked
from relax_mlir_spirv.device_kernels import block_needs

#: Options of the smallest devices, also with small subgroups.
SMALL = ("threads=128 shared=16384", "threads=128 shared=16384 subgroup=4 version=1.3")


@pytest.mark.slow
@pytest.mark.parametrize(("family", "is_open"), CASES, ids=IDS)
@pytest.mark.parametrize("kind", real_devices.KINDS)
def test_operators(kind: str, family: str, is_open: bool) -> None:
    real_devices.skip_without(kind)
    executable = program(family, is_open, real_devices.target(kind))
    spirv_validation.check(executable)
    check(executable, family, is_open)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "is_open"), CASES, ids=IDS)
@pytest.mark.parametrize("more", SMALL)
def test_operators_on_small_devices(more: str, family: str, is_open: bool) -> None:
    """Compile for the minimum of Vulkan's devices: no block has more threads or more memory."""
    real_devices.skip_without("vulkan")
    executable = program(family, is_open, with_more(real_devices.target("vulkan"), more))
    spirv_validation.check(executable)
    needs = [block_needs(each.module) for each in unpacked(executable._artifact.devices[0].data)[0]]
    assert needs and all(each.threads <= 128 and each.shared_bytes <= 16 << 10 for each in needs)
    check(executable, family, is_open)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "is_open"), CASES, ids=IDS)
def test_operators_as_text(family: str, is_open: bool) -> None:
    """Compile to OpenCL C."""
    real_devices.skip_without("opencl")
    executable = program(family, is_open, "opencl{language=c}")
    assert {each.format for each in executable._artifact.devices} == {"opencl-c"}
    check(executable, family, is_open)


def check(executable: Executable, family: str, is_open: bool) -> None:
    functions = executable.copying()

    def run(function: str, *given: Any) -> Any:
        return functions[function](*given)

    wrong = list(wrong_operators(family, is_open, run))
    assert not wrong, "\n".join(wrong)
