# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulated cuDNN, the older interface: checks descriptors as strictly as NVIDIA's documentation."""

from __future__ import annotations

import ctypes
import itertools
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import ml_dtypes
import numpy

from .libraries import EmulatedLibrary, exported

NOT_SUPPORTED = 3000
#: cudnnDataType_t
DTYPES: dict[int, Any] = {0: numpy.float32, 2: numpy.float16, 9: ml_dtypes.bfloat16}
_FLOAT, _BFLOAT16 = 0, 9
_FMA_MATH, _TENSOR_OP_MATH, _DEFAULT_MATH = 3, 1, 0
_IMPLICIT, _PRECOMPUTED, _NONFUSED = 0, 1, 7
#: Workspace of the algorithms.
NEEDS = {_IMPLICIT: 0, _PRECOMPUTED: 2048, _NONFUSED: 1 << 40}
_RELU, _IDENTITY = 1, 5


@dataclass
class Handle:
    context: int
    stream: int = 0
    thread: int = 0


@dataclass
class Tensor:
    kind: int = -1
    dims: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass
class Filter(Tensor):
    layout: int = 0


@dataclass
class Windows:
    padding: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    #: Of convolutions how far apart, of pools how many.
    gaps: tuple[int, ...] = ()
    taps: tuple[int, ...] = ()


@dataclass
class Convolution(Windows):
    groups: int = 1
    math: int = 0


@dataclass
class Pooling(Windows):
    mode: int = -1


@dataclass
class Activation:
    mode: int = -1


class _Performance(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_int), ("status", ctypes.c_int), ("time", ctypes.c_float),
                ("memory", ctypes.c_size_t), ("determinism", ctypes.c_int), ("math", ctypes.c_int),
                ("reserved", ctypes.c_int * 3)]  # fmt: skip


def _ints(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int * count).from_address(address))


