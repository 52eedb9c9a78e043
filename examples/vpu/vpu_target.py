# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target and kind of device vpu: the CPU computes in the memory of a device."""

from __future__ import annotations

from relax_mlir.runtime.device_kinds import register_device
from relax_mlir.runtime.devices.table_program import TableProgram
from relax_mlir.targets.host.units import register_library

import relax_mlir as rx


class VpuProgram(TableProgram):
    kind, dlpack_kind = "vpu", 12  # kDLExtDev
    statuses = ((2, "VPU_FULL", "the device has no room"), (9, "VPU_LOST", "no answer"))

    @classmethod
    def devices(cls) -> list[str]:
        return ["vpu:0"]


def use_vpu(stages: rx.Stages) -> rx.Stages:
    marked = stages.insert_before("entries", "device", "host-use-device{kind=vpu}")
    return marked.replace("memory", "gpu-place-memory")


register_device("vpu", lambda: VpuProgram)
register_library("vpu_host")
rx.register_target(rx.Target("vpu", parents=("llvm",), libraries=("libvpu.so",), stages=use_vpu))
