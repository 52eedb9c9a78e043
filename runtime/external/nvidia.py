# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's libraries, by ctypes: where they are, which version, their functions, one handle for each device."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from ...support.errors import RelaxError
from ...support.external_runtime import ExternalRuntime
from ..foreign_types import CFunction, Tensor
from ..native_calls import Call, CallList

_C = ctypes.CDLL(None)
CUDA = 2  # kDLCUDA
#: Bytes that a function of a part is given to work in, and at how many of them tensors begin at least.
WORKSPACE, ALIGNMENT = 32 << 20, 16
_TYPES = {"p": ctypes.c_void_p, "i": ctypes.c_int, "n": ctypes.c_size_t, "q": ctypes.c_int64, "d": ctypes.c_double,
          "s": ctypes.c_char_p}  # fmt: skip


class NvidiaError(RelaxError):
    """A library is missing, too old, or has refused a call."""


@dataclass(frozen=True, eq=False)
class Product:
    """A library as NVIDIA ships it."""

    title: str
    #: An environment variable: a path that is taken instead.
    place: str
    #: The newest one first.
    files: tuple[str, ...]
    #: What NVIDIA's wheels are imported as.
    wheels: tuple[str, ...]
    install: str
    #: What gives the version, as 10000 for each major one and 100 for each minor one; what names a status.
    version: str
    status_text: str
    oldest: tuple[int, int]
    #: What functions take: pointers, ints, sizes, 64 bits, doubles; behind a colon what they give, if no status.
    functions: Mapping[str, str]

    @property
    def needed(self) -> str:
        return f"it needs {self.title} {'.'.join(map(str, self.oldest))} or newer ({self.install})"


class Library:
    """The functions of a loaded library: a CDLL, or what has such attributes."""

    def __init__(self, product: Product, functions: object, path: str = "") -> None:
        """Raises NvidiaError where it is too old, or lacks a function."""
        self.product, self._functions = product, functions
        self._handles: dict[int, int] = {}
        self._lock = threading.Lock()
        self._mutexes: dict[int, ctypes.Array[ctypes.c_uint64]] = {}
        try:
            self._typed = {name: self._function(name, kinds) for name, kinds in product.functions.items()}
        except AttributeError as error:
            raise NvidiaError(f"{path or product.title} is not what is asked for: {error}; {product.needed}") from None
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
        """For lists of calls."""
        return self._typed[name]

    def call(self, name: str, *arguments: object) -> None:
        status = self._typed[name](*arguments)
        if status:
            raise NvidiaError(f"{name}: {self.text(status)}")

    def make(self, name: str, *arguments: object) -> int:
        """What a function gives through its first argument."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value or 0

    def text(self, status: int) -> str:
        found = self._typed[self.product.status_text](status)
        return f"{found.decode(errors='replace') if found else 'unknown error'} ({status})"

    def handle(self, create: str, device: int) -> int:
        """One for each device, which stays; made where the device's context is the thread's."""
        with self._lock:
            if device not in self._handles:
                self._handles[device] = self.make(create)
            return self._handles[device]

    def locking(self, device: int) -> tuple[Call, Call]:
        """Calls for the begin and the end of what one thread at a time does with a device's handle."""
        with self._lock:
            mutex = self._mutexes.setdefault(device, (ctypes.c_uint64 * 8)())  # zeros are an unlocked one
        return Call(_C.pthread_mutex_lock, [mutex]), Call(_C.pthread_mutex_unlock, [mutex], always=True)

    @contextmanager
    def alone(self, device: int) -> Iterator[None]:
        """The handle is this thread's inside."""
        lock, unlock = self.locking(device)
        CallList([lock]).run()
        try:
            yield
        finally:
            CallList([unlock]).run()


class LibraryRuntime(ExternalRuntime):
    """Functions that call one of NVIDIA's libraries."""

    version = "2"
    product: ClassVar[Product]

    def requires(self, data: memoryview) -> str:
        """The library; whether there is a device the program's own kernels tell."""
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
        """Those of a part, by name. Raises RelaxError where its bytes are damaged."""


class Descriptors:
    """Descriptors of a library, which are destroyed with their last reference."""

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
    """An array of C ints."""
    return (ctypes.c_int * max(len(values), 1))(*values)


def device_of(tensors: Sequence[Tensor]) -> int:
    """The number of the device that they are on. Raises NvidiaError where that is none of NVIDIA's."""
    for each in tensors:
        kind, _ = each.__dlpack_device__()
        if kind != CUDA:
            raise NvidiaError("its tensors are on the device, and one is on the CPU")
    return tensors[0].__dlpack_device__()[1]


def stream_of(device: int) -> Call:
    """Gives the caller's stream of a device, as the program's own launches ask for it."""
    return Call(_tvm_ffi().TVMFFIEnvGetStream, [CUDA, device])


@lru_cache(maxsize=1)
def _tvm_ffi() -> ctypes.CDLL:
    from ..ffi import tvm_ffi

    return ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())


# ---- the process' libraries ----

_in_place: dict[Product, Library] = {}


def library_of(product: Product) -> Library:
    """The library, opened once. Raises NvidiaError where there is none that fits."""
    return _in_place.get(product) or _of_system(product, os.environ.get(product.place, ""))


@lru_cache(maxsize=8)
def _of_system(product: Product, place: str) -> Library:
    problem = ""
    for path in [place] if place else _paths(product):
        try:
            return Library(product, ctypes.CDLL(path), path)
        except OSError as error:
            problem = problem or str(error)
    raise NvidiaError(f"{product.needed}: {problem}")


def _paths(product: Product) -> Iterator[str]:
    """In NVIDIA's wheels, then wherever the system looks."""
    for folder in wheel_folders(product.wheels):
        yield from (str(folder / name) for name in product.files if (folder / name).exists())
    yield from product.files


def wheel_folders(wheels: Sequence[str]) -> Iterator[Path]:
    """Where wheels of NVIDIA's that are installed have their libraries."""
    for wheel in wheels:
        try:
            spec = importlib.util.find_spec(wheel)
        except ModuleNotFoundError:
            continue
        yield from (Path(folder, "lib") for folder in (spec.submodule_search_locations or () if spec else ()))


@contextmanager
def use_library(product: Product, functions: object) -> Iterator[Library]:
    """What runs inside finds these functions in the library's place: for tests."""
    before = dict(_in_place)
    _in_place[product] = Library(product, functions)
    try:
        yield _in_place[product]
    finally:
        _in_place.clear()
        _in_place.update(before)
