# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a program on a Vulkan device: pipelines for its kernels, and memory from the program's own functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial

from relax_mlir.runtime.artifact import DeviceCode
from relax_mlir.runtime.errors import ArtifactError, DeviceError
from relax_mlir.runtime.manifest import Signature

from ..device_kernels import SpirvKernel, block_needs, read_kernels, too_large
from ..paged import PagedProgram
from . import structures as vk
from .driver import PhysicalDevice, VulkanError, driver
from .kept_commands import KeptCommands, kept_commands
from .opened import open_device
from .requirements import is_too_new, missing, missing_matrices, multiplies_matrices
from .statuses import STATUSES

KIND = "vulkan"
#: Words of a kernel's handle: pipeline, layout, words of parameters, a flag for parameters in memory, and the number of
#: blocks for each block that host code launches.
_HANDLE_WORDS = 5
_COMPUTE, _FULL_SUBGROUPS = 0x20, 2


class VulkanProgram(PagedProgram):
    """State of a program on a device of Vulkan's loader."""

    kind, dlpack_kind, statuses, has_graphs = KIND, 7, STATUSES, True

    @classmethod
    def devices(cls) -> list[str]:
        return [device.table() for device in driver().devices()]

    @classmethod
    def targets(cls) -> list[str]:
        return [device.target for device in driver().devices()]

    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        kernels = read_kernels(codes[0])
        self.device = open_device(driver(), self.number)
        _check_fits(codes[0], kernels, self.device.physical)
        self.set_page(self.device.page)
        self._signatures, self._wants_graphs = signatures, graphs

    @property
    def label(self) -> str:
        return str(self.device.physical)

    def allocate_shared(self, size: int) -> tuple[int, int]:
        room = self.device.host_visible(size)
        self._undo.append(partial(self.device.free, room))
        return room.host, room.address

    # ---- kernels ----

    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        """Return the addresses of the kernels' handles."""
        code, kernels = codes[0], read_kernels(codes[0])
        self._handles = (ctypes.c_uint64 * max(_HANDLE_WORDS * len(kernels), 1))()
        most = self.device.physical.capabilities.properties.limits.push_constants // 8
        for place, (name, kernel) in enumerate(zip(code.kernels, kernels, strict=True)):
            in_memory = kernel.words > IN_PUSH_CONSTANTS
            pushed = 8 * (1 if in_memory else kernel.words)
            assert pushed <= 8 * most
            layout = self._layout(pushed)
            needs = block_needs(kernel.module)
            threads = needs.threads_of(self.device.physical.capabilities.properties.limits.threads)
            pipeline = self._pipeline(name, kernel, layout, threads)
            made = pipeline, layout, kernel.words, int(in_memory), needs.threads // threads
            self._handles[_HANDLE_WORDS * place : _HANDLE_WORDS * (place + 1)] = list(made)
        base = ctypes.addressof(self._handles)
        self.graphs = self._kept_commands(kernels)
        return [base + 8 * _HANDLE_WORDS * place for place in range(len(kernels))]

    def _kept_commands(self, kernels: Sequence[SpirvKernel]) -> KeptCommands | None:
        words = [kernel.words for kernel in kernels if kernel.words > IN_PUSH_CONSTANTS]
        forget = partial(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._forget), self.page.address)
        most = 8 * max(words, default=0)
        return kept_commands(self.device, self._signatures, self._wants_graphs, most, forget, self._undo)

    def _layout(self, pushed: int) -> int:
        ranges = (vk.PushRange * 1)(vk.PushRange(_COMPUTE, 0, pushed))
        info = vk.LayoutInfo(ranges=int(pushed > 0), push_ranges=ranges)
        layout = self.device.made("vkCreatePipelineLayout", ctypes.byref(info), None)
        self._undo.append(partial(self.device.call, "vkDestroyPipelineLayout", layout, None))
        return layout

    def _pipeline(self, name: str, kernel: SpirvKernel, layout: int, threads: int) -> int:
        code = (ctypes.c_char * len(kernel.module)).from_buffer_copy(kernel.module)
        module = 0
        try:
            info = vk.ShaderInfo(size=len(kernel.module), code=code)
            module = self.device.made("vkCreateShaderModule", ctypes.byref(info), None)
            size, has = kernel.subgroup, self.device.physical.capabilities
            # The distribution of a matrix over threads depends on their number.
            is_exact = multiplies_matrices(kernel.module) and has.chooses_subgroups
            chosen = vk.SubgroupSizeInfo(size=size) if is_exact or size > has.subgroups.size else None
            flags = _FULL_SUBGROUPS if chosen is not None else 0
            constants = vk.constants([threads])
            stage = vk.StageInfo(
                chosen, flags=flags, stage=_COMPUTE, module=module, name=name.encode(), constants=constants
            )
            pipeline_info = vk.PipelineInfo(layout=layout, base_index=-1, stage=stage)
            pipeline = self.device.made("vkCreateComputePipelines", 0, 1, ctypes.byref(pipeline_info), None)
        except VulkanError as error:
            raise DeviceError(f"{self.label} refuses kernel '{name}' of the program: {error}") from None
        finally:
            if module:
                self.device.call("vkDestroyShaderModule", module, None)
        self._undo.append(partial(self.device.call, "vkDestroyPipeline", pipeline, None))
        return pipeline


