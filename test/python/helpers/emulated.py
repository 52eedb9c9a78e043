# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of kernels in the emulator like in a program: by calls of the emulated driver."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy
from gpu_emulator.driver import Checks, EmulatedCuda
from gpu_emulator.tensors import CudaTensor


@dataclass
class Result:
    """Unwritten array in device memory."""

    shape: tuple[int, ...]
    dtype: Any


def started(**options: Any) -> EmulatedCuda:
    """Return a driver with the first device's context current."""
    driver = EmulatedCuda(**options)
    must(driver, driver.cuInit(0))
    context = ctypes.c_void_p()
    must(driver, driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(driver, driver.cuCtxPushCurrent_v2(context))
    return driver


def must(driver: EmulatedCuda, code: int) -> None:
    assert code == 0, (code, driver.refusals, driver.faults)


def loaded(driver: EmulatedCuda, text: str, name: str) -> ctypes.c_void_p:
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    must(driver, driver.cuModuleLoadData(ctypes.byref(module), text.encode()))
    must(driver, driver.cuModuleGetFunction(ctypes.byref(kernel), module, name.encode()))
    return kernel


def pointers(values: list[Any]) -> Any:
    """Return the array of pointers that cuLaunchKernel takes. The array keeps the values alive."""
    found = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    found.kept = values
    return found


def three(size: int | tuple[int, ...]) -> tuple[int, ...]:
    return (*(size if isinstance(size, tuple) else (size,)), 1, 1)[:3]


def run(
    text: str,
    *arguments: Any,
    grid: int | tuple[int, ...] = 1,
    block: int | tuple[int, ...] = 32,
    name: str = "kernel",
    shared: int = 0,
    capability: tuple[int, int] = (8, 0),
    checks: Checks | None = None,
) -> list[Any]:
    """Launch a kernel and return the array arguments after the launch. Findings of the emulator are raised."""
    driver = started(capability=capability, checks=checks or Checks())
    kernel = loaded(driver, text, name)
    tensors = [
        CudaTensor(driver, numpy.zeros(each.shape, each.dtype) if isinstance(each, Result) else each, label="argument")
        if isinstance(each, (Result, numpy.ndarray))
        else None
        for each in arguments
    ]
    for tensor, each in zip(tensors, arguments, strict=True):
        if isinstance(each, Result) and tensor is not None:
            start = tensor.allocation.start
            driver.memory.state[start : start + tensor.allocation.size] = 1
    values = [
        ctypes.c_uint64(tensor.address) if tensor else each for tensor, each in zip(tensors, arguments, strict=True)
    ]
    if shared > 48 << 10:
        must(driver, driver.cuFuncSetAttribute(kernel, 8, shared))
    sizes = (*three(grid), *three(block))
    must(driver, driver.cuLaunchKernel(kernel, *sizes, shared, None, pointers(values), None))
    driver.check()
    return [tensor.to_numpy() for tensor in tensors if tensor]


HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
_REGISTERS = """
    .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %d<64>;
    mov.u32 %r60, %tid.x; mov.u32 %r61, %ctaid.x; mov.u32 %r62, %ntid.x; mad.lo.s32 %r63, %r61, %r62, %r60;
"""


def kernel(body: str, arguments: int = 1, before: str = "") -> str:
    """Return a kernel with pointers in %d1, %d2, ...; %r60 is the thread, %r61 the block, %r63 the global thread."""
    parameters = ", ".join(f".param .u64 p{number}" for number in range(1, arguments + 1))
    loads = "".join(f"    ld.param.u64 %d{number}, [p{number}];\n" for number in range(1, arguments + 1))
    return f"{HEADER}{before}\n.visible .entry kernel({parameters})\n{{{_REGISTERS}{loads}{body}\n    ret;\n}}\n"
