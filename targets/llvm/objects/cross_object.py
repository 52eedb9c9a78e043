# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native code for other CPUs, by the LLVM inside llvmlite: MLIR's engine only knows this machine."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

from ....bindings.context import new_context
from ....bindings.execution import to_llvm_ir
from ....bindings.ir import Module
from ....bindings.objects import unit_module
from ...core import llvmlite
from ...core.llvm_ir_text import for_older_llvm
from .code_target import CodeTarget
from .cpus import llvm_version
from .narrow_conversions import ARCHITECTURES, DEFINITIONS

# RISC-V's calling convention depends on the CPU. This ABI for floats is common to all RISC-V CPUs that run Linux.
_ABIS = {"riscv64": "lp64d"}
_INSTALL = "pip install relax-mlir[cross]"


def emit_cross_object(module: Module, target: CodeTarget, opt_level: int) -> bytes:
    """Return the position-independent object file of a compilable module for a CPU.

    The same module gives the same bytes. Raise RelaxError if llvmlite is missing.
    """
    machine, code = _optimize(load_llvmlite(), module, target, opt_level)
    return bytes(machine.emit_object(code))


def cross_unit_object(code: bytes, *, symbol: str, opt_level: int, target: dict[str, str]) -> bytes:
    """Compile a unit like bindings.objects.unit_object, for a CPU.

    `target` holds triple, cpu and feature_text of a CodeTarget.
    """
    machine = CodeTarget(target["triple"], target["cpu"], target["feature_text"], frozenset(), vector_bytes=0)
    with new_context(("llvm",)):
        return emit_cross_object(unit_module(code, symbol), machine, opt_level)


def emit_assembly(module: Module, target: CodeTarget, opt_level: int) -> str:
    """Return the assembly of such a module for a CPU, this machine included.

    MLIR's engine may generate different code for this machine. Raise RelaxError if llvmlite is missing.
    """
    llvm = load_llvmlite("assembly")
    if target.is_host:
        features = llvm.get_host_cpu_features().flatten()
        target = replace(target, cpu=llvm.get_host_cpu_name(), feature_text=features)
    machine, code = _optimize(llvm, module, target, opt_level)
    return str(machine.emit_assembly(code))


def _optimize(llvm: ModuleType, module: Module, target: CodeTarget, opt_level: int) -> tuple[Any, Any]:
    """Return a code generator for the CPU, and the optimized LLVM module."""
    text = for_older_llvm(to_llvm_ir(module))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.feature_text, opt=opt_level, reloc="pic", codemodel="small",
        abiname=_ABIS.get(target.architecture, ""),
    )  # fmt: skip
    context = llvm.create_context()
    code = llvmlite.parse_llvm_ir(llvm, text, context)
    if target.architecture in ARCHITECTURES:
        code.link_in(llvmlite.parse_llvm_ir(llvm, DEFINITIONS, context))
    code.triple = target.triple
    code.data_layout = str(machine.target_data)
    llvmlite.optimize(llvm, code, machine, opt_level)
    return machine, code


def load_llvmlite(what: str = "code for another CPU than this machine's") -> ModuleType:
    """Return llvmlite's LLVM binding.

    Raise RelaxError with installation instructions if llvmlite is missing or unsuitable.
    """
    return llvmlite.load_llvmlite(what, llvm_version(), _INSTALL)
