# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What native code depends on beside its source: the LLVM that makes it, and the CPU that it is made for."""

from __future__ import annotations

import os
import platform
from functools import lru_cache

from .wheel import find_root, library_folders

# What tells CPUs apart in /proc/cpuinfo, on x86, ARM and RISC-V.
_TELLING = frozenset(
    (
        "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
        "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
        "isa", "uarch", "mvendorid", "marchid", "mimpid",
    )
)  # fmt: skip


@lru_cache(maxsize=1)
def cpu_identity() -> str:
    """A text that is the same on CPUs for which LLVM makes the same code."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        lines = [platform.processor()]
    pairs = (line.partition(":") for line in lines)
    told = {f"{key.strip()}:{value.strip()}" for key, colon, value in pairs if not colon or key.strip() in _TELLING}
    return "\n".join([platform.machine(), *sorted(told)])


@lru_cache(maxsize=1)
def bindings_identity() -> str:
    """A text that changes with the installed bindings, without loading them."""
    return "\n".join(line for folder in library_folders(find_root()) for line in _files_in(folder))


def _files_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(_described(entry) for entry in entries if entry.is_file())
    except OSError:
        return []


def _described(entry: os.DirEntry[str]) -> str:
    status = entry.stat()
    return f"{entry.path} {status.st_size} {status.st_mtime_ns}"
