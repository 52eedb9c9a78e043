# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs for vulkan and opencl whose devices are CPUs: a driver of this process launches their kernels there.

The programs' host code is that for NVIDIA's driver, of which FakeDriver takes the place.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import opencl_device
import vulkan_device
from fake_driver import FakeDriver, _put
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.targets.spirv.abi import MOST_PUSHED, WORD, PackedKernel, unpacked

DEVICES = {"vulkan": vulkan_device, "opencl": opencl_device}
_ENVIRONMENTS = {"vulkan": "vulkan1.2", "opencl": "spv1.3"}
_OP_ENTRY_POINT, _HEADER = 15, 5


def entry_points(module: bytes) -> list[str]:
    """The names of a module's kernels, in their order."""
    words = memoryview(module).cast("I")
    names, place = [], _HEADER
    while place < len(words):
        size, code = words[place] >> 16, words[place] & 0xFFFF
        if code == _OP_ENTRY_POINT:
            names.append(bytes(words[place + 3 : place + size]).partition(b"\0")[0].decode())
        place += size
    return names


def validated(module: bytes, api: str) -> str:
    """What spirv-val has against a module; empty where nothing, or where it is not there."""
    if shutil.which("spirv-val") is None:
        return ""
    command = ["spirv-val", "--target-env", _ENVIRONMENTS[api], "-"]
    return subprocess.run(command, input=module, capture_output=True, check=False).stderr.decode()


class SpirvDriver(FakeDriver):
    """Kernels are modules of SPIR-V, which a device that is a CPU runs on this process' memory."""

    def __init__(self, api: str) -> None:
        super().__init__(devices=1)
        self.api, self._device = api, DEVICES[api].device()
        self._loaded: list[tuple[Any, int]] = []

    def _load(self, out: int, image: int, count: int, options: int, values: int) -> int:
        rows, _ = unpacked((ctypes.c_char * _bytes_at(image)).from_address(image))
        names = iter([name for module in dict.fromkeys(row.module for row in rows) for name in entry_points(module)])
        self._rows: dict[str, PackedKernel] = {name: row for name, row in zip(names, rows, strict=True)}
        self.held["module"] += 1
        return _put(out, 77)

    def _kernel(self, out: int, module: int, name: bytes) -> int:
        row = self._rows[name.decode()]
        assert not (problem := validated(row.module, self.api)), problem
        pushed = WORD * (row.words if row.words <= MOST_PUSHED else 1)
        self._loaded.append((self._device.kernel(row.module, name.decode(), pushed), row.words))
        return _put(out, 500 + len(self._loaded) - 1)

    def _launch(self, handle: int, blocks: int, by: int, bz: int, threads: int, ty: int, tz: int, shared: int,
                stream: int, params: int, extra: int) -> int:  # fmt: skip
        kernel, count = self._loaded[handle - 500]
        assert not shared
        places = (ctypes.c_void_p * count).from_address(params) if count else []
        words = [ctypes.c_uint64.from_address(place or 0).value for place in places]
        if self.api == "opencl":
            self._device.launch(kernel, blocks, threads, words)
            return 0
        if count > MOST_PUSHED:
            kept = (ctypes.c_uint64 * count)(*words)
            words = [ctypes.addressof(kept)]
        self._device.launch(kernel, blocks, words)
        return 0


def _bytes_at(image: int) -> int:
    """Of the packed kernels at an address: rows say where the last one ends."""
    numbers = (ctypes.c_uint32 * 4).from_address(image)
    rows = (ctypes.c_uint32 * (4 * numbers[1])).from_address(image + 16)
    ends = [rows[place] + rows[place + 1] for place in range(0, len(rows), 4)]
    return max(ends, default=16)


def run(executable: Executable, *arguments: Any, api: str, function: str = "main") -> Any:
    """What a function gives for arrays of the CPU."""
    artifact = executable._artifact
    codes = tuple(replace(each, kind="cuda", arch="sm_80", format="cubin") for each in artifact.devices)
    library = SpirvDriver(api)
    with use_library(library):
        return Executable(replace(artifact, devices=codes), graphs=False).copying()[function](*arguments)
