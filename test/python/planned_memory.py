# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose memory is planned, and compiled by the plan that is stated."""

from __future__ import annotations

from typing import Any

from relax_mlir.bindings.mlir import string_array
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.lower_calls.stated import MEMORY

import relax_mlir as rx


def finished(module: rx.Module, level: int) -> Any:
    stages = rx.stages("llvm", level).between("bufferize").replace("bufferize", "relax-lower-calls")
    return rx.compile(module, pipeline=stages, opt_level=level)


def planned(module: rx.Module, level: int) -> rx.Module:
    copied = rx.Module.parse(str(module))
    rx.stages("llvm", level).between("", "apply").run(copied, "llvm")
    rx.Pipeline("tir-bufferize,relax-plan-memory").run(copied)
    return copied


def set_apart(module: rx.Module) -> rx.Module:
    """Each tensor in memory of its own."""
    copied = module.copy()
    with copied.context:
        for op in operations_in(copied.operation):
            if MEMORY in op.attributes:
                op.attributes[MEMORY] = string_array(["own" if text.value else "" for text in op.attributes[MEMORY]])
    return copied
