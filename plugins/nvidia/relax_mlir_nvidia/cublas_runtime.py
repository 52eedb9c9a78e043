# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `cublas`: matrix products with epilogues by cuBLASLt, on the caller's stream."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from relax_mlir.codegens import register_runtime
from relax_mlir.runtime import (
    Call,
    CallArgument,
    CallList,
    Given,
    NativeFunction,
    Passed,
    Tensor,
    cuda_function_address,
    unpacked,
)

from .libraries import (
    ALIGNMENT,
    WORKSPACE,
    Descriptors,
    Library,
    LibraryRuntime,
    NvidiaError,
    Product,
    device_of,
    stream_of,
)

CUBLAS = Product(
    title="cuBLAS",
    place="RELAX_CUBLAS_LIBRARY",
    files=("libcublasLt.so.13", "libcublasLt.so.12"),
    wheels=("nvidia.cu13", "nvidia.cublas"),
    install="pip install nvidia-cublas",
    version="cublasLtGetVersion",
    status_text="cublasLtGetStatusString",
    oldest=(12, 0),
    functions={
        "cublasLtGetVersion": ":n",
        "cublasLtGetStatusString": "i:s",
        "cublasLtCreate": "p",
        "cublasLtMatmulDescCreate": "pii",
        "cublasLtMatmulDescDestroy": "p",
        "cublasLtMatmulDescSetAttribute": "pipn",
        "cublasLtMatrixLayoutCreate": "piqqq",
        "cublasLtMatrixLayoutDestroy": "p",
        "cublasLtMatrixLayoutSetAttribute": "pipn",
        "cublasLtMatmulPreferenceCreate": "p",
        "cublasLtMatmulPreferenceDestroy": "p",
        "cublasLtMatmulPreferenceSetAttribute": "pipn",
        "cublasLtMatmulAlgoGetHeuristic": "pppppppipp",
        "cublasLtMatmul": "ppppppppppppppnp",
    },
)

# cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t
_TRANSPOSE_A, _TRANSPOSE_B, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8
_BATCH_COUNT, _BATCH_OFFSET = 5, 6
_MOST_WORKSPACE, _ALIGNMENTS = 1, {"a": 5, "b": 6, "c": 7, "d": 8}
#: cublasOperation_t
_TRANSPOSED = 1
#: cublasLtEpilogue_t: bits of the epilogue, or _DEFAULT without an epilogue.
_DEFAULT, _EPILOGUES, _BIAS = 1, {"": 0, "relu": 2, "gelu_tanh": 32}, 4
#: cudaDataType_t
_DATA = {"f32": 0, "f64": 1, "f16": 2, "i8": 3, "i32": 10, "bf16": 14}
_BYTES = {"f32": 4, "f64": 8, "f16": 2, "i8": 1, "i32": 4, "bf16": 2}
#: cublasComputeType_t and the type of alpha and beta, by the element type of the operands.
_COMPUTE_32F, _FAST_TF32, _COMPUTE_64F, _COMPUTE_32I = 68, 77, 70, 72
_COMPUTE = {"f64": (_COMPUTE_64F, "f64"), "i8": (_COMPUTE_32I, "i32")}
_SCALARS: dict[str, type[ctypes.c_float | ctypes.c_double | ctypes.c_int32]] = {
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "i32": ctypes.c_int32,
}


@dataclass(frozen=True)
class ProductStep:
    """Product of two inputs with an optional bias along the last axis and an activation. Values have numbers."""

    inputs: int
    a: int
    b: int
    bias: int | None
    transposed: tuple[bool, bool]
    epilogue: str
    #: Element types of the operands and of the result.
    elements: tuple[str, str]
    tf32: bool = False
    #: True if a workspace follows the result in the arguments.
    workspace: bool = True


@register_runtime("cublas")
class CublasRuntime(LibraryRuntime):
    """Runtime of functions that call cuBLASLt."""

    product = CUBLAS

    def functions(self, data: memoryview, library: Library) -> Mapping[str, Callable[..., None]]:
        steps = unpacked("cublas", data, dict[str, ProductStep])
        counts = {name: step.inputs + 1 + step.workspace for name, step in steps.items()}
        return {name: NativeFunction(partial(_list_calls, step, library), counts[name]) for name, step in steps.items()}


