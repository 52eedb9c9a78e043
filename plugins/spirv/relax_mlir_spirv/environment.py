# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Versions, capabilities and extensions that SPIR-V code may use, by interface."""

from __future__ import annotations

from relax_mlir.bindings.ir import Attribute
from relax_mlir.bindings.mlir import ir

#: Versions of SPIR-V by the version of Vulkan. All OpenCL drivers accept 1.3.
_OF_VULKAN, _OF_OPENCL = {"1.2": "v1.5", "1.3": "v1.6"}, "v1.3"
_SHUFFLES = "GroupNonUniform GroupNonUniformShuffle GroupNonUniformShuffleRelative GroupNonUniformArithmetic"
_CAPABILITIES = {
    "vulkan": "Shader PhysicalStorageBufferAddresses Int8 Int16 Int64 Float16 Float64 Int64Atomics "
    f"StorageBuffer8BitAccess StorageBuffer16BitAccess CooperativeMatrixKHR {_SHUFFLES}",
    "opencl": "Kernel Addresses Linkage Int8 Int16 Int64 Float16 Float16Buffer Float64 Int64Atomics Vector16 Groups "
    f"SubgroupDispatch {_SHUFFLES}",
}
#: Extensions that are not part of any version.
EXTENSIONS = {"vulkan": "SPV_KHR_cooperative_matrix", "opencl": ""}
_API = {"vulkan": "Vulkan", "opencl": "OpenCL"}


def spirv_version(api: str, version: str) -> str:
    """Return the version of SPIR-V, such as v1.5; `version` is Vulkan's."""
    return _OF_OPENCL if api == "opencl" else _OF_VULKAN[version]


def environment(api: str, version: str) -> Attribute:
    """Return the environment for upstream's passes. The code declares the subset that it uses."""
    capabilities = ", ".join(_CAPABILITIES[api].split())
    vce = f"#spirv.vce<{spirv_version(api, version)}, [{capabilities}], [{EXTENSIONS[api]}]>"
    return ir.Attribute.parse(f"#spirv.target_env<{vce}, api={_API[api]}, #spirv.resource_limits<>>")
