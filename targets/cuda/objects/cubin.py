# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code from PTX by NVIDIA's linker, and the resources of each kernel."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ....support.disk_cache import DiskCache
from ....support.errors import RelaxError
from ....support.temporary import temporary_folder
from .arch import find_arch
from .wheels import INSTALL, nvjitlink_path, ptxas_path

_PTX = 2  # NVJITLINK_INPUT_PTX
_MOST_SECONDS = 600
#: Kind of cache entry.
_KIND = "cubin"
#: Message of an older linker for PTX of a newer version.
_TOO_NEW = "Unsupported .version"
_KERNEL = re.compile(r"Compiling entry function '([^']+)' for '[^']+'")
#: Remark that a wait for wgmma was inserted, or that the instructions were serialized.
_REMARK = re.compile(r"\(C\d+\) .* in function '([^']+)'")
_FIGURES = {
    "registers": re.compile(r"Used (\d+) registers"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "spills": re.compile(r"(\d+) bytes spill stores"),
}


class Resources(NamedTuple):
    """Resources of a kernel: registers per thread; the others in bytes."""

    registers: int
    shared: int
    #: Spill stores of a thread, for lack of registers.
    spills: int
    stack: int
    #: Remarks of the assembler, for instance where it inserted a wait for wgmma before that of the PTX.
    remarks: tuple[str, ...] = ()


class OlderLinkerError(RelaxError):
    """NVIDIA's linker is older than the PTX or the architecture."""


def cubin_if_possible(ptx: str, arch: str, cache: DiskCache | None = None) -> bytes | None:
    """Return the machine code of PTX, cached, or None if the linker is missing or too old."""
    if nvjitlink_path() is None:
        return None
    key = hashlib.blake2b(f"{_library()[1]} {arch}\n{ptx}".encode(), digest_size=20).hexdigest()
    kept = None if cache is None else cache.get(_KIND, key)
    if kept is not None:
        return kept
    try:
        made = cubin(ptx, arch)
    except OlderLinkerError:
        return None
    if cache is not None:
        cache.put(_KIND, key, made)
    return made


def cubin(ptx: str, arch: str) -> bytes:
    """Return the machine code of PTX for one architecture. Raises RelaxError with the linker's message."""
    name = find_arch(arch).name
    with _link(name) as link:
        data = ptx.encode()
        link("AddData", ctypes.c_int(_PTX), data, ctypes.c_size_t(len(data)), b"kernels.ptx")
        link("Complete")
        size = ctypes.c_size_t()
        link("GetLinkedCubinSize", ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        link("GetLinkedCubin", code)
        return code.raw


def resources(ptx: str, arch: str) -> dict[str, Resources]:
    """Return the resources of each kernel of PTX on an architecture, as reported by NVIDIA's assembler.

    Raises RelaxError if the assembler rejects the PTX or is not installed.
    """
    name, assembler = find_arch(arch).name, ptxas_path()
    if assembler is None:
        raise RelaxError("resources of kernels need NVIDIA's ptxas, which is missing: pip install nvidia-cuda-nvcc")
    with temporary_folder("relax-ptx-") as folder:
        (folder / "kernels.ptx").write_text(ptx, encoding="utf-8")
        command = [str(assembler), "-v", f"-arch={name}", "kernels.ptx", "-o", "kernels.cubin"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_MOST_SECONDS)
        except OSError as error:
            raise RelaxError(f"{assembler} cannot be run: {error.strerror}") from None
    said = done.stdout + done.stderr
    if done.returncode:
        raise RelaxError(f"ptxas rejects the PTX for {name}: {(said.strip().splitlines() or ['no message'])[0]}")
    return _read(said)


def _read(said: str) -> dict[str, Resources]:
    pieces = _KERNEL.split(said)[1:]
    remarks = [(match[1], match[0]) for match in _REMARK.finditer(said)]
    return {
        kernel: Resources(
            **{figure: _figure(pattern, text) for figure, pattern in _FIGURES.items()},
            remarks=tuple(text for of, text in remarks if of == kernel),
        )
        for kernel, text in zip(pieces[::2], pieces[1::2], strict=True)
    }


def _figure(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0


class _Link:
    """Use of the linker: calls of its functions by name."""

    def __init__(self, library: ctypes.CDLL, version: str):
        self._library, self._version = library, version
        self.handle = ctypes.c_void_p()

    def function(self, name: str) -> Callable[..., int]:
        return getattr(self._library, f"__nvJitLink{name}_{self._version}")

    def __call__(self, name: str, *arguments: object) -> None:
        if status := self.function(name)(self.handle, *arguments):
            said = self._log() or f"error {status}"
            kind = OlderLinkerError if _TOO_NEW in said else RelaxError
            raise kind(f"NVIDIA's linker, {name}: {said}")

    def _log(self) -> str:
        size = ctypes.c_size_t()
        if not self.handle or self.function("GetErrorLogSize")(self.handle, ctypes.byref(size)) or not size.value:
            return ""
        text = ctypes.create_string_buffer(size.value)
        self.function("GetErrorLog")(self.handle, text)
        return " ".join(text.value.decode(errors="replace").split())[:500]


@contextmanager
def _link(arch: str) -> Iterator[_Link]:
    link = _Link(*_library())
    options = (ctypes.c_char_p * 1)(f"-arch={arch}".encode())
    if status := link.function("Create")(ctypes.byref(link.handle), ctypes.c_uint32(1), options):
        raise OlderLinkerError(f"NVIDIA's linker does not support {arch}: error {status}")
    try:
        yield link
    finally:
        link.function("Destroy")(ctypes.byref(link.handle))


@functools.cache
def _library() -> tuple[ctypes.CDLL, str]:
    """Load the linker. Return it with the version suffix of its functions' names."""
    if (path := nvjitlink_path()) is None:
        raise RelaxError(f"machine code of a GPU needs NVIDIA's nvJitLink, which is not installed: {INSTALL}")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise RelaxError(f"NVIDIA's linker cannot be loaded: {error}") from None
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
    return library, f"{major.value}_{minor.value}"
