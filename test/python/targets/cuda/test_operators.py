# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator, compiled for cuda and run on the emulator of GPUs, gives what the CPU's code gives.

`make gpu-emulated` runs all tests of operators so, test_legalize_*.py, which compare with others' results.
"""

from __future__ import annotations

import functools

import numpy
import pytest
from emulated_gpu import run_emulated
from gpu_operator_cases import FAMILIES, cases_of, function_name, module_of
from relax_mlir.passes.legalize.rules import rules_by_op
from relax_mlir.runtime import Executable, tensor, to_numpy

import relax_mlir as rx


@functools.cache
def programs(family: str, is_open: bool) -> tuple[Executable, Executable]:
    """For the CPU and for cuda."""
    module = module_of(cases_of(family, is_open), is_open)
    return rx.compile(module), rx.compile(module, "cuda")


#: Of elements alone the code is the same whether sizes are known or not.
CASES = [(family, is_open) for family in FAMILIES for is_open in (False, True) if is_open or family != "elementwise"]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "is_open"), CASES, ids=[f"{each}-{'open' if o else 'known'}" for each, o in CASES])
def test_operators(family: str, is_open: bool) -> None:
    on_cpu, on_device = programs(family, is_open)
    wrong = []
    for name, case in cases_of(family, is_open).items():
        function, given = function_name(name), [tensor(each) for each in case.arrays]
        expected, found = on_cpu[function](*given), run_emulated(on_device, *given, function=function)
        held = [output.get("holds") for output in on_cpu.signature(function)["outputs"]]
        pairs = [(expected, found)] if len(held) == 1 else list(zip(expected, found, strict=True))
        for (one, other), dtype in zip(pairs, held, strict=True):
            wrong += differences(name, to_numpy(one, dtype), to_numpy(other, dtype))
    assert not wrong, "\n".join(wrong)


def differences(name: str, expected: numpy.ndarray, found: numpy.ndarray) -> list[str]:
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return [f"{name}: {found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"]
    if expected.dtype.kind != "f":
        return [] if (expected == found).all() else [f"{name}: {found} instead of {expected}"]
    close = numpy.isclose(found, expected, rtol=2e-5, atol=2e-6, equal_nan=True)
    return [] if close.all() else [f"{name}: {found[~close]} instead of {expected[~close]}"]


def test_every_operator_has_a_case() -> None:
    """A new operator gets a line in gpu_operator_cases.py."""
    cased = {f"relax.{name.partition(' ')[0]}" for family in FAMILIES.values() for name in family}
    ruled = {name for name in rules_by_op("cuda") if name.startswith("relax.")}
    assert sorted(ruled - cased) == [] and sorted(cased - ruled) == []
