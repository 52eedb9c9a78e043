# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs parts of the codegen `blas`: products of matrices by OpenBLAS, from the package scipy-openblas32."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ...support.errors import RelaxError
from ...support.external_runtime import ExternalRuntime, register_runtime
from .. import external_bytes

_ROW_MAJOR, _PLAIN, _TRANSPOSED = 101, 111, 112
_MOST = 2**31 - 1
#: Rows and columns of the operands and of the result.
_AXES = ("mk", "kn", "mn")
_DTYPES = {"f32": "float32", "f64": "float64"}


class Step(NamedTuple):
    """`spec` is a product as einsum has it, of values by their numbers; then a bias is added, and a relu follows."""

    spec: str
    element: str
    a: int
    b: int
    bias: int | None
    relu: bool


class Function(NamedTuple):
    """Inputs have the first numbers, then each step makes one value; negative ones are constants, from -1 on."""

    input_count: int
    steps: Sequence[Step]
    results: Sequence[int]


class Part(NamedTuple):
    """What the bytes hold."""

    threads: int
    functions: Mapping[str, Function]
    constants: Sequence[Any]


def packed(part: Part) -> bytes:
    """A part as bytes."""
    arrays = [{"dtype": each.dtype.name, "shape": each.shape} for each in part.constants]
    head = {"threads": part.threads, "functions": part.functions, "constants": arrays}
    return external_bytes.packed("blas", head, [each.tobytes() for each in part.constants])


def unpacked(data: memoryview) -> Part:
    """The part of its bytes. Raises RelaxError where they are no such bytes, or some are missing."""
    return external_bytes.unpacked("blas", data, _part)


def _part(head: Mapping[str, Any], pieces: Sequence[memoryview]) -> Part:
    import numpy

    functions = {
        name: Function(count, [Step(*step) for step in steps], results)
        for name, (count, steps, results) in head["functions"].items()
    }
    # Of nothing at all numpy makes no array.
    flat = [numpy.frombuffer(piece, stated["dtype"]) if len(piece) else numpy.empty(0, stated["dtype"])
            for piece, stated in zip(pieces, head["constants"], strict=True)]  # fmt: skip
    arrays = [
        numpy.require(each, requirements="A").reshape(stated["shape"])
        for each, stated in zip(flat, head["constants"], strict=True)
    ]
    return Part(int(head["threads"]), functions, arrays)


@register_runtime("blas")
class BlasRuntime(ExternalRuntime):
    """Functions that call OpenBLAS."""

    version = "1"

    def requires(self, data: memoryview) -> str:
        """The package scipy-openblas32, with a library for this machine."""
        del data
        try:
            library()
        except (ImportError, OSError) as error:
            return f"it needs the package scipy-openblas32 (pip install scipy-openblas32): {error}"
        return ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        part = unpacked(data)
        return {name: _Runner(each, part) for name, each in part.functions.items()}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """OpenBLAS, with the functions that are called; loaded once. Raises ImportError or OSError."""
    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    path = next(iter(sorted(folder.glob("libscipy_openblas*"))), folder / "libscipy_openblas.so")
    found = ctypes.CDLL(str(path))
    number, pointer = ctypes.c_int, ctypes.c_void_p
    for letter, real in (("s", ctypes.c_float), ("d", ctypes.c_double)):
        gemm = getattr(found, f"scipy_cblas_{letter}gemm_batch_strided")
        matrices = [pointer, number, number]
        gemm.argtypes = [number] * 6 + [real, *matrices, *matrices, real, *matrices, number]
        gemm.restype = None
    found.scipy_openblas_set_num_threads.argtypes = [number]
    return found


class _Runner:
    """A function of a part: called with inputs, then with the tensors that results are to be written to."""

    def __init__(self, function: Function, part: Part):
        self._function, self._constants, self._threads = function, part.constants, part.threads

    def __call__(self, *arguments: Any) -> None:
        import numpy

        count, steps, results = self._function
        if len(arguments) != count + len(results):
            raise RelaxError(f"takes {count} inputs and {len(results)} outputs, got {len(arguments)} tensors")
        given = [each if isinstance(each, numpy.ndarray) else numpy.from_dlpack(each) for each in arguments]
        values, outputs = given[:count], given[count:]
        library().scipy_openblas_set_num_threads(self._threads)
        for number, step in enumerate(steps, count):
            a, b = (self._value(values, each) for each in (step.a, step.b))
            # What is returned is made where it is to be.
            out = outputs[results.index(number)] if number in results else None
            if out is None:
                out = numpy.empty(_result_shape(step.spec, a.shape, b.shape), _DTYPES[step.element])
            multiply(step.spec, a, b, out, None if step.bias is None else self._value(values, step.bias))
            if step.relu:
                numpy.maximum(out, 0, out=out)
            values.append(out)
        for output, number in zip(outputs, results, strict=True):
            made = self._value(values, number)
            if made is not output:
                output[...] = made

    def _value(self, values: Sequence[Any], number: int) -> Any:
        return self._constants[-1 - number] if number < 0 else values[number]


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


