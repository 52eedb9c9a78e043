# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of kernel modules to SPIR-V modules.

For Vulkan there is one module per kernel, because drivers read the whole module when they create a kernel's pipeline.
For OpenCL, which builds programs, there is one module for all kernels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Module, Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in, operations_named, operations_of, symbol_name
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.dialects.core.ir_attributes import WORDS
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.gpu.device_code import kernel_modules, kernels_of

from ..abi import SHUFFLES
from ..environment import EXTENSIONS, environment, spirv_version
from ..exact_arithmetic import require, say_exact

_ENTRY = "spirv.entry_point_abi"
_ENVIRONMENT = "spirv.target_env"
#: Attributes of a kernel that stay. Others would become decorations.
_KEPT = ("sym_name", "function_type", "gpu.kernel", "kernel")
#: The block size comes first, because it refers to the other constants.
_CONSTANTS = ("spirv.SpecConstantComposite", "spirv.SpecConstant")
#: Upstream's passes for the declarations of entry points and capabilities.
_FINISH = "spirv-lower-abi-attrs canonicalize cse spirv-update-vce".split()


@register_pass
@dataclass(frozen=True)
class Convert(Pass):
    """Convert kernels to the dialect spirv."""

    name: ClassVar[str] = "spirv-convert"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "math", "scf", "spirv", "vector")

    #: Interface of the generated code: vulkan or opencl.
    api: str = "vulkan"
    #: Number of threads per subgroup.
    subgroup: int = Machine.warp
    #: Version of Vulkan, if the code is for Vulkan.
    version: str = "1.2"

    def run(self, op: Operation) -> None:
        with op.context:
            for module in kernel_modules(op):
                kernels = kernels_of(module)
                words = [kernel.attributes[WORDS][0] for kernel in kernels]
                op.attributes[WORDS] = ir.DenseI64ArrayAttr.get(words)
                with module.location:
                    self._convert(module, kernels)

    def _convert(self, module: Operation, kernels: Sequence[Operation]) -> None:
        made = Module.create(module.location)
        made.operation.attributes[_ENVIRONMENT] = environment(self.api, self.version)
        variables = [
            operation for operation in operations_of(module.regions[0].blocks[0]) if operation.name != "gpu.func"
        ]
        groups = [kernels] if self.api == "opencl" else [[kernel] for kernel in kernels]
        for group in groups:
            with ir.InsertionPoint(made.body):
                self._module(symbol_name(group[0]), [*variables, *group])
        run_upstream(made.operation, ["convert-math-to-spirv", "convert-gpu-to-spirv{use-64bit-index=true}"])
        with ir.InsertionPoint(module):
            for operation in operations_named(made.operation, "spirv.module"):
                run_upstream(operation, _FINISH)
                _without_bindings(operation)
                say_exact(operation, self.api)
                _tell_atomics(operation)
                if self.api == "vulkan":
                    _say_version(operation, spirv_version(self.api, self.version))
                operation.clone()
        module.erase()

    def _module(self, name: str, ops: Sequence[Operation]) -> None:
        made = ir.Operation.create("gpu.module", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1)
        with ir.InsertionPoint(made.regions[0].blocks.append()):
            for op in ops:
                copied = op.clone().operation
                if op.name == "gpu.func":
                    self._tell_threads(copied)

    def _tell_threads(self, kernel: Operation) -> None:
        x, y, z = kernel.attributes["known_block_size"]
        for name in [attribute for attribute in kernel.attributes if attribute not in _KEPT]:
            del kernel.attributes[name]
        said = f"workgroup_size = [{x}, {y}, {z}]"
        if self.api == "opencl" and operations_named(kernel, *SHUFFLES):
            # For Vulkan the size is set at pipeline creation.
            said += f", subgroup_size = {self.subgroup}"
        kernel.attributes[_ENTRY] = ir.Attribute.parse(f"#spirv.entry_point_abi<{said}>")


def _without_bindings(module: Operation) -> None:
    """Remove upstream's bindings of push constants, and the variables and block sizes of other kernels."""
    ops = operations_of(module.regions[0].blocks[0])
    used = _used_symbols(module, ops)
    for entry in [operation for operation in ops if operation.name == "spirv.EntryPoint"]:
        named = [each for each in entry.attributes["interface"] if each.value in used]
        entry.attributes["interface"] = ir.ArrayAttr.get(named)
    for op in [operation for operation in ops if operation.name in ("spirv.GlobalVariable", *_CONSTANTS)]:
        for name in ("binding", "descriptor_set"):
            if name in op.attributes:
                del op.attributes[name]
        if symbol_name(op) not in used:
            op.erase()


def _used_symbols(module: Operation, ops: Sequence[Operation]) -> set[str]:
    """Return the used variables and constants. A block size is used if its specialization constant is."""
    users = {"spirv.mlir.addressof": "variable", "spirv.mlir.referenceof": "spec_const"}
    used = {
        operation.attributes[users[operation.name]].value
        for operation in operations_in(module)
        if operation.name in users
    }
    for op in [operation for operation in ops if operation.name == _CONSTANTS[0]]:
        parts = [part.value for part in op.attributes["constituents"]]
        if parts[0] in used:
            used.update((symbol_name(op), *parts))
    return used


def _tell_atomics(module: Operation) -> None:
    """Require the capability for 64-bit atomic operations, which upstream omits."""
    wide = ir.IntegerType.get_signless(64)
    atomics = [operation for operation in operations_in(module) if operation.name.startswith("spirv.Atomic")]
    if any(atomic.results[0].type == wide for atomic in atomics):
        require(module, "Int64Atomics")


def _say_version(module: Operation, version: str) -> None:
    """Set the version of SPIR-V.

    Upstream states the oldest version, in which entry points list fewer variables. Extensions are part of the new
    version, except for the ones in `EXTENSIONS`.
    """
    triple = str(module.attributes["vce_triple"])
    kept = ", ".join(word for word in EXTENSIONS["vulkan"].split() if word in triple)
    said = re.sub(r"<v[\d.]+, (\[.*?\]), \[.*\]>", rf"<{version}, \1, [{kept}]>", triple)
    module.attributes["vce_triple"] = ir.Attribute.parse(said)
