# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver whose devices are this process: it counts what it hands out and takes back, and fails on request.

Kernels are Python functions. The device's memory is the host's, so that compiled code for the CPU can use its
addresses.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

_LIBC = ctypes.CDLL(None)
_LIBC.malloc.restype = ctypes.c_void_p
_NAMES = {1: "INVALID_VALUE", 2: "OUT_OF_MEMORY", 100: "NO_DEVICE", 201: "INVALID_CONTEXT", 218: "INVALID_PTX"}
_NAMES |= {222: "UNSUPPORTED_PTX_VERSION", 500: "NOT_FOUND", 719: "LAUNCH_FAILED"}
_P, _I, _S = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_OUT = ctypes.c_uint64


def _put(place: int, value: float, kind: Any = _OUT) -> int:
    kind.from_address(place).value = value
    return 0


class FakeDriver:
    """Driver for `use_library`. `kernels` are called as kernel(blocks, threads, address of the parameters)."""

    def __init__(self, kernels: dict[str, Callable[[int, int, int], None]] | None = None, devices: int = 2) -> None:
        self.devices, self.capability = devices, (8, 6)
        self.has_pools = True
        #: Values that were set for memory pools, by pool and attribute.
        self.pools: dict[tuple[int, int], int] = {}
        self.kernels = kernels or {}
        self._handles = list(self.kernels)
        #: Names of the called functions, in order.
        self.calls: list[str] = []
        #: By the function that gives it, how many of a thing are not given back yet.
        self.held: Counter[str] = Counter()
        self.contexts: list[int] = []
        #: Status that a function returns instead of working.
        self.failing: dict[str, int] = {}
        self.launches: list[tuple[str, int, int, int, int]] = []
        #: Images that were passed for loading.
        self.images: list[bytes] = []
        #: Of kernels: handle, which one, value.
        self.settings: list[tuple[int, ...]] = []
        self._sizes: dict[int, str] = {}
        self._texts: list[ctypes.Array[ctypes.c_char]] = []
        for name, (kinds, function) in self._functions().items():
            setattr(self, name, self._exported(name, kinds, function))

    def _exported(self, name: str, kinds: tuple[Any, ...], function: Callable[..., int]) -> Any:
        def called(*arguments: Any) -> int:
            self.calls.append(name)
            if name in self.failing:
                return self.failing[name]
            return function(*[0 if each is None else each for each in arguments]) or 0

        return ctypes.CFUNCTYPE(_I, *kinds)(called)

    def _functions(self) -> dict[str, tuple[tuple[Any, ...], Callable[..., Any]]]:
        host_move: Any = lambda to, source, size, *_: ctypes.memmove(to, source, size) and 0  # noqa: E731
        return {
            "cuInit": ((ctypes.c_uint,), lambda flags: 0),
            "cuDriverGetVersion": ((_P,), lambda out: _put(out, 12040, _I)),
            "cuDeviceGetCount": ((_P,), lambda out: _put(out, self.devices, _I)),
            "cuDeviceGet": ((_P, _I), lambda out, index: _put(out, 40 + index, _I)),
            "cuDeviceGetName": ((_P, _I, _I), lambda out, size, device: ctypes.memmove(out, b"Fake\0", 5) and 0),
            "cuDeviceGetAttribute": ((_P, _I, _I), self._attribute),
            "cuDeviceGetDefaultMemPool": ((_P, _I), lambda out, device: _put(out, 2000 + device)),
            "cuMemPoolSetAttribute": ((_P, _I, _P), self._set_pool),
            "cuEventCreate": ((_P, ctypes.c_uint), self._event),
            "cuEventRecord": ((_P, _P), lambda event, stream: 0),
            "cuEventSynchronize": ((_P,), lambda event: 0),
            "cuEventElapsedTime": ((_P, _P, _P), lambda out, *events: _put(out, 0.25, ctypes.c_float)),
            "cuEventDestroy_v2": ((_P,), lambda event: self._back("event")),
            "cuDevicePrimaryCtxRetain": ((_P, _I), lambda out, device: _put(out, 1000 + device)),
            "cuCtxPushCurrent_v2": ((_P,), lambda context: self.contexts.append(context) or 0),
            "cuCtxPopCurrent_v2": ((_P,), lambda out: _put(out, self.contexts.pop())),
            "cuCtxSynchronize": ((), lambda: 0),
            "cuStreamSynchronize": ((_P,), lambda stream: 0),
            "cuModuleLoadDataEx": ((_P, _P, ctypes.c_uint, _P, _P), self._load),
            "cuModuleUnload": ((_P,), lambda module: self._back("module")),
            "cuModuleGetFunction": ((_P, _P, ctypes.c_char_p), self._kernel),
            "cuFuncGetAttribute": (
                (_P, _I, _P),
                lambda out, which, function: _put(out, 1024 if which == 1 else -1, _I),
            ),
            "cuFuncSetAttribute": ((_P, _I, _I), lambda *settings: self.settings.append(settings)),
            "cuMemAlloc_v2": ((_P, _S), lambda out, size: self._allocate(out, size, "memory")),
            "cuMemFree_v2": ((_P,), lambda place: self._free(place, "memory")),
            "cuMemAllocAsync": ((_P, _S, _P), lambda out, size, stream: self._allocate(out, size, "async")),
            "cuMemFreeAsync": ((_P, _P), lambda place, stream: self._free(place, "async")),
            "cuMemHostAlloc": ((_P, _S, ctypes.c_uint), lambda out, size, flags: self._allocate(out, size, "host")),
            "cuMemFreeHost": ((_P,), lambda place: self._free(place, "host")),
            "cuMemHostGetDevicePointer_v2": ((_P, _P, ctypes.c_uint), lambda out, place, flags: _put(out, place)),
            "cuMemcpyHtoD_v2": ((_P, _P, _S), host_move),
            "cuMemcpyHtoDAsync_v2": ((_P, _P, _S, _P), host_move),
            "cuMemcpyDtoHAsync_v2": ((_P, _P, _S, _P), host_move),
            "cuMemcpyDtoDAsync_v2": ((_P, _P, _S, _P), host_move),
            "cuMemcpy2DAsync_v2": ((_P, _P), self._copy_2d),
            "cuLaunchKernel": ((_P, *[_I] * 7, _P, _P, _P), self._launch),
            "cuGetErrorName": ((_I, _P), lambda status, out: self._text(out, status, "CUDA_ERROR_{}")),
            "cuGetErrorString": ((_I, _P), lambda status, out: self._text(out, status, "{} is what failed")),
        }

    def _copy_2d(self, described: int, stream: int) -> int:
        words = (ctypes.c_uint64 * 16).from_address(described)
        (source, source_pitch), (to, to_pitch) = ((words[at + 3] or words[at + 4], words[at + 6]) for at in (0, 7))
        for row in range(words[15]):
            ctypes.memmove(to + row * to_pitch, source + row * source_pitch, words[14])
        return 0

    def _attribute(self, out: int, which: int, device: int) -> int:
        known = {75: self.capability[0], 76: self.capability[1], 97: 100 * 1024, 115: int(self.has_pools)}
        return _put(out, known[which], _I)

    def _set_pool(self, pool: int, which: int, value: int) -> None:
        self.pools[pool, which] = ctypes.c_uint64.from_address(value).value

    def _event(self, out: int, flags: int) -> int:
        self.held["event"] += 1
        return _put(out, 3000 + self.held["event"])

    def _load(self, out: int, image: int, count: int, options: int, values: int) -> int:
        text = ctypes.string_at(image)
        self.images.append(text)
        if text.startswith(b"bad"):
            place = ctypes.c_void_p.from_address(values).value
            ctypes.memmove(place or 0, b"line 1: no\n\nline 2: never\n\0", 27)
            return 218
        self.held["module"] += 1
        return _put(out, 77)

    def _kernel(self, out: int, module: int, name: bytes) -> int:
        if name.decode() not in self.kernels:
            return 500
        return _put(out, 500 + self._handles.index(name.decode()))

    def _launch(self, handle: int, blocks: int, by: int, bz: int, threads: int, ty: int, tz: int, shared: int,
                stream: int, params: int, extra: int) -> int:  # fmt: skip
        name = self._handles[handle - 500]
        self.launches.append((name, blocks, threads, shared, stream))
        self.kernels[name](blocks, threads, params)
        return 0

    def _allocate(self, out: int, size: int, kind: str) -> int:
        if not size:
            return 1
        place = _LIBC.malloc(ctypes.c_size_t(size + 256))
        given = place + -place % 256
        self._sizes[given] = kind
        self.held[kind] += 1
        return _put(out, given)

    def _free(self, place: int, kind: str) -> int:
        """Free memory without releasing it: a later read is the program's mistake, but must not crash the process."""
        if self._sizes.pop(place, "") != kind:
            return 1
        return self._back(kind)

    def _back(self, kind: str) -> int:
        self.held[kind] -= 1
        return 0

    def _text(self, out: int, status: int, form: str) -> int:
        if status not in _NAMES:
            return 1
        self._texts.append(ctypes.create_string_buffer(form.format(_NAMES[status]).encode()))
        return _put(out, ctypes.addressof(self._texts[-1]))

    @property
    def leaks(self) -> dict[str, int]:
        """Return the number of handles in use, by the function that creates them."""
        return {name: count for name, count in self.held.items() if count}
