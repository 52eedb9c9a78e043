# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What SPIR-V may use: versions, capabilities and extensions, by the interface that it is for."""

from __future__ import annotations

from ...bindings.ir import Attribute
from ...bindings.mlir import ir

#: From 1.4 on entry points name all variables, which upstream does and older devices refuse.
_VERSION = "v1.3"
_SHUFFLES = "GroupNonUniform GroupNonUniformShuffle GroupNonUniformShuffleRelative GroupNonUniformArithmetic"
_CAPABILITIES = {
    "vulkan": "Shader PhysicalStorageBufferAddresses Int8 Int16 Int64 Float16 Float64 Int64Atomics "
    f"StorageBuffer8BitAccess StorageBuffer16BitAccess {_SHUFFLES}",
    "opencl": "Kernel Addresses Linkage Int8 Int16 Int64 Float16 Float16Buffer Float64 Int64Atomics Vector16 Groups "
    f"SubgroupDispatch {_SHUFFLES}",
}
_EXTENSIONS = {
    "vulkan": "SPV_KHR_physical_storage_buffer SPV_KHR_storage_buffer_storage_class SPV_KHR_8bit_storage "
    "SPV_KHR_16bit_storage",
    "opencl": "",
}
_API = {"vulkan": "Vulkan", "opencl": "OpenCL"}


def environment(api: str) -> Attribute:
    """As upstream's passes read it: code takes of this what it needs, and says so."""
    capabilities, extensions = (", ".join(table[api].split()) for table in (_CAPABILITIES, _EXTENSIONS))
    vce = f"#spirv.vce<{_VERSION}, [{capabilities}], [{extensions}]>"
    return ir.Attribute.parse(f"#spirv.target_env<{vce}, api={_API[api]}, #spirv.resource_limits<>>")
