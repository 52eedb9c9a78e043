# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a module that contains host code, too."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.navigation import body_of, operations_of


def kernel_modules(op: Operation) -> list[Operation]:
    return [operation for operation in operations_of(body_of(op)) if operation.name == "gpu.module"]


def kernels_of(module: Operation) -> list[Operation]:
    return [operation for operation in operations_of(module.regions[0].blocks[0]) if operation.name == "gpu.func"]
