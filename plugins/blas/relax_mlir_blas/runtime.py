# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `blas`: matrix products by OpenBLAS, from the package scipy-openblas32."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from relax_mlir import RelaxError
from relax_mlir.codegens import ExternalRuntime, register_runtime
from relax_mlir.runtime import Array, Call, CallList, NativeFunction, PartFunction, Passed, Tensor, unpacked

_C = ctypes.CDLL(None)
_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
_MOST = 2**31 - 1
#: Rows and columns of the operands and of the result.
_AXES = ("mk", "kn", "mn")
_DTYPES = {"f32": "float32", "f64": "float64"}
#: Functions of every program that compute the epilogue of a product, for f64 and f32.
_FINISH = ("finish_f64", "finish_f32")


@dataclass(frozen=True)
class EinsumStep:
    """Product with the einsum notation `spec`, and an optional bias and relu. Values have numbers."""

    spec: str
    element: str
    a: int
    b: int
    bias: int | None
    relu: bool
    output: int
    #: Nodes of the model that the step computes, for profiles.
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """Content of a part's bytes: threads per product, and functions by name."""

    threads: int
    functions: Mapping[str, PartFunction[EinsumStep]]


@register_runtime("blas")
class BlasRuntime(ExternalRuntime):
    """Runtime of functions that call OpenBLAS."""

    version = "2"

    def requires(self, data: memoryview) -> str:
        """Return the reason why OpenBLAS cannot be loaded from the package scipy-openblas32, or an empty text."""
        del data
        try:
            library()
        except (ImportError, OSError) as error:
            return f"it needs the package scipy-openblas32 (pip install scipy-openblas32): {error}"
        return ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        """Return native functions, which run lists of OpenBLAS calls."""
        part = unpacked("blas", data, Part)
        return {name: _Runner(function, part.threads).native() for name, function in part.functions.items()}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """Load OpenBLAS once. Raise ImportError without the package, and OSError if the library does not load."""
    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    path = next(iter(sorted(folder.glob("libscipy_openblas*"))), folder / "libscipy_openblas.so")
    return ctypes.CDLL(str(path))


class _Value(NamedTuple):
    """Tensor as an array with its base: an address, or the place of an argument."""

    array: Array
    base: Passed | int

    def at(self, offset: int) -> Passed | int:
        return self.base + offset if isinstance(self.base, int) else self.base._replace(offset=offset)


class _Runner:
    """Function of a part. Its arguments are the inputs, then the tensors for the results."""

    def __init__(self, function: PartFunction[EinsumStep], threads: int):
        self._function, self._threads = function, threads

    def native(self) -> NativeFunction:
        """Return the function that programs call."""
        return NativeFunction(self.listed, len(self._function.inputs) + len(self._function.outputs))

    def listed(self, *tensors: Tensor) -> CallList | None:
        """Return the calls for tensors of these layouts.

        If BLAS does not support a layout, compute the results on contiguous copies and return None.
        """
        import numpy

        arrays = [numpy.from_dlpack(tensor) for tensor in tensors]
        if (calls := self._calls(arrays)) is not None:
            return calls
        copies = [numpy.array(array, order="C", copy=True) for array in arrays]
        on_copies = self._calls(copies)
        assert on_copies is not None
        on_copies.run([each.ctypes.data for each in copies])
        count = len(self._function.inputs)
        for output, copy in zip(arrays[count:], copies[count:], strict=True):
            output[...] = copy
        return None

    def _calls(self, arrays: Sequence[Array]) -> CallList | None:
        """Return the calls, or None if a tensor has to be copied first."""
        import numpy

        function = self._function
        passed = [_Value(array, Passed(place)) for place, array in enumerate(arrays)]
        values = {number: _owned_value(constant) for number, constant in function.constants.items()}
        values |= dict(zip(function.inputs, passed, strict=False))
        outputs = passed[len(function.inputs) :]
        calls = [Call(library().scipy_openblas_set_num_threads, [self._threads])]
        for step in function.steps:
            a, b = values[step.a], values[step.b]
            bias = None if step.bias is None else values[step.bias]
            # The step writes a result of the function directly to the caller's tensor.
            out = outputs[function.outputs.index(step.output)] if step.output in function.outputs else None
            if out is None:
                out = _owned_value(
                    numpy.empty(_result_shape(step.spec, a.array.shape, b.array.shape), _DTYPES[step.element])
                )
            if (step_calls := _product(step.spec, a, b, out, bias, step.relu)) is None:
                return None
            calls += [replace(call, nodes=step.nodes) for call in step_calls]
            values[step.output] = out
        for output, number in zip(outputs, function.outputs, strict=True):
            if (source := values[number]) is not output:
                if not (source.array.flags.c_contiguous and output.array.flags.c_contiguous):
                    return None
                calls.append(Call(_C.memcpy, [output.base, source.base, output.array.nbytes]))
        return CallList(calls, keeps=[value.array for value in values.values() if isinstance(value.base, int)])