class _Shape(NamedTuple):
    """Sizes of a product for cuBLAS: matrices of m x k and k x n, and batch axes with constant strides."""

    m: int
    n: int
    k: int
    #: Batch axes, innermost last: size, then the strides of a, b and the result in elements.
    axes: tuple[tuple[int, int, int, int], ...]

    @property
    def batch(self) -> tuple[int, int, int, int]:
        """Return the batch axis that one call computes."""
        return self.axes[-1] if self.axes else (1, 0, 0, 0)

    def offsets(self) -> list[tuple[int, int, int]]:
        """Return the offsets of a, b and the result for each call, in elements."""
        outer = self.axes[:-1]
        return [
            (sum(p * axis[1] for p, axis in zip(place, outer, strict=True)),
             sum(p * axis[2] for p, axis in zip(place, outer, strict=True)),
             sum(p * axis[3] for p, axis in zip(place, outer, strict=True)))
            for place in itertools.product(*(range(axis[0]) for axis in outer))
        ]  # fmt: skip


def product_shape(a: Sequence[int], b: Sequence[int], out: Sequence[int], transposed: tuple[bool, bool]) -> _Shape:
    """Return the product of row-major tensors with these shapes. Contiguous batch axes are collapsed to one."""
    m, n, k = out[-2], out[-1], a[-2] if transposed[0] else a[-1]
    steps = [_batch_steps(shape[:-2], rows * columns, len(out) - 2)
             for shape, rows, columns in ((a, m, k), (b, k, n), (out, m, n))]  # fmt: skip
    axes: list[tuple[int, int, int, int]] = []
    for size, *each in zip(out[:-2], *steps, strict=True):
        if size == 1:
            continue
        if axes and all(outer == inner * size for outer, inner in zip(axes[-1][1:], each, strict=True)):
            size *= axes.pop()[0]
        axes.append((size, each[0], each[1], each[2]))
    if axes and not transposed[0] and axes[-1][1:] == (m * k, 0, m * n):
        m *= axes.pop()[0]  # with a common b, the rows of all matrices are rows of one matrix
    return _Shape(m, n, k, tuple(axes))


def _batch_steps(batch: Sequence[int], matrix: int, rank: int) -> list[int]:
    """Return the stride between matrices along each batch axis of the result, in elements. Broadcast axes have 0."""
    steps, step = [], matrix
    for size in reversed([1] * (rank - len(batch)) + list(batch)):
        steps.append(step if size != 1 else 0)
        step *= size
    return steps[::-1]


def _list_calls(step: ProductStep, library: Library, *tensors: Tensor) -> CallList:
    """Return the calls for tensors of these shapes."""
    device = device_of(tensors)
    a, b, out = (tuple(tensors[number].shape) for number in (step.a, step.b, step.inputs))
    shape = product_shape(a, b, out, step.transposed)
    if 0 in out:
        return CallList([])
    if shape.k == 0:
        return _zeros(step, device, math.prod(out))
    descriptors = Descriptors(library)
    described = _ProductDescriptors(step, shape, library, descriptors)
    algorithm = described.algorithm(library.handle("cublasLtCreate", device))
    calls, pointers = [], {}
    if step.bias is not None:
        calls.append(described.set_bias())
        pointers[ctypes.addressof(described.bias)] = Passed(step.bias)
    for offsets in shape.offsets():
        calls += [stream_of(device), described.call(algorithm, offsets, device, Given(len(calls)))]
    return CallList(calls, pointers, keeps=(descriptors, described, algorithm))


def _zeros(step: ProductStep, device: int, count: int) -> CallList:
    """Return calls that clear the result of an empty sum. The codegen's check excludes a bias in this case."""
    clear, bytes_ = cuda_function_address("cuMemsetD8Async"), count * _BYTES[step.elements[1]]
    arguments: list[CallArgument] = [Passed(step.inputs), 0, bytes_, Given(0)]
    return CallList([stream_of(device), Call(clear, arguments, is_status=True, name="cuMemsetD8Async")])


