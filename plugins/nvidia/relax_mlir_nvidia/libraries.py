# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access to NVIDIA's libraries by ctypes: search paths, version checks, functions, and one handle per device."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from relax_mlir import RelaxError
from relax_mlir.codegens import ExternalRuntime
from relax_mlir.runtime import Call, CallList, CFunction, Tensor, wheel_folders

_C = ctypes.CDLL(None)
CUDA = 2  # kDLCUDA
#: Bytes of a function's workspace, and the minimum alignment of tensors in bytes.
WORKSPACE, ALIGNMENT = 32 << 20, 16
_TYPES = {"p": ctypes.c_void_p, "i": ctypes.c_int, "n": ctypes.c_size_t, "q": ctypes.c_int64, "d": ctypes.c_double,
          "s": ctypes.c_char_p}  # fmt: skip


class NvidiaError(RelaxError):
    """Error of an NVIDIA library: missing, too old, or a refused call."""


@dataclass(frozen=True, eq=False)
class Product:
    """Description of a library that NVIDIA ships."""

    title: str
    #: Environment variable with a path that overrides the search.
    place: str
    #: File names, newest version first.
    files: tuple[str, ...]
    #: Import names of NVIDIA's wheels.
    wheels: tuple[str, ...]
    install: str
    #: Function that returns the version as 10000 * major + 100 * minor.
    version: str
    #: Function that returns the text of a status.
    status_text: str
    oldest: tuple[int, int]
    #: Parameter types by function, in letters of _TYPES. After a colon, the type of a result that is no status.
    functions: Mapping[str, str]

    @property
    def needed(self) -> str:
        return f"it needs {self.title} {'.'.join(map(str, self.oldest))} or newer ({self.install})"


class Library:
    """Functions of a loaded library: a CDLL, or an object with the same attributes."""

    def __init__(self, product: Product, functions: object, path: str = "") -> None:
        """Type the functions. Raise NvidiaError if the library is too old or lacks a function."""
        self.product, self._functions = product, functions
        self._handles: dict[int, int] = {}
        self._lock = threading.Lock()
        self._mutexes: dict[int, ctypes.Array[ctypes.c_uint64]] = {}
        try:
            self._typed = {name: self._function(name, kinds) for name, kinds in product.functions.items()}
        except AttributeError as error:
            raise NvidiaError(f"{path or product.title} is not a suitable library: {error}; {product.needed}") from None
        number = self._typed[product.version]()
        self.version = number // 10000, number % 10000 // 100
        if self.version < product.oldest:
            found = ".".join(map(str, self.version))
            raise NvidiaError(f"{product.title} {found} in {path} is too old: {product.needed}")

    def _function(self, name: str, kinds: str) -> CFunction:
        takes, _, gives = kinds.partition(":")
        address = ctypes.cast(getattr(self._functions, name), ctypes.c_void_p).value or 0
        prototype = ctypes.CFUNCTYPE(_TYPES[gives or "i"], *(_TYPES[kind] for kind in takes))
        made: Any = prototype(address)
        made.__name__ = name
        function: CFunction = made
        return function

    def function(self, name: str) -> CFunction:
        """Return a function, for lists of calls."""
        return self._typed[name]

    def call(self, name: str, *arguments: object) -> None:
        if status := self._typed[name](*arguments):
            raise NvidiaError(f"{name}: {self.text(status)}")

    def make(self, name: str, *arguments: object) -> int:
        """Return the pointer that a function writes to its first argument."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value or 0

    def text(self, status: int) -> str:
        found = self._typed[self.product.status_text](status)
        return f"{found.decode(errors='replace') if found else 'unknown error'} ({status})"

    def handle(self, create: str, device: int) -> int:
        """Return the device's handle, which lives as long as the library.

        The first call creates the handle. The device's context must then be current in the thread.
        """
        with self._lock:
            if device not in self._handles:
                self._handles[device] = self.make(create)
            return self._handles[device]

    def locking(self, device: int) -> tuple[Call, Call]:
        """Return the calls that acquire and release the lock of a device's handle."""
        with self._lock:
            mutex = self._mutexes.setdefault(device, (ctypes.c_uint64 * 8)())  # an unlocked mutex is all zeros
        return Call(_C.pthread_mutex_lock, [mutex]), Call(_C.pthread_mutex_unlock, [mutex], always=True)

    @contextmanager
    def alone(self, device: int) -> Iterator[None]:
        """Lock the device's handle for this thread inside the context."""
        lock, unlock = self.locking(device)
        CallList([lock]).run()
        try:
            yield
        finally:
            CallList([unlock]).run()


