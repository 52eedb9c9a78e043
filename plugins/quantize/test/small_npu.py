# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen of an accelerator in numpy, with patterns of layers in floating point, for tests of quantization."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Fixed, Float, Op, Share

_NAMES = ("x", "w", "bias", "other")
_SCALES = [f"{name}_{what}" for name in (*_NAMES, "y") for what in ("scale", "zero_point")]


def _layer(product: str) -> Any:
    sums = is_op(product)(wildcard().named("x"), is_const().named("w")).named("product")
    biased = sums.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    return biased.optional(lambda y: is_op("relax.nn.relu")(y).named("activation"))


def _sum() -> Any:
    both = is_op("relax.add")(wildcard().named("x"), wildcard().named("other"))
    return both.optional(lambda y: is_op("relax.nn.relu")(y).named("activation"))


@rx.codegens.register_codegen("small_npu")
class SmallNpu(rx.codegens.Codegen):
    """Convolutions, products and residual sums of int8."""

    contract = "1.0"
    inner_outputs = False
    patterns = (
        ("small_npu.conv", _layer("relax.nn.conv2d")),
        ("small_npu.linear", _layer("relax.matmul")),
        ("small_npu.add", _sum()),
    )
    recipe = rx.Recipe(
        Op("small_npu.conv", x="i8", w="i8@channel symmetric", bias="i32 derived"),
        Op("small_npu.linear", x=("i8", "i16"), w="i8 symmetric", bias="i32 derived"),
        Op("small_npu.add", x="i8", other="i8"),
        Share("relax.concat", "relax.nn.max_pool2d", "relax.nn.avg_pool2d"),
        Fixed("relax.sigmoid", scale=1 / 256, zero=-128, type="i8"),
        Float("relax.nn.softmax"),
    )

    def compile(self, module: object, options: Mapping[str, object]) -> bytes:
        programs, arrays = {}, {}
        for name, part in self.steps(module).items():
            steps = [_described(step) for step in part.steps]
            programs[name] = [part.inputs, list(part.constants), steps, part.outputs]
            arrays |= {f"{name}:{number}": array for number, array in part.constants.items()}
        numpy.savez(file := io.BytesIO(), programs=json.dumps(programs), **arrays)
        return file.getvalue()

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        arrays = dict(numpy.load(io.BytesIO(data)))
        programs = json.loads(str(arrays["programs"]))
        return {name: _Function(name, arrays, *program) for name, program in programs.items()}


def _described(step: Any) -> dict[str, Any]:
    conv = step.op("product") if step.composite == "small_npu.conv" else None
    made = {"unit": step.composite, "relu": "activation" in step.makers, "made": step.outputs}
    made["read"] = {name: step[name] for name in (*_NAMES, *_SCALES) if name in step}
    if conv is not None:
        padding = list(conv.padding) * (4 // len(conv.padding))
        made |= {"strides": list(conv.strides), "padding": padding}
    return made


class _Function:
    def __init__(self, name: str, arrays: Mapping[str, Any], *program: Sequence[Any]):
        self._inputs, constants, self._steps, self._outputs = program
        self._constants = {number: arrays[f"{name}:{number}"] for number in constants}

    def __call__(self, *tensors: Any) -> None:
        given = [numpy.from_dlpack(tensor) for tensor in tensors]
        values = {**self._constants, **dict(zip(self._inputs, given, strict=False))}
        for step in self._steps:
            (made,) = step["made"]
            values[made] = _computed(step, {name: values[number] for name, number in step["read"].items()})
        for number, place in zip(self._outputs, given[len(self._inputs) :], strict=True):
            place[...] = values[number]


def _computed(step: Mapping[str, Any], read: Mapping[str, Any]) -> Any:
    data = read["x"].astype("int64") - read["x_zero_point"]
    if step["unit"] == "small_npu.add":
        other = (read["other"].astype("int64") - read["other_zero_point"]) * read["other_scale"].astype(float)
        real = data * read["x_scale"].astype(float) + other
    else:
        scale = read["x_scale"].astype(float) * read["w_scale"]
        sums = _convolved(data, read["w"], step) if "strides" in step else data @ read["w"].astype("int64")
        real = (sums + read.get("bias", 0)) * (scale.reshape(-1, 1, 1) if "strides" in step else scale)
    real = numpy.maximum(real, 0) if step["relu"] else real
    if "y_scale" not in read:
        return real.astype("float32")
    limits = numpy.iinfo(read["y_zero_point"].dtype)
    steps = numpy.rint(real / read["y_scale"]) + read["y_zero_point"]
    return numpy.clip(steps, limits.min, limits.max).astype(limits.dtype)


def _convolved(data: Any, weights: Any, step: Mapping[str, Any]) -> Any:
    top, left, bottom, right = step["padding"]
    strides = step["strides"]
    padded = numpy.pad(data, [(0, 0), (0, 0), (top, bottom), (left, right)])
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], (2, 3))
    return numpy.einsum("nchwij,ocij->nohw", windows[:, :, :: strides[0], :: strides[1]], weights.astype("int64"))