#: Parameters with more words are passed by address. All devices have room for at least so many.
IN_PUSH_CONSTANTS = 16


def _check_fits(code: DeviceCode, kernels: Sequence[SpirvKernel], device: PhysicalDevice) -> None:
    """Raise DeviceError if the device lacks features that kernels need."""
    if not all(spirv_kernel.is_told_blocks for spirv_kernel in kernels):
        raise ArtifactError(f"{code.label} are of another version than this release reads")
    if any(is_too_new(spirv_kernel.module, device) for spirv_kernel in kernels):
        version = "{}.{}".format(*device.version)
        raise DeviceError(f"{device} has Vulkan {version}, {code.label}, are for 1.3; {_fitting(device)}")
    lacking: dict[str, None] = {}
    for kernel in kernels:
        lacking |= dict.fromkeys(missing(kernel.module, device))
    if lacking:
        raise DeviceError(f"{device} lacks what {code.label}, need: {', '.join(lacking)}; {_fitting(device)}")
    limits = device.capabilities.properties.limits
    large = too_large(kernels, limits.threads, limits.shared_memory)
    if large:
        raise DeviceError(f"{device} is too small for {code.label}, which need {large}; {_fitting(device)}")
    has, needed = device.capabilities, max((spirv_kernel.subgroup for spirv_kernel in kernels), default=0)
    _check_matrices(code, kernels, device, needed)
    most = has.most_subgroup
    if needed > most:
        needed_text = f"are for {needed} and more; {_fitting(device)}"
        raise DeviceError(f"{device} has subgroups of {most}, {code.label}, {needed_text}")


def _check_matrices(code: DeviceCode, kernels: Sequence[SpirvKernel], device: PhysicalDevice, threads: int) -> None:
    """Raise DeviceError if the device multiplies other matrices, or with more threads."""
    if not any(multiplies_matrices(kernel.module) for kernel in kernels):
        return
    others = missing_matrices(code.arch, device)
    if others:
        raise DeviceError(f"{device} lacks the matrices of {code.label}: {', '.join(others)}; {_fitting(device)}")
    least = device.capabilities.least_subgroup
    if threads < least:
        needed_text = f"are for exactly {threads}; {_fitting(device)}"
        raise DeviceError(f"{device} has subgroups of {least}, {code.label}, {needed_text}")


def _fitting(device: PhysicalDevice) -> str:
    return f"target '{device.target}' is for it"
