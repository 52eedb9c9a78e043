# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What SPIR-V may use: versions, capabilities and extensions, by the interface that it is for."""

from __future__ import annotations

from ...bindings.ir import Attribute
from ...bindings.mlir import ir

#: Of SPIR-V, by Vulkan's; OpenCL's drivers take all 1.3.
_OF_VULKAN, _OF_OPENCL = {"1.2": "v1.5", "1.3": "v1.6"}, "v1.3"
_SHUFFLES = "GroupNonUniform GroupNonUniformShuffle GroupNonUniformShuffleRelative GroupNonUniformArithmetic"
_CAPABILITIES = {
    "vulkan": "Shader PhysicalStorageBufferAddresses Int8 Int16 Int64 Float16 Float64 Int64Atomics "
    f"StorageBuffer8BitAccess StorageBuffer16BitAccess CooperativeMatrixKHR {_SHUFFLES}",
    "opencl": "Kernel Addresses Linkage Int8 Int16 Int64 Float16 Float16Buffer Float64 Int64Atomics Vector16 Groups "
    f"SubgroupDispatch {_SHUFFLES}",
}
#: What is part of no version.
EXTENSIONS = {"vulkan": "SPV_KHR_cooperative_matrix", "opencl": ""}
_API = {"vulkan": "Vulkan", "opencl": "OpenCL"}


def spirv_version(api: str, version: str) -> str:
    """As v1.5; `version` is Vulkan's."""
    return _OF_OPENCL if api == "opencl" else _OF_VULKAN[version]


def environment(api: str, version: str) -> Attribute:
    """As upstream's passes read it: code takes of this what it needs, and says so."""
    capabilities = ", ".join(_CAPABILITIES[api].split())
    vce = f"#spirv.vce<{spirv_version(api, version)}, [{capabilities}], [{EXTENSIONS[api]}]>"
    return ir.Attribute.parse(f"#spirv.target_env<{vce}, api={_API[api]}, #spirv.resource_limits<>>")