def multiply(spec: str, a: Any, b: Any, out: Any, bias: Any = None) -> None:
    """Writes numpy.einsum(spec, a, b) to `out`, with a bias added that goes along its last axis."""
    given = [a, b, out]
    if bias is not None:
        out[...] = bias
    plan = _plan(spec, out.itemsize, *((each.shape, each.strides) for each in given))
    wrong = {*plan.copied, *(place for place, each in enumerate(given) if not each.flags.aligned)}
    if wrong:
        given = [_contiguous(each) if place in wrong else each for place, each in enumerate(given)]
        plan = _plan(spec, out.itemsize, *((each.shape, each.strides) for each in given))
    if plan.is_zero:
        out[...] = 0 if bias is None else bias
        return
    gemm = library().scipy_cblas_sgemm_batch_strided if out.itemsize == 4 else library().scipy_cblas_dgemm_batch_strided
    at_a, at_b, at_out = (each.__array_interface__["data"][0] for each in given)
    (lead_a, step_a), (lead_b, step_b), lead_and_step = plan.matrices
    for of_a, of_b, of_out in plan.offsets:
        gemm(
            *(_ROW_MAJOR, *plan.how, *plan.sizes, 1, at_a + of_a, lead_a, step_a, at_b + of_b, lead_b, step_b),
            *(0 if bias is None else 1, at_out + of_out, *lead_and_step, plan.repeats),
        )
    if 2 in wrong:
        out[...] = given[2]


class _Plan(NamedTuple):
    """Calls of the library for tensors that lie in memory in one way."""

    #: Which of a, b and the result have to be copied first, into one piece; then nothing else is said.
    copied: tuple[int, ...] = ()
    #: Whether there is nothing to sum.
    is_zero: bool = False
    #: Whether a and b are transposed; m, n, k.
    how: tuple[int, int] = (_PLAIN, _PLAIN)
    sizes: tuple[int, int, int] = (0, 0, 0)
    #: Of a, b and the result: elements from row to row, and from matrix to matrix, of which a call has `repeats`.
    matrices: Sequence[tuple[int, int]] = ((0, 0), (0, 0), (0, 0))
    repeats: int = 0
    #: In bytes, for each call.
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
    if left is None or right is None or written is None:
        return _Plan(tuple(place for place, each in enumerate((left, right, written)) if each is None))
    batch = [label for label in result if label not in "mn"]
    leading = [left.leading, right.leading, written.leading]
    while batch and batch[-1] not in strides[1] and _goes_on(batch[-1], (left, written), sizes, itemsize):
        sizes["m"] *= sizes[batch.pop()]
        leading[0], leading[2] = (each.strides["m"] // itemsize for each in (left, written))
    inner = batch.pop() if batch else ""
    steps = [each.get(inner, 0) // itemsize for each in strides]
    if max(*sizes.values(), *leading, *map(abs, steps)) > _MOST:
        raise RelaxError(f"sizes of {max(sizes.values())} are too large for a BLAS of 32 bits")
    offsets = [
        tuple(sum(each.get(label, 0) * at for label, at in zip(batch, place, strict=True)) for each in strides)
        for place in product(*(range(sizes[label]) for label in batch))
    ]
    shape = sizes["m"], sizes["n"], sizes["k"]
    matrices = list(zip(leading, steps, strict=True))
    return _Plan((), False, (left.how, right.how), shape, matrices, sizes.get(inner, 1), offsets)


class _Matrix(NamedTuple):
    """How a tensor's matrices lie: elements of a row are side by side, or, transposed, those of a column."""

    how: int
    leading: int
    #: Elements that are side by side.
    width: int
    #: In bytes.
    strides: Mapping[str, int]


def _matrix(strides: Mapping[str, int], axes: str, sizes: Mapping[str, int], itemsize: int) -> _Matrix | None:
    """None where neither lie side by side."""
    if any(stride % itemsize for stride in strides.values()):
        return None
    for how, across, along in ((_PLAIN, axes[0], axes[1]), (_TRANSPOSED, axes[1], axes[0])):
        # An axis that is not there, or of size 1, lies anyhow.
        step = strides.get(along, itemsize) if sizes[along] > 1 else itemsize
        leading = strides.get(across, 1) // itemsize if sizes[across] > 1 else sizes[along]
        if step == itemsize and leading >= sizes[along]:
            return _Matrix(how, leading, sizes[along], strides)
    return None


def _goes_on(batch: str, matrices: Sequence[_Matrix], sizes: Mapping[str, int], itemsize: int) -> bool:
    """Whether the rows of a batch's next matrix go on where those of one end."""
    return all(
        each.how == _PLAIN
        and each.strides.get(batch) == each.strides.get("m", 0) * sizes["m"]
        and each.strides.get("m", 0) >= each.width * itemsize
        for each in matrices
    )


def _contiguous(array: Any) -> Any:
    import numpy

    return numpy.array(array, order="C", copy=True)
