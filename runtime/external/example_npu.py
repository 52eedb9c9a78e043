# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what the codegen `example_npu` makes: instructions of a processor that numpy stands for.

Its bytes: a head (magic, length of the programs), the programs as JSON, and the constants, each at a multiple of 64,
which are used where they are.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...support.errors import RelaxError
from ...support.external_runtime import ExternalRuntime, register_runtime

if TYPE_CHECKING:
    from numpy import ndarray

_MAGIC = b"rx-xnpu\0"
_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64


class Instruction(NamedTuple):
    """What the processor does in one go: a name of INSTRUCTIONS, how, and the values that it reads and writes."""

    name: str
    settings: Mapping[str, Any]
    inputs: Sequence[int]
    output: int


class Program(NamedTuple):
    """A function: values have numbers."""

    inputs: Sequence[int]
    constants: Mapping[int, ndarray]
    instructions: Sequence[Instruction]
    outputs: Sequence[int]


def to_bytes(programs: Mapping[str, Program]) -> bytes:
    blobs: list[bytes] = []
    at = 0
    listed: dict[str, Any] = {}
    for name, program in programs.items():
        places = []
        for number, array in program.constants.items():
            places.append([number, str(array.dtype), array.shape, at])
            blobs.append(_padded(array.tobytes()))
            at += len(blobs[-1])
        listed[name] = {**program._asdict(), "constants": places}
    text = json.dumps(listed).encode()
    return b"".join([_padded(_MAGIC + _LENGTH.pack(len(text)) + text), *blobs])


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)


def from_bytes(data: memoryview) -> dict[str, Program]:
    """The constants are in the memory of `data`. Raises RelaxError for bytes that are others, or not whole."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise RelaxError("these are no bytes of the codegen 'example_npu'")
    start = len(_MAGIC) + _LENGTH.size
    try:
        (length,) = _LENGTH.unpack(data[len(_MAGIC) : start])
        listed = json.loads(bytes(data[start : start + length]))
    except (struct.error, ValueError) as error:
        raise RelaxError("its bytes are cut short, or damaged at their beginning") from error
    constants = start + length + -(start + length) % _ALIGNMENT
    return {name: _program(each, data[constants:]) for name, each in listed.items()}


def _program(listed: Mapping[str, Any], data: memoryview) -> Program:
    import numpy

    constants = {}
    for number, dtype, shape, at in listed["constants"]:
        count, wanted = numpy.prod(shape, dtype=int), numpy.dtype(dtype)
        if at + count * wanted.itemsize > len(data):
            raise RelaxError(f"its bytes are cut short: constants end at {at + count * wanted.itemsize} of {len(data)}")
        constants[number] = numpy.frombuffer(data, wanted, count, at).reshape(shape)
    instructions = [Instruction(*each) for each in listed["instructions"]]
    return Program(listed["inputs"], constants, instructions, listed["outputs"])


@register_runtime("example_npu")
class ExampleNpuRuntime(ExternalRuntime):
    """Needs numpy, nothing of the compiler."""

    version = "1"

    def requires(self, data: memoryview) -> str:
        """The package numpy, and a processor that knows all instructions."""
        try:
            import numpy  # noqa: F401
        except ImportError:
            return "it needs the package numpy (pip install numpy)"
        used = {each.name for program in from_bytes(data).values() for each in program.instructions}
        unknown = sorted(used - set(INSTRUCTIONS))
        return f"it has no instruction {', '.join(unknown)}" if unknown else ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., None]]:
        return {name: partial(_run, program) for name, program in from_bytes(data).items()}


def _run(program: Program, *tensors: Any) -> None:
    import numpy

    arrays = [numpy.from_dlpack(each) for each in tensors]
    values = {**program.constants, **dict(zip(program.inputs, arrays, strict=False))}
    for each in program.instructions:
        values[each.output] = INSTRUCTIONS[each.name](*(values[number] for number in each.inputs), **each.settings)
    for number, place in zip(program.outputs, arrays[len(program.inputs) :], strict=True):
        place[...] = values[number]


def _windows(x: ndarray, size: Sequence[int], strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
             fill: float) -> ndarray:  # fmt: skip
    """Of NHWC: N, H, W, C, and H and W of each window."""
    import numpy

    top, left, bottom, right = padding
    padded = numpy.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    reach = [(count - 1) * step + 1 for count, step in zip(size, dilation, strict=True)]
    seen = numpy.lib.stride_tricks.sliding_window_view(padded, reach, (1, 2))
    return seen[:, :: strides[0], :: strides[1], :, :: dilation[0], :: dilation[1]]


def _conv2d(x: ndarray, weight: ndarray, strides: Sequence[int], padding: Sequence[int],
            dilation: Sequence[int]) -> ndarray:  # fmt: skip
    """Of NHWC by OHWI."""
    import numpy

    windows = _windows(x, weight.shape[1:3], strides, padding, dilation, 0)
    return numpy.tensordot(windows, weight, ((4, 5, 3), (1, 2, 3)))


def _max_pool2d(x: ndarray, size: Sequence[int], strides: Sequence[int], padding: Sequence[int]) -> ndarray:
    maxima: ndarray = _windows(x, size, strides, padding, (1, 1), -float("inf")).max((4, 5))
    return maxima


def _avg_pool2d(x: ndarray, size: Sequence[int], strides: Sequence[int], padding: Sequence[int]) -> ndarray:
    """Without the padding."""
    import numpy

    sums = _windows(x, size, strides, padding, (1, 1), 0).sum((4, 5))
    counts = _windows(numpy.ones_like(x[:1, :, :, :1]), size, strides, padding, (1, 1), 0).sum((4, 5))
    averages: ndarray = sums / counts
    return averages


def _relu(x: ndarray) -> ndarray:
    import numpy

    return numpy.maximum(x, 0)


#: What the processor can do; floats in, floats out.
INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "conv2d": _conv2d,
    "matmul": lambda x, w: x @ w,
    "add": lambda x, y: x + y,
    "relu": _relu,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
    "permute_dims": lambda x, axes: x.transpose(axes),
}
