# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM of the llvmlite package, for machines that MLIR's own engine does not support."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from ...support.errors import RelaxError


def load_llvmlite(what: str, version: str, install: str) -> ModuleType:
    """Import llvmlite's LLVM binding, which `what` needs. Raise RelaxError with installation advice."""
    try:
        llvm = importlib.import_module("llvmlite.binding")
    except ImportError:
        raise RelaxError(f"{what} needs llvmlite: {install}") from None
    found, wanted = llvm.llvm_version_info[0], int(version.partition(".")[0])
    if found != wanted:
        raise RelaxError(f"this llvmlite has LLVM {found}, {what} needs LLVM {wanted}'s: {install}")
    return llvm


def parse_llvm_ir(llvm: ModuleType, text: str, context: object) -> Any:
    """Parse LLVM IR. Raise RelaxError if this LLVM does not support the printed form."""
    try:
        return llvm.parse_assembly(text, context)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        version = ".".join(map(str, llvm.llvm_version_info))
        raise RelaxError(f"LLVM {version} of llvmlite does not understand the code: {reason}") from None


def optimize(llvm: ModuleType, code: object, machine: object, opt_level: int) -> None:
    """Run LLVM's passes of an optimization level, including the machine's."""
    options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
    # The same settings as MLIR's engine.
    options.loop_interleaving = options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(code, builder)
