# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU of this machine: its identity, its features in LLVM's names (code may require some), caches and cores."""

from __future__ import annotations

import os
import platform
import re
from functools import lru_cache

from ..support.byte_sizes import byte_size
from .errors import ArtifactError

# Flags in /proc/cpuinfo with other names in LLVM. The other relevant flags have the same names.
_LLVM_NAMES = {
    "pni": "sse3", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "abm": "lzcnt", "cx16": "cx16", "sha_ni": "sha",
    "pclmulqdq": "pclmul", "rdrand": "rdrnd", "bmi1": "bmi", "avx_vnni": "avxvnni", "avx512_vnni": "avx512vnni",
    "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16", "avx512_vbmi2": "avx512vbmi2",
    "avx512_bitalg": "avx512bitalg", "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx512_vp2intersect": "avx512vp2intersect", "amx_tile": "amx-tile", "amx_int8": "amx-int8",
    "amx_bf16": "amx-bf16", "amx_fp16": "amx-fp16",
    "fp": "fp-armv8", "asimd": "neon", "asimdhp": "fullfp16", "asimddp": "dotprod", "asimdrdm": "rdm",
    "asimdfhm": "fp16fml", "fcma": "complxnum", "jscvt": "jsconv", "lrcpc": "rcpc", "crc32": "crc", "atomics": "lse",
}  # fmt: skip
_SAME_NAMES = frozenset(
    "sse sse2 ssse3 sse4a popcnt avx avx2 fma f16c bmi2 adx aes vaes gfni movbe vpclmulqdq "
    "avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi "
    "sve sve2 i8mm bf16 sha2 sha3 sm4 "
    "m a f d c v zba zbb zbc zbs zfa zfh zfhmin zicond zvbb zvfh zvfhmin".split()
)
#: Features that are recognized here, and that artifacts can therefore require.
KNOWN_FEATURES = _SAME_NAMES | frozenset(_LLVM_NAMES.values())
_CPUINFO = "/proc/cpuinfo"
_TILES = " amx_tile"
# Linux's numbers on x86-64: the system call, the request, and the requested part of a thread's state.
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA = 158, 0x1023, 18
# Linux lists RISC-V's extensions in one word, and omits some of the smaller ones that they include.
_RISCV_HELD = {"g": "imafd", "zfh": ["zfhmin"], "zvfh": ["zvfhmin"]}
# Keys in /proc/cpuinfo that distinguish CPUs, on x86, ARM and RISC-V.
_IDENTIFYING = frozenset(
    (
        "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
        "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
        "isa", "uarch", "mvendorid", "marchid", "mimpid",
    )
)  # fmt: skip


@lru_cache(maxsize=1)
def host_features() -> frozenset[str]:
    """Return the features that code can be compiled for. Empty if the system does not report them."""
    return features_of(_cpuinfo())


@lru_cache(maxsize=1)
def cpu_identity() -> str:
    """Return a text that is equal for CPUs for which LLVM generates the same code."""
    pairs = (line.partition(":") for line in (_cpuinfo() or platform.processor()).splitlines())
    facts = {
        f"{key.strip()}:{value.strip()}" for key, colon, value in pairs if not colon or key.strip() in _IDENTIFYING
    }
    return "\n".join([platform.machine(), *sorted(facts)])


@lru_cache(maxsize=1)
def cpu_name() -> str:
    """Return the name of the CPU for readers, or "unknown CPU"."""
    pairs = (line.partition(":") for line in read_system_file(_CPUINFO).splitlines())
    return next((name.strip() for key, _, name in pairs if key.strip() == "model name"), "unknown CPU")


def _cpuinfo() -> str:
    """Return the system's description of its CPU, without tiles if this process may not use them."""
    cpuinfo = read_system_file(_CPUINFO)
    return cpuinfo if _TILES not in cpuinfo or may_use_tiles() else re.sub(r" amx_\w+", "", cpuinfo)


def refused_features() -> frozenset[str]:
    """Return the features of the CPU that the system denies this process."""
    return features_of(read_system_file(_CPUINFO)) - host_features()


@lru_cache(maxsize=1)
def may_use_tiles() -> bool:
    """Request Linux's permission for tiles (AMX), once for all threads of the process and its forks.

    Without the permission, the first tile instruction ends the process.
    """
    import ctypes

    asked = (ctypes.c_long(each) for each in (_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA))
    return bool(ctypes.CDLL(None).syscall(*asked) == 0)


def read_system_file(path: str) -> str:
    """Return the contents of a system file, or "" if it does not exist."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def features_of(cpuinfo: str) -> frozenset[str]:
    """Return the features that all CPUs in a text like /proc/cpuinfo have."""
    common: set[str] | None = None
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features", "isa"):
            flags = _riscv_extensions(value) if key.strip() == "isa" else set(value.split())
            common = flags if common is None else common & flags
    return frozenset(_LLVM_NAMES.get(flag, flag) for flag in common or () if flag in _LLVM_NAMES or flag in _SAME_NAMES)


def _riscv_extensions(isa: str) -> set[str]:
    """Return the extensions in a word like rv64imafdc_zba_zbb."""
    letters, *longer = isa.strip().split("_")
    found = {*letters.removeprefix("rv64"), *longer}
    return found.union(*(_RISCV_HELD.get(name, ()) for name in found))


@lru_cache(maxsize=1)
def host_caches() -> tuple[int, ...]:
    """Return the bytes of the first core's data caches, innermost first. Empty if the system does not report them."""
    return caches_of("/sys/devices/system/cpu/cpu0/cache")


def caches_of(folder: str) -> tuple[int, ...]:
    """Return the data caches that Linux describes in a folder, up to the first missing level."""
    levels: dict[str, int] = {}
    index = 0
    while level := read_system_file(f"{folder}/index{index}/level"):
        size = byte_size(read_system_file(f"{folder}/index{index}/size"))
        if size and read_system_file(f"{folder}/index{index}/type") in ("Data", "Unified"):
            levels[level] = size
        index += 1
    missing = next(level for level in range(1, len(levels) + 2) if str(level) not in levels)
    return tuple(levels[str(level)] for level in range(1, missing))


@lru_cache(maxsize=1)
def host_cores() -> int:
    """Return the number of physical cores, at least 1."""
    cpus = os.cpu_count() or 1
    siblings = [
        read_system_file(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in range(cpus)
    ]
    return len(set(siblings)) if all(siblings) else cpus


def available_cpus() -> int:
    """Return the number of CPUs that this process may use: all of them if the system does not report its affinity."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def host_triple() -> str:
    """Return architecture and system in LLVM's form."""
    return f"{platform.machine()}-unknown-linux-gnu"


def check_architecture(triple: str) -> None:
    """Refuse code for another CPU architecture."""
    if triple and triple.partition("-")[0] != platform.machine():
        raise ArtifactError(f"the code is for {triple}, this machine is {platform.machine()}")


def check_features(required: tuple[str, ...]) -> None:
    """Refuse code that needs features which this CPU lacks."""
    if not required:
        return
    if not (available := host_features()):
        raise ArtifactError("this system does not tell what its CPU can do, and the code needs " + ", ".join(required))
    missing = [feature for feature in required if feature not in available]
    refused = refused_features().intersection(missing) if missing else ()
    if refused:
        listed = ", ".join(sorted(refused))
        raise ArtifactError(f"the system does not let this process use what the code was compiled for: {listed}")
    if missing:
        raise ArtifactError(f"this CPU lacks what the code was compiled for: {', '.join(missing)}")
