# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `example_npu`: executes the instructions of a processor that NumPy emulates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from relax_mlir.runtime.foreign_types import Array, Tensor
from relax_mlir.runtime.part_steps import step_reporter
from relax_mlir.support.external_bytes import PartFunction, unpacked
from relax_mlir.support.external_runtime import ExternalRuntime, register_runtime
from relax_mlir.support.requantization import Multiplier, Requantize


@dataclass(frozen=True)
class Instruction:
    """Instruction of the processor: a name of INSTRUCTIONS, settings, and numbers of the operands and the result."""

    name: str
    settings: Mapping[str, object]
    inputs: Sequence[int]
    output: int
    #: Nodes of the model that the instruction computes, for profiles.
    nodes: tuple[str, ...] = ()


def programs_of(data: memoryview) -> dict[str, PartFunction[Instruction]]:
    """Return the functions of a part. Raise RelaxError if the bytes are damaged or from another codegen."""
    return unpacked("example_npu", data, dict[str, PartFunction[Instruction]])


@register_runtime("example_npu")
class ExampleNpuRuntime(ExternalRuntime):
    """Runtime that needs NumPy, but not the compiler."""

    version = "2"

    def requires(self, data: memoryview) -> str:
        """Return the reason why a part cannot run: numpy or an instruction is missing. Empty if it can."""
        try:
            import numpy  # noqa: F401
        except ImportError:
            return "it needs the package numpy (pip install numpy)"
        used = {step.name for program in programs_of(data).values() for step in program.steps}
        unknown = sorted(used - set(INSTRUCTIONS))
        return f"the processor has no instruction {', '.join(unknown)}" if unknown else ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        return {name: partial(_run, program) for name, program in programs_of(data).items()}


def _run(program: PartFunction[Instruction], *tensors: Tensor) -> None:
    import numpy

    arrays = [numpy.from_dlpack(tensor) for tensor in tensors]
    values = {**program.constants, **dict(zip(program.inputs, arrays, strict=False))}
    report = step_reporter()
    for step in program.steps:
        start = time.perf_counter() if report else 0.0
        values[step.output] = INSTRUCTIONS[step.name](*(values[number] for number in step.inputs), **step.settings)
        if report:
            report(step.name, step.nodes, start, time.perf_counter() - start)
    for number, place in zip(program.outputs, arrays[len(program.inputs) :], strict=True):
        place[...] = values[number]


def _windows(x: Array, size: Sequence[int], strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
             fill: float) -> Array:  # fmt: skip
    """Return the windows of an NHWC tensor, with the dimensions N, H, W, C, window H, window W."""
    import numpy

    top, left, bottom, right = padding
    padded = numpy.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    reach = [(count - 1) * step + 1 for count, step in zip(size, dilation, strict=True)]
    seen = numpy.lib.stride_tricks.sliding_window_view(padded, reach, (1, 2))
    return seen[:, :: strides[0], :: strides[1], :, :: dilation[0], :: dilation[1]]


def _conv2d(x: Array, weight: Array, strides: Sequence[int], padding: Sequence[int],
            dilation: Sequence[int]) -> Array:  # fmt: skip
    """Return the convolution of an NHWC tensor with OHWI weights."""
    import numpy

    windows = _windows(x, weight.shape[1:3], strides, padding, dilation, 0)
    return numpy.tensordot(_wide(windows), _wide(weight), ((4, 5, 3), (1, 2, 3)))


def _wide(x: Array) -> Array:
    """Return the operand of a product: bytes have sums of 32 bits."""
    return x.astype("int32") if x.dtype.kind == "i" else x


def _requantize(
    sums: Array, multiplier: Array, shift: Array, zero_point: Array, rounding: str, axis: int, dtype: str
) -> Array:
    how = Requantize("q31>>shift", rounding)
    return how.apply(sums, Multiplier(multiplier, shift), zero_point, dtype, axis=axis)


def _max_pool2d(x: Array, size: Sequence[int], strides: Sequence[int], padding: Sequence[int]) -> Array:
    maxima: Array = _windows(x, size, strides, padding, (1, 1), -float("inf")).max((4, 5))
    return maxima


def _avg_pool2d(x: Array, size: Sequence[int], strides: Sequence[int], padding: Sequence[int]) -> Array:
    """Return the mean of each window. Padding is not part of the mean."""
    import numpy

    sums = _windows(x, size, strides, padding, (1, 1), 0).sum((4, 5))
    counts = _windows(numpy.ones_like(x[:1, :, :, :1]), size, strides, padding, (1, 1), 0).sum((4, 5))
    averages: Array = sums / counts
    return averages


def _relu(x: Array) -> Array:
    import numpy

    return numpy.maximum(x, 0)


def _maximum(x: Array, y: Array) -> Array:
    import numpy

    return numpy.maximum(x, y)


#: Implementations of the processor's instructions, on floats and integers.
INSTRUCTIONS: dict[str, Callable[..., Array]] = {
    "conv2d": _conv2d,
    "matmul": lambda x, w: _wide(x) @ _wide(w),
    "add": lambda x, y: x + y,
    "relu": _relu,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "subtract": lambda x, y: x - y,
    "maximum": lambda x, y: _maximum(x, y),
    "astype": lambda x, dtype: x.astype(dtype),
    "requantize": _requantize,
    "permute_dims": lambda x, axes: x.transpose(axes),
}