class _Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t. The algorithm is the first member, so both have the same address."""

    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]  # fmt: skip


class _ProductDescriptors:
    """Descriptors of a product. `layouts` has the matrix layouts of a, b and the result."""

    def __init__(self, step: ProductStep, shape: _Shape, library: Library, descriptors: Descriptors) -> None:
        self._library, self._step, self._shape, self._descriptors = library, step, shape, descriptors
        compute, scalar = _COMPUTE.get(step.elements[0], (_COMPUTE_32F, "f32"))
        if step.tf32 and step.elements[0] == "f32":
            compute = _FAST_TF32
        self.one, self.zero = (_SCALARS[scalar] * 1)(1), (_SCALARS[scalar] * 1)(0)
        #: Memory for the address of a call's bias. The initial value tells the heuristic the tensors' alignment.
        self.bias = (ctypes.c_uint64 * 1)(ALIGNMENT)
        self.product = self._create("MatmulDesc", compute, _DATA[scalar])
        for which, is_transposed in zip((_TRANSPOSE_B, _TRANSPOSE_A), step.transposed, strict=True):
            if is_transposed:
                self._set("MatmulDesc", self.product, which, ctypes.c_int32(_TRANSPOSED))
        epilogue = (_EPILOGUES[step.epilogue] | _BIAS * (step.bias is not None)) or _DEFAULT
        self._set("MatmulDesc", self.product, _EPILOGUE, ctypes.c_uint32(epilogue))
        if step.bias is not None:
            self._set("MatmulDesc", self.product, _BIAS_POINTER, self.bias)
        m, n, k = shape.m, shape.n, shape.k
        (a, out), (_, *steps) = step.elements, shape.batch
        columns = [(m, k) if step.transposed[0] else (k, m), (k, n) if step.transposed[1] else (n, k), (n, m)]
        self.layouts = [self._layout(*each) for each in zip((a, a, out), columns, steps, strict=True)]

    def _create(self, noun: str, *arguments: int) -> int:
        return self._descriptors.make(f"cublasLt{noun}Create", f"cublasLt{noun}Destroy", *arguments)

    def _set(self, noun: str, descriptor: int, which: int, value: ctypes._CDataType) -> None:
        size = ctypes.sizeof(value)
        self._library.call(f"cublasLt{noun}SetAttribute", descriptor, which, ctypes.addressof(value), size)

    def _layout(self, element: str, sizes: tuple[int, int], step: int) -> int:
        """Create the layout of a matrix with contiguous columns."""
        layout = self._create("MatrixLayout", _DATA[element], *sizes, sizes[0])
        if self._shape.axes:
            self._set("MatrixLayout", layout, _BATCH_COUNT, ctypes.c_int32(self._shape.batch[0]))
            self._set("MatrixLayout", layout, _BATCH_OFFSET, ctypes.c_int64(step))
        return layout

    def call(self, algorithm: _Heuristic, offsets: tuple[int, int, int], device: int, stream: Given) -> Call:
        """Return the call of the product. cuBLAS is column-major, so it computes the transposed product, b before a."""
        step, library = self._step, self._library
        sizes = [_BYTES[each] for each in (step.elements[0], step.elements[0], step.elements[1])]
        a, b, out = (Passed(number, offset * size) for number, offset, size in
                     zip((step.a, step.b, step.inputs), offsets, sizes, strict=True))  # fmt: skip
        workspace = (Passed(step.inputs + 1), WORKSPACE) if step.workspace else (0, 0)
        of_a, of_b, of_out = self.layouts
        return Call(
            library.function("cublasLtMatmul"),
            [library.handle("cublasLtCreate", device), self.product, self.one, b, of_b, a, of_a,
             self.zero, out, of_out, out, of_out, algorithm, *workspace, stream],
            is_status=True,
        )  # fmt: skip

    def set_bias(self) -> Call:
        """Return the call that sets the bias address in the product's descriptor."""
        arguments: list[CallArgument] = [self.product, _BIAS_POINTER, self.bias, ctypes.sizeof(self.bias)]
        return Call(self._library.function("cublasLtMatmulDescSetAttribute"), arguments, is_status=True)

    def algorithm(self, handle: int) -> _Heuristic:
        """Return the algorithm that cuBLAS's heuristic ranks first. Raise NvidiaError if cuBLAS has none."""
        preference = self._create("MatmulPreference")
        workspace = WORKSPACE if self._step.workspace else 0
        self._set("MatmulPreference", preference, _MOST_WORKSPACE, ctypes.c_uint64(workspace))
        for which, alignment in zip("bacd", self._alignments(), strict=True):
            self._set("MatmulPreference", preference, _ALIGNMENTS[which], ctypes.c_uint32(alignment))
        a, b, out = self.layouts
        found, count = _Heuristic(), ctypes.c_int()
        layouts = (b, a, out, out, preference)
        problem = ""
        try:
            places = ctypes.addressof(found), ctypes.addressof(count)
            self._library.call("cublasLtMatmulAlgoGetHeuristic", handle, self.product, *layouts, 1, *places)
        except NvidiaError as error:
            problem = str(error)
        if problem or not count.value or found.state:
            m, n, k, _ = self._shape
            what = f"a product of {m} x {k} and {k} x {n} elements of {self._step.elements[0]}"
            raise NvidiaError(f"cuBLAS has no algorithm for {what}: {problem or 'it found none'}")
        return found

    def _alignments(self) -> list[int]:
        """Return the alignments of a, b and twice the result that hold at the offsets of all calls."""
        (a, out), offsets = self._step.elements, self._shape.offsets()
        columns = zip(*offsets, strict=True)
        bytes_ = (_BYTES[each] for each in (a, a, out))
        of_a, of_b, of_out = (math.gcd(ALIGNMENT, *(size * each for each in column))
                              for size, column in zip(bytes_, columns, strict=True))  # fmt: skip
        return [of_a, of_b, of_out, of_out]