class EmulatedCudnn(EmulatedLibrary):
    INVALID: ClassVar[int] = 2000
    INTERNAL: ClassVar[int] = 4000
    version: int = 92801
    #: The algorithms that convolutions were computed by, with the mode of their mathematics.
    used: list[tuple[int, int]]

    def __init__(self, driver: Any) -> None:
        super().__init__(driver)
        self.used = []

    @exported("cudnnGetVersion", ":n")
    def _version(self) -> int:
        return self.version

    @exported("cudnnGetErrorString", "i:s")
    def _error_string(self, status: int) -> bytes:
        known = {self.INVALID: b"CUDNN_STATUS_BAD_PARAM", NOT_SUPPORTED: b"CUDNN_STATUS_NOT_SUPPORTED"}
        return known.get(status, b"unknown")

    @exported("cudnnCreate", "p")
    def _create(self, to: int) -> None:
        self.give(to, Handle(self.context()))

    @exported("cudnnSetStream", "pp")
    def _set_stream(self, handle: int, stream: int | None) -> None:
        found = self.known(handle, Handle)
        found.stream, found.thread = self.driver.stream(stream), threading.get_ident()

    def _running(self, handle: int) -> Any:
        """Return a handle with this thread's stream, which no other thread has changed since."""
        found = self.known(handle, Handle)
        self.require(found.context == self.context(), "the handle is of another device")
        self.require(found.thread == threading.get_ident(), "another thread has the handle")
        return found

    # ---- descriptors ----

    @exported("cudnnCreateTensorDescriptor", "p")
    def _tensor(self, to: int) -> None:
        self.give(to, Tensor())

    @exported("cudnnDestroyTensorDescriptor", "p")
    def _drop_tensor(self, handle: int) -> None:
        self.drop(handle, Tensor)

    @exported("cudnnSetTensorNdDescriptor", "piipp")
    def _set_tensor(self, handle: int, kind: int, count: int, dims: int, strides: int) -> None:
        found = self.known(handle, Tensor)
        self.require(4 <= count <= 8, f"{count} dimensions")
        self.require(kind in DTYPES, f"data type {kind}")
        found.kind, found.dims, found.strides = kind, _ints(dims, count), _ints(strides, count)
        self.require(min(found.dims + found.strides) > 0, f"sizes {found.dims}, strides {found.strides}")

    @exported("cudnnCreateFilterDescriptor", "p")
    def _filter(self, to: int) -> None:
        self.give(to, Filter())

    @exported("cudnnDestroyFilterDescriptor", "p")
    def _drop_filter(self, handle: int) -> None:
        self.drop(handle, Filter)

    @exported("cudnnSetFilterNdDescriptor", "piiip")
    def _set_filter(self, handle: int, kind: int, layout: int, count: int, dims: int) -> None:
        found = self.known(handle, Filter)
        self.require(4 <= count <= 8 and kind in DTYPES and layout in (0, 1), f"{count}, {kind}, {layout}")
        found.kind, found.layout, found.dims = kind, layout, _ints(dims, count)
        self.require(min(found.dims) > 0, f"sizes {found.dims}")
        order = [0, *range(2, count), 1] if layout else [*range(count)]
        strides, step = [0] * count, 1
        for axis in reversed(order):
            strides[axis], step = step, step * found.dims[axis]
        found.strides = tuple(strides)

    @exported("cudnnCreateConvolutionDescriptor", "p")
    def _convolution(self, to: int) -> None:
        self.give(to, Convolution())

    @exported("cudnnDestroyConvolutionDescriptor", "p")
    def _drop_convolution(self, handle: int) -> None:
        self.drop(handle, Convolution)

    @exported("cudnnSetConvolutionNdDescriptor", "pipppii")
    def _set_convolution(self, handle: int, count: int, pads: int, strides: int, gaps: int, *rest: int) -> None:
        found, (mode, compute) = self.known(handle, Convolution), rest
        self.require(count in (2, 3), f"{count} dimensions that windows slide over")
        self.require(mode == 1 and compute == _FLOAT, f"mode {mode}, compute type {compute}")
        found.padding, found.strides, found.gaps = (_ints(each, count) for each in (pads, strides, gaps))
        self.require(min(found.padding) >= 0 and min(found.strides + found.gaps) > 0, f"{found}")

    @exported("cudnnSetConvolutionGroupCount", "pi")
    def _set_groups(self, handle: int, groups: int) -> None:
        self.require(groups > 0, f"{groups} groups")
        self.known(handle, Convolution).groups = groups

    @exported("cudnnSetConvolutionMathType", "pi")
    def _set_math(self, handle: int, math: int) -> None:
        self.require(math in range(4), f"math type {math}")
        self.known(handle, Convolution).math = math

    @exported("cudnnCreateActivationDescriptor", "p")
    def _activation(self, to: int) -> None:
        self.give(to, Activation())

    @exported("cudnnDestroyActivationDescriptor", "p")
    def _drop_activation(self, handle: int) -> None:
        self.drop(handle, Activation)

    @exported("cudnnSetActivationDescriptor", "piid")
    def _set_activation(self, handle: int, mode: int, nan: int, coefficient: float) -> None:
        self.require(mode in range(7) and nan in (0, 1), f"mode {mode}, NaN {nan}, {coefficient}")
        self.known(handle, Activation).mode = mode

    @exported("cudnnCreatePoolingDescriptor", "p")
    def _pooling(self, to: int) -> None:
        self.give(to, Pooling())

    @exported("cudnnDestroyPoolingDescriptor", "p")
    def _drop_pooling(self, handle: int) -> None:
        self.drop(handle, Pooling)

    @exported("cudnnSetPoolingNdDescriptor", "piiippp")
    def _set_pooling(self, handle: int, mode: int, nan: int, count: int, *columns: int) -> None:
        found = self.known(handle, Pooling)
        self.require(count in (2, 3) and mode in range(4) and nan in (0, 1), f"{count}, mode {mode}, NaN {nan}")
        found.mode, (found.taps, found.padding, found.strides) = mode, (_ints(each, count) for each in columns)
        self.require(all(a < b for a, b in zip(found.padding, found.taps, strict=True)), f"{found}")
        found.gaps = (1,) * count

    # ---- execution ----

    @exported("cudnnGetConvolutionForwardAlgorithm_v7", "pppppipp")
    def _algorithms(self, handle: int, x: int, w: int, described: int, y: int, *rest: int) -> None:
        asked, count, results = rest
        self.known(handle, Handle)
        found = self._checked(x, w, described, y)
        is_narrow = found.math == _FMA_MATH or self.known(x, Tensor).kind != _FLOAT
        usual = _FMA_MATH if found.math == _FMA_MATH else _DEFAULT_MATH
        fast = usual if is_narrow else _TENSOR_OP_MATH
        listed = [(6, NOT_SUPPORTED, 0, usual), (_NONFUSED, 0, NEEDS[_NONFUSED], usual),
                  (_IMPLICIT, 0, NEEDS[_IMPLICIT], fast), (_PRECOMPUTED, 0, NEEDS[_PRECOMPUTED], usual)]  # fmt: skip
        places = (_Performance * asked).from_address(results)
        for place, (algorithm, status, memory, math) in zip(places, listed, strict=False):
            place.algorithm, place.status, place.memory, place.math = algorithm, status, memory, math
        ctypes.c_int.from_address(count).value = min(asked, len(listed))

    def _checked(self, x: int, w: int, described: int, y: int) -> Convolution:
        data, weight, result = self.known(x, Tensor), self.known(w, Filter), self.known(y, Tensor)
        found: Convolution = self.known(described, Convolution)
        self.require(data.kind == weight.kind == result.kind, "types differ")
        groups = found.groups
        self.require(weight.dims[1] * groups == data.dims[1] and weight.dims[0] % groups == 0, "channels do not fit")
        sizes = _slid(data.dims[2:], weight.dims[2:], found)
        wanted = data.dims[0], weight.dims[0], *sizes
        self.require(result.dims == wanted, f"the result has sizes {result.dims}, not {wanted}")
        return found

    @exported("cudnnConvolutionForward", "pppppppipnppp")
    def _forward(self, handle: int, alpha: int, x: int, at_x: int, w: int, at_w: int, *rest: int) -> None:
        described, algorithm, space, size, beta, y, at_y = rest
        found = self._ready(handle, (x, w, described, y), algorithm, space, size)
        self._check_factors((alpha, 1), (beta, 0))
        values = self._convolved(found, (x, at_x), (w, at_w))
        self._finish(handle, values, y, at_y)

    @exported("cudnnConvolutionBiasActivationForward", "pppppppipnpppppppp")
    def _biased(self, handle: int, alpha: int, x: int, at_x: int, w: int, at_w: int, *rest: int) -> None:
        described, algorithm, space, size, factor, z, at_z, bias, at_bias, after, y, at_y = rest
        found = self._ready(handle, (x, w, described, y), algorithm, space, size)
        self._check_factors((alpha, 1))
        result, added, mode = self.known(y, Tensor), self.known(bias, Tensor), self.known(after, Activation).mode
        self.require(result.kind != _BFLOAT16, "no biased convolutions of bf16", NOT_SUPPORTED)
        self.require(mode in (_RELU, _IDENTITY), f"activation {mode}", NOT_SUPPORTED)
        self.require(mode != _IDENTITY or algorithm == _PRECOMPUTED, "identity by another algorithm", NOT_SUPPORTED)
        self.require(added.dims == (1, result.dims[1], *(1,) * (len(result.dims) - 2)), f"a bias of {added.dims}")
        self.require(self.known(z, Tensor).dims == result.dims, "z and y differ")
        self.require(at_x != at_y, "x and y are one")
        values = self._convolved(found, (x, at_x), (w, at_w)) + self._values(bias, at_bias)
        times = ctypes.c_float.from_address(factor).value
        if times:
            values = values + times * self._values(z, at_z)
        self._finish(handle, numpy.maximum(values, 0) if mode == _RELU else values, y, at_y)

    def _ready(self, handle: int, places: Any, algorithm: int, space: int, size: int) -> Convolution:
        self._running(handle)
        found = self._checked(*places)
        self.require(algorithm in NEEDS and size >= NEEDS[algorithm], f"algorithm {algorithm}, {size} bytes")
        if size:
            self.scribble(space, size, "the workspace")
        self.used.append((algorithm, found.math))
        return found

    def _check_factors(self, *given: tuple[int, float]) -> None:
        found = [(ctypes.c_float.from_address(address).value, wanted) for address, wanted in given]
        self.require(all(one == other for one, other in found), f"factors {found}")

    @exported("cudnnPoolingForward", "pppppppp")
    def _pool(self, handle: int, pool: int, alpha: int, x: int, at_x: int, beta: int, y: int, at_y: int) -> None:
        self._running(handle)
        self._check_factors((alpha, 1), (beta, 0))
        found: Pooling = self.known(pool, Pooling)
        data, result = self.known(x, Tensor), self.known(y, Tensor)
        wanted = *data.dims[:2], *_slid(data.dims[2:], found.taps, found)
        self.require(result.dims == wanted, f"the result has sizes {result.dims}, not {wanted}")
        is_max, filled = found.mode in (0, 3), -numpy.inf if found.mode in (0, 3) else 0
        values = self._values(x, at_x)
        taken = [each for _, each in _taps(_padded(values, found.padding, filled), found.taps, found, result.dims[2:])]
        ones = _padded(numpy.ones_like(values), found.padding, 1 if found.mode == 1 else 0)
        counts = sum(each for _, each in _taps(ones, found.taps, found, result.dims[2:]))
        self._finish(handle, numpy.maximum.reduce(taken) if is_max else sum(taken) / counts, y, at_y)

    @exported("cudnnSoftmaxForward", "piipppppp")
    def _softmax(self, handle: int, algorithm: int, mode: int, alpha: int, x: int, at_x: int, *rest: int) -> None:
        beta, y, at_y = rest
        self._running(handle)
        self._check_factors((alpha, 1), (beta, 0))
        self.require(algorithm in (1, 2) and mode == 1, f"algorithm {algorithm}, mode {mode}")
        self.require(self.known(x, Tensor).dims == self.known(y, Tensor).dims, "sizes differ")
        values = self._values(x, at_x)
        values = values - values.max(1, keepdims=True)
        total = numpy.exp(values).sum(1, keepdims=True)
        self._finish(handle, values - numpy.log(total) if algorithm == 2 else numpy.exp(values) / total, y, at_y)

    # ---- by numpy ----

    def _values(self, handle: int, address: int) -> Any:
        found = self.known(handle, Tensor)
        array = self.tensor(address, DTYPES[found.kind], found.dims, found.strides)
        return self.read(array, "an operand").astype(numpy.float32)

    def _finish(self, handle: int, values: Any, y: int, address: int) -> None:
        found = self.known(y, Tensor)
        result = self.tensor(address, DTYPES[found.kind], found.dims, found.strides)
        stream = self.known(handle, Handle).stream
        self.driver.do(stream, lambda: self.write(result, values.astype(result.dtype)))

    def _convolved(self, found: Convolution, x: tuple[int, int], w: tuple[int, int]) -> Any:
        data, weight = self._values(*x), self._values(*w)
        sizes = _slid(data.shape[2:], weight.shape[2:], found)
        data = _padded(data, found.padding, 0)
        parts = []
        for some, own in zip(numpy.split(data, found.groups, 1), numpy.split(weight, found.groups, 0), strict=True):
            taken = _taps(some, weight.shape[2:], found, sizes)
            parts.append(sum(numpy.einsum("nc...,kc->nk...", each, own[(..., *place)]) for place, each in taken))
        return numpy.concatenate(parts, 1)


def _slid(sizes: tuple[int, ...], taps: tuple[int, ...], windows: Windows) -> tuple[int, ...]:
    columns = zip(sizes, taps, windows.padding, windows.strides, windows.gaps, strict=True)
    return tuple((size + 2 * pad - (gap * (tap - 1) + 1)) // step + 1 for size, tap, pad, step, gap in columns)


def _padded(values: Any, padding: tuple[int, ...], number: float) -> Any:
    return numpy.pad(values, [(0, 0), (0, 0), *((each, each) for each in padding)], constant_values=number)


def _taps(data: Any, taps: tuple[int, ...], windows: Windows, sizes: tuple[int, ...]) -> Any:
    """Yield the elements of the data under each position of the windows."""
    for place in itertools.product(*map(range, taps)):
        cut = (slice(at * gap, at * gap + step * (size - 1) + 1, step) for at, gap, step, size in
               zip(place, windows.gaps, windows.strides, sizes, strict=True))  # fmt: skip
        yield place, data[(..., *cut)]
