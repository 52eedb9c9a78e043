# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check of kernels for types that the device lacks.

Otherwise drivers would only report them when programs are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in, symbol_name
from relax_mlir.bindings.rewriting import located_error
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.kernels.outline import kernels_in

from ..options import SEPARATOR

_VIEWS = ("memref.extract_strided_metadata", "memref.reinterpret_cast")
#: Operations that are not checked: they do not compute, or have lost their locations.
_PASSED_OVER = ("arith.constant", "builtin.unrealized_conversion_cast", *_VIEWS)
#: Device features for each type, as Vulkan and OpenCL name them.
_CAPABILITIES = {
    "vulkan": {
        "f64": "shaderFloat64",
        "f16": "shaderFloat16 and storageBuffer16BitAccess",
        "i16": "shaderInt16 and storageBuffer16BitAccess",
        "i8": "shaderInt8 and storageBuffer8BitAccess",
    },
    "opencl": {"f64": "cl_khr_fp64", "f16": "cl_khr_fp16"},
}
#: Truth values and smaller integers are stored as bytes.
_NAMES = {"i1": "i8", "bf16": "i16"}


@register_pass
@dataclass(frozen=True)
class CheckTypes(Pass):
    """Refuse kernels that use types which a device lacks."""

    name: ClassVar[str] = "spirv-check-types"

    #: Interface of the generated code: vulkan or opencl.
    api: str = "vulkan"
    #: Names of the missing types, such as f64+f16.
    lacks: str = ""

    def run(self, op: Operation) -> None:
        lacking = self.lacks.split(SEPARATOR)
        for kernel in kernels_in(op):
            for operation in [each for each in operations_in(kernel) if each.name not in _PASSED_OVER]:
                found = next((name for name in _types_of(operation) if name in lacking), None)
                if found is not None:
                    where = f"kernel '{symbol_name(kernel)}': '{operation.name}' op"
                    text = f"{where} uses {found}, which target '{self.api}{{lacks={self.lacks}}}' lacks"
                    has = _CAPABILITIES[self.api].get(found)
                    raise located_error(
                        text, operation.location, [f"devices that support it report {has}"] if has else []
                    )


def _types_of(op: Operation) -> Iterator[str]:
    for value in (*op.operands, *op.results):
        type_ = value.type
        is_memory = isinstance(type_, ir.MemRefType)
        name = str(type_.element_type if is_memory or isinstance(type_, ir.VectorType) else type_)
        # Truth values in registers are not numbers.
        yield _NAMES.get(name, name) if is_memory or name != "i1" else name