class LibraryRuntime(ExternalRuntime):
    """Runtime of functions that call one of NVIDIA's libraries."""

    version = "2"
    product: ClassVar[Product]

    def requires(self, data: memoryview) -> str:
        """Return the reason why the library cannot be used. The program's own kernels check for a device."""
        del data
        try:
            library_of(self.product)
        except NvidiaError as error:
            return str(error)
        return ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        return self.functions(data, library_of(self.product))

    @abstractmethod
    def functions(self, data: memoryview, library: Library) -> Mapping[str, Callable[..., None]]:
        """Return the functions of a part by name. Raise RelaxError if the part's bytes are damaged."""


class Descriptors:
    """Owner of a library's descriptors, which it destroys with its last reference."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._made: list[tuple[str, int]] = []

    def make(self, create: str, destroy: str, *arguments: object) -> int:
        made = self._library.make(create, *arguments)
        self._made.append((destroy, made))
        return made

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not _is_finalizing():
            for destroy, made in reversed(getattr(self, "_made", [])):
                self._library.function(destroy)(made)


def ints(*values: int) -> ctypes.Array[ctypes.c_int]:
    """Return an array of C ints, with at least one element."""
    return (ctypes.c_int * max(len(values), 1))(*values)


def device_of(tensors: Sequence[Tensor]) -> int:
    """Return the number of the tensors' device. Raise NvidiaError if a tensor is not in memory of a CUDA device."""
    for tensor in tensors:
        kind, _ = tensor.__dlpack_device__()
        if kind != CUDA:
            raise NvidiaError("expected tensors on a CUDA device, got a tensor elsewhere, such as on the CPU")
    return tensors[0].__dlpack_device__()[1]


def stream_of(device: int) -> Call:
    """Return the call for the caller's stream on a device. The program's own launches use the same call."""
    return Call(_tvm_ffi().TVMFFIEnvGetStream, [CUDA, device])


@lru_cache(maxsize=1)
def _tvm_ffi() -> ctypes.CDLL:
    from relax_mlir.runtime.ffi import tvm_ffi

    return ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())


# ---- the process' libraries ----

_replacements: dict[Product, Library] = {}


def library_of(product: Product) -> Library:
    """Return the library, opened once. Raise NvidiaError if no suitable library exists."""
    return _replacements.get(product) or _load_library(product, os.environ.get(product.place, ""))


@lru_cache(maxsize=8)
def _load_library(product: Product, place: str) -> Library:
    problem = ""
    for path in [place] if place else _paths(product):
        try:
            return Library(product, ctypes.CDLL(path), path)
        except OSError as error:
            problem = problem or str(error)
    raise NvidiaError(f"{product.needed}: {problem}")


def _paths(product: Product) -> Iterator[str]:
    """Yield paths in NVIDIA's wheels, then file names for the system's search."""
    for folder in wheel_folders(product.wheels):
        yield from (str(folder / name) for name in product.files if (folder / name).exists())
    yield from product.files


@contextmanager
def use_library(product: Product, functions: object) -> Iterator[Library]:
    """Replace the library by these functions inside the context, for tests."""
    before = dict(_replacements)
    _replacements[product] = Library(product, functions)
    try:
        yield _replacements[product]
    finally:
        _replacements.clear()
        _replacements.update(before)