def _owned_value(array: Array) -> _Value:
    return _Value(array, array.ctypes.data)


def _result_shape(spec: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    operands, result = spec.split("->")
    return tuple(_sizes(operands.split(","), shapes)[label] for label in result)


def _sizes(labels: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    sizes = {"1": 1}
    for own, shape in zip(labels, shapes, strict=True):
        for label, size in zip(tuple(own), shape, strict=True):
            if sizes.setdefault(label, size) != size:
                raise RelaxError(f"sizes of '{label}' do not agree: {sizes[label]} and {size}")
    return sizes


def _product(spec: str, a: _Value, b: _Value, out: _Value, bias: _Value | None, relu: bool) -> list[Call] | None:
    """Return calls that write numpy.einsum(spec, a, b) to `out`, plus a bias along the last axis, then a relu.

    Return None if a tensor has to be copied first.
    """
    values = a, b, out
    plan = _plan(spec, out.array.itemsize, *((value.array.shape, value.array.strides) for value in values))
    is_finished = bias is not None or relu
    if plan.is_copied or ((plan.is_zero or is_finished) and not out.array.flags.c_contiguous):
        return None
    if bias is not None and not bias.array.flags.c_contiguous:
        return None
    is_single = out.array.itemsize == 4
    gemm = library().scipy_cblas_sgemm_batch_strided if is_single else library().scipy_cblas_dgemm_batch_strided
    number = ctypes.c_float if is_single else ctypes.c_double
    (lead_a, step_a), (lead_b, step_b), lead_and_step = plan.matrices
    calls = []
    for of_a, of_b, of_out in plan.offsets:
        operands = a.at(of_a), lead_a, step_a, b.at(of_b), lead_b, step_b
        shape = _ROW_MAJOR, *plan.how, *plan.sizes
        calls.append(
            Call(gemm, [*shape, number(1), *operands, number(0), out.at(of_out), *lead_and_step, plan.repeats])
        )
    if plan.is_zero:
        calls = [Call(_C.memset, [out.base, 0, out.array.nbytes])]
    if is_finished and out.array.size:
        calls.append(_finish(out, bias, relu))
    return calls


def _finish(out: _Value, bias: _Value | None, relu: bool) -> Call:
    import numpy

    is_single = out.array.itemsize == 4
    number = ctypes.c_float if is_single else ctypes.c_double
    columns = out.array.shape[-1] if out.array.shape else 1
    row = (number * columns)() if bias is None else bias.base
    least = number(0 if relu else -numpy.inf)
    return Call(_FINISH[is_single], [least, out.base, row, out.array.size // columns, columns])


class _Plan(NamedTuple):
    """Arguments of the library's calls for tensors of one layout."""

    #: True if a, b or the result needs a contiguous copy. The other fields are then unset.
    is_copied: bool = False
    #: True if the summed axis has size 0, so that the result is zero.
    is_zero: bool = False
    #: Transposition flags of a and b.
    how: tuple[int, int] = (_PLAIN, _PLAIN)
    #: m, n, k.
    sizes: tuple[int, int, int] = (0, 0, 0)
    #: Strides of a, b and the result in elements: from row to row, and from matrix to matrix of a call's batch.
    matrices: Sequence[tuple[int, int]] = ((0, 0), (0, 0), (0, 0))
    #: Matrices per call.
    repeats: int = 0
    #: Byte offsets of a, b and the result for each call.
    offsets: Sequence[tuple[int, ...]] = ()


@lru_cache(maxsize=4096)
def _plan(spec: str, itemsize: int, *layouts: tuple[Sequence[int], Sequence[int]]) -> _Plan:
    operands, result = spec.split("->")
    labels = [*operands.split(","), result]
    sizes = {"m": 1, "n": 1, **_sizes(labels, [shape for shape, _ in layouts])}
    if 0 in sizes.values():
        return _Plan(is_zero=sizes["k"] == 0)
    strides = [dict(zip(own, steps, strict=True)) for own, (_, steps) in zip(labels, layouts, strict=True)]
    found = [_matrix(steps, axes, sizes, itemsize) for steps, axes in zip(strides, _AXES, strict=True)]
    left, right, written = found
    if written is not None and written.how == _TRANSPOSED:
        written = None
    if max(sizes.values()) > _MOST:
        raise _too_large(sizes)
    if left is None or right is None or written is None:
        return _Plan(is_copied=True)
    batch = [label for label in result if label not in "mn"]
    leading = [left.leading, right.leading, written.leading]
    while batch and batch[-1] not in strides[1] and _is_contiguous_along(batch[-1], (left, written), sizes, itemsize):
        sizes["m"] *= sizes[batch.pop()]
        leading[0], leading[2] = (each.strides["m"] // itemsize for each in (left, written))
    inner = batch.pop() if batch else ""
    steps = [stride.get(inner, 0) // itemsize for stride in strides]
    if max(*sizes.values(), *leading, *map(abs, steps)) > _MOST:
        raise _too_large(sizes)
    offsets = [
        tuple(sum(stride.get(label, 0) * at for label, at in zip(batch, place, strict=True)) for stride in strides)
        for place in product(*(range(sizes[label]) for label in batch))
    ]
    shape = sizes["m"], sizes["n"], sizes["k"]
    matrices = list(zip(leading, steps, strict=True))
    return _Plan(False, False, (left.how, right.how), shape, matrices, sizes.get(inner, 1), offsets)


class _MatrixLayout(NamedTuple):
    """Layout of a tensor's matrices. Rows are contiguous, or columns if `how` is _TRANSPOSED."""

    how: int
    leading: int
    #: Number of contiguous elements.
    width: int
    #: Strides in bytes by axis label.
    strides: Mapping[str, int]


def _too_large(sizes: Mapping[str, int]) -> RelaxError:
    return RelaxError(
        f"size {max(sizes.values())} is too large for OpenBLAS, whose integers have 32 bits: {_MOST} at most"
    )


def _matrix(strides: Mapping[str, int], axes: str, sizes: Mapping[str, int], itemsize: int) -> _MatrixLayout | None:
    """Return the layout of a tensor's matrices, or None if neither rows nor columns are contiguous."""
    if any(stride % itemsize for stride in strides.values()):
        return None
    for how, across, along in ((_PLAIN, axes[0], axes[1]), (_TRANSPOSED, axes[1], axes[0])):
        # The stride of an absent axis, or of an axis of size 1, does not matter.
        step = strides.get(along, itemsize) if sizes[along] > 1 else itemsize
        leading = strides.get(across, 1) // itemsize if sizes[across] > 1 else sizes[along]
        if step == itemsize and leading >= sizes[along]:
            return _MatrixLayout(how, leading, sizes[along], strides)
    return None


def _is_contiguous_along(
    batch: str, matrices: Sequence[_MatrixLayout], sizes: Mapping[str, int], itemsize: int
) -> bool:
    """Check whether the rows of consecutive matrices along a batch axis are rows of one larger matrix."""
    return all(
        matrix.how == _PLAIN
        and matrix.strides.get(batch) == matrix.strides.get("m", 0) * sizes["m"]
        and matrix.strides.get("m", 0) >= matrix.width * itemsize
        for matrix in matrices
    )
