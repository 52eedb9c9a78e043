# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegen on numpy with a fault by option: `faulty{fault=bound}`."""

from __future__ import annotations

import ctypes
import functools
import io
import itertools
import json
import threading
import time
from typing import Any, Literal

import numpy
import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard

#: A wrong bound of an activation; operands in the wrong order where the first operand is the constant; a race between
#: threads; an empty output that is not written; quantized numbers that are rounded away from zero; arrays that are kept
#: forever; memory that is used without a check that it exists.
Fault = Literal["none", "bound", "order", "race", "empty", "rounding", "leak", "memory"]

X = wildcard().named("x")
DIFFERENCE = is_op("relax.subtract")(X, wildcard().named("y"))
LAYER = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard().has_rank(2).named("x"), is_const().named("y")))
TANH = is_op("relax.tanh")(X)
QUANTIZED = is_op("relax.quantize")(X, is_const().named("scale"), is_const().named("zero"))


def is_f32(match: Any) -> bool | str:
    return "f32" in str(match["x"].type) or "only f32"


@rx.codegens.register_codegen("faulty")
class Faulty(rx.codegens.Codegen):
    """Codegen for differences, layers, tanh and quantization."""

    patterns = (
        ("faulty.layer", LAYER, is_f32),
        ("faulty.difference", DIFFERENCE, is_f32),
        ("faulty.tanh", TANH, is_f32),
        ("faulty.quantize", QUANTIZED, is_f32),
    )
    options = {"fault": rx.codegens.CodegenOption("what is wrong", Fault, "none")}  # noqa: RUF012  # as users write it

    def compile(self, module: object, options: Any) -> bytes:
        programs, arrays = {}, {}
        for name, part in self.steps(module).items():
            steps = [(step.composite, [step[x] for x in _READ[step.composite]], step.outputs) for step in part.steps]
            programs[name] = part.inputs, list(part.constants), steps, part.outputs, options["fault"]
            arrays |= {f"{name}:{number}": array for number, array in part.constants.items()}
        numpy.savez(file := io.BytesIO(), programs=json.dumps(programs), **arrays)
        return file.getvalue()

    def load(self, data: Any) -> Any:
        arrays = dict(numpy.load(io.BytesIO(data)))
        programs = json.loads(str(arrays["programs"]))
        return {name: functools.partial(_run, name, arrays, *program) for name, program in programs.items()}


_READ = {"faulty.layer": "xy", "faulty.difference": "xy", "faulty.tanh": "x", "faulty.quantize": ("x", "scale", "zero")}


def _run(
    name: str, arrays: Any, inputs: Any, constants: Any, steps: Any, outputs: Any, fault: str, *tensors: Any
) -> None:
    if fault == "leak":
        _KEPT.append(numpy.ones(20_000))
    if fault == "memory":
        _write_to_large_memory()
    values = {number: arrays[f"{name}:{number}"] for number in constants}
    given = [numpy.from_dlpack(tensor) for tensor in tensors]
    values |= dict(zip(inputs, given, strict=False))
    for composite, read, (made,) in steps:
        values[made] = _computed(composite, [values[number] for number in read], fault, {*constants} & {read[0]})
    for number, place in zip(outputs, given[len(inputs) :], strict=True):
        if fault != "empty" or values[number].shape[0] > 2:
            place[...] = values[number]


def _computed(composite: str, operands: list[Any], fault: str, first_is_constant: Any) -> Any:
    if composite == "faulty.layer":
        y = numpy.maximum(operands[0] @ operands[1], 0)
        return numpy.minimum(y, 1) if fault == "bound" else y
    if composite == "faulty.difference":
        is_swapped = fault == "order" and first_is_constant
        return operands[1] - operands[0] if is_swapped else operands[0] - operands[1]
    if composite == "faulty.tanh":
        return _by_threads(operands[0], fault == "race")
    x, scale, zero = operands
    scaled = x.astype("float32") / scale
    rounded = numpy.trunc(scaled + numpy.copysign(0.5, scaled)) if fault == "rounding" else numpy.rint(scaled)
    limits = numpy.iinfo(zero.dtype)
    return numpy.clip(rounded + zero, limits.min, limits.max).astype(zero.dtype)


_KEPT: list[Any] = []
_libc = ctypes.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]


def _write_to_large_memory() -> None:
    place = _libc.malloc(1 << 30)  # more than any process has left to give again
    ctypes.memset(place or 0, 0, 64)
    _libc.free(place)


_CALLS = itertools.count()


def _by_threads(x: Any, is_racing: bool) -> Any:
    """Two threads with a half each; where they race, every second call does not wait for the other one."""
    result = numpy.zeros_like(x)
    flat, given = result.reshape(-1), x.reshape(-1)
    is_late = is_racing and next(_CALLS) % 2 == 1

    def half(start: int, end: int, delay: float) -> None:
        time.sleep(delay)
        flat[start:end] = numpy.tanh(given[start:end])

    middle = given.size // 2
    parts = ((0, middle, 0.0), (middle, given.size, 0.05 if is_late else 0.0))
    threads = [threading.Thread(target=half, args=each) for each in parts]
    for thread in threads:
        thread.start()
    for thread in threads[: 1 if is_late else 2]:
        thread.join()
    found = result.copy()
    for thread in threads:
        thread.join()
    return found
