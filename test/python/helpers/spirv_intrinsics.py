# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics on devices of Vulkan and OpenCL: a kernel that applies one to arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import spirv_validation
from relax_mlir.runtime import tensor, to_numpy

import relax_mlir as rx
from relax_mlir import te, tir


@functools.cache
def _program(name: str, target: str, dtype: str, count: int, size: int) -> Any:
    given = [te.placeholder((size,), dtype, name=f"x{place}") for place in range(count)]
    made = te.compute((size,), lambda i: getattr(tir, name)(*(each[i] for each in given)), name="y")
    executable = rx.compile(te.create_prim_func([*given, made]), target=target)
    spirv_validation.check(executable)
    return executable.copying()["main"]


def run(name: str, target: str, *operands: np.ndarray) -> np.ndarray:
    program = _program(name, target, operands[0].dtype.name, len(operands), len(operands[0]))
    return to_numpy(program(*map(tensor, operands)))
