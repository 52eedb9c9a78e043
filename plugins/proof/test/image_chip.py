# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `imagechip`: layers of unsigned bytes, channels last, with multipliers of 16 bits. NumPy is the chip."""

from __future__ import annotations

import functools
import io
import json
from typing import Any

import numpy
import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Op

OUT = rx.Requantize("q15>>shift", rounding="half_away")
CHANNELS_LAST: dict[str, Any] = {"data_layout": "NHWC", "kernel_layout": "HWIO", "dilation": (1, 1)}


def real(value: Any, name: str) -> Any:
    scale, zero = is_const().named(f"{name}_scale"), is_const().named(f"{name}_zero_point")
    return is_op("relax.dequantize")(value.named(name), scale, zero)


def result(sums: Any) -> Any:
    limited = sums.optional(lambda y: is_op("relax.nn.relu")(y).named("relu"))
    return is_op("relax.quantize")(limited, is_const().named("y_scale"), is_const().named("y_zero_point"))


def layer(product: Any) -> Any:
    return result(product.named("product").optional(lambda y: is_op("relax.add")(y, real(is_const(), "bias"))))


def conv(groups: Any) -> Any:
    product = is_op("relax.nn.conv2d")(real(wildcard(), "x"), real(is_const(), "w"))
    return layer(product.has_attr(**CHANNELS_LAST, groups=groups))


LINEAR = layer(is_op("relax.matmul")(real(wildcard(), "x"), real(is_const(), "w")))
POOL = result(
    is_op("relax.nn.avg_pool2d")(real(wildcard(), "x")).has_attr(layout="NHWC", ceil_mode=False).named("product")
)
ADD = result(is_op("relax.add")(real(wildcard(), "x"), real(wildcard(), "other")))


def fits(match: Any) -> bool | str:
    """Accept unsigned bytes. The element types are not in the patterns."""
    types = {"x": "ui8", "other": "ui8", "w": "i8", "bias": "i32"}
    for name, wanted in types.items():
        if name in match and str(match[name].type.element_type) != wanted:
            return f"the chip reads {wanted}, not {match[name].type}"
    if str(match.root.results[0].type.element_type) != "ui8":
        return "the chip writes unsigned bytes"
    if any(name in match and match[name].type.shape not in ([], [1]) for name in ("x_scale", "other_scale", "y_scale")):
        return "the chip has one scale for each activation"
    return True


def fits_layer(match: Any) -> bool | str:
    zeros = match["w_zero_point"].type.shape
    if zeros not in ([], [1]) and "w_scale" in match and match["w_scale"].type.shape != zeros:
        return "the chip has one zero point for each scale"
    if zeros in ([], [1]) and match.number("w_zero_point") != 0:
        return "the chip's weights have no zero point"
    if match["w"].type.rank != len(match.op("product").operation.results[0].type.shape):
        return "the chip multiplies by a matrix"
    return fits(match)


def fits_pool(match: Any) -> bool | str:
    pool = match.op("product")
    if any(pool.padding) or set(pool.dilation) != {1}:
        return "the chip's pools have no padding"
    return fits(match)


def fits_add(match: Any) -> bool | str:
    return match["x"].type.shape == match["other"].type.shape and fits(match) or "the chip adds tensors of one shape"


NAMES = (
    "x other w bias x_scale other_scale w_scale bias_scale y_scale x_zero_point other_zero_point y_zero_point".split()
)


@rx.codegens.register_codegen("imagechip")
class ImageChip(rx.codegens.Codegen):
    patterns = (
        ("imagechip.conv", conv(1), fits_layer),
        ("imagechip.depthwise", conv(lambda groups: groups > 1), fits_layer),
        ("imagechip.linear", LINEAR, fits_layer),
        ("imagechip.pool", POOL, fits_pool),
        ("imagechip.add", ADD, fits_add),
    )
    recipe = rx.Recipe(
        *(
            Op(f"imagechip.{name}", x="u8", w="i8@channel symmetric", bias="i32 derived", y="u8", out=OUT)
            for name in ("conv", "depthwise", "linear")
        )
    )

    def compile(self, module: Any, options: Any) -> bytes:
        programs, arrays = {}, {}
        for name, part in self.steps(module).items():
            steps = [_step(step, part.constants) for step in part.steps]
            programs[name] = [part.inputs, list(part.constants), steps, part.outputs]
            arrays |= {f"{name}:{number}": array for number, array in part.constants.items()}
        numpy.savez(file := io.BytesIO(), programs=json.dumps(programs), **arrays)
        return file.getvalue()

    def load(self, data: Any) -> Any:
        arrays = dict(numpy.load(io.BytesIO(data)))
        programs = json.loads(str(arrays["programs"]))
        return {name: functools.partial(_run, name, arrays, *program) for name, program in programs.items()}


def _step(step: Any, constants: Any) -> Any:
    names = {name: step[name] for name in NAMES if name in step}
    kind = step.composite.partition(".")[2]
    settings: dict[str, Any] = {"relu": "relu" in step.makers}
    if kind in ("conv", "depthwise", "pool"):
        op = step.op("product")
        settings |= {"strides": list(op.strides), "padding": list(op.padding) * (4 // len(op.padding))}
        settings |= {"size": list(op.pool_size)} if kind == "pool" else {"groups": op.groups}
    if "bias" in names:
        scales = constants[names["x_scale"]] * constants[names["w_scale"]]
        if not numpy.allclose(constants[names["bias_scale"]], scales, rtol=1e-6, atol=0):
            raise rx.RelaxError("the chip's biases count the steps of the sums")
    return kind, names, settings, step.outputs


def _run(name: str, arrays: Any, inputs: Any, constants: Any, steps: Any, outputs: Any, *tensors: Any) -> None:
    given = [numpy.from_dlpack(tensor) for tensor in tensors]
    values = {number: arrays[f"{name}:{number}"] for number in constants}
    values |= dict(zip(inputs, given, strict=False))
    for kind, names, settings, (made,) in steps:
        read = {each: values[number] for each, number in names.items()}
        values[made] = CHIP[kind](read, **settings)
    for number, place in zip(outputs, given[len(inputs) :], strict=True):
        place[...] = values[number]


# ---- the chip: faults replace entries of CHIP ----


def less_zero(read: Any, name: str) -> Any:
    return read[name].astype("int64") - int(read[f"{name}_zero_point"].reshape(-1)[0])


def multiply_windows(windows: Any, w: Any, groups: int) -> Any:
    """Return the sums of windows [n, h, w, channels, y, x] times a kernel of HWIO."""
    parts = numpy.split(windows, groups, axis=3)
    kernels = numpy.split(w.astype("int64"), groups, axis=3)
    sums = [numpy.einsum("nhwcyx,yxco->nhwo", *each, optimize=True) for each in zip(parts, kernels, strict=True)]
    return numpy.concatenate(sums, axis=3)


def windows_of(x: Any, size: Any, strides: Any, padding: Any) -> Any:
    top, left, bottom, right = padding
    padded = numpy.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=CHIP["fill"])
    seen = numpy.lib.stride_tricks.sliding_window_view(padded, size, (1, 2))
    return seen[:, :: strides[0], :: strides[1]]


def convolve(read: Any, relu: bool, strides: Any, padding: Any, groups: int) -> Any:
    windows = windows_of(CHIP["less_zero"](read, "x"), read["w"].shape[:2], strides, padding)
    return finish(multiply_windows(windows, read["w"], groups), read, relu)


def linear(read: Any, relu: bool) -> Any:
    return finish(CHIP["less_zero"](read, "x") @ read["w"].astype("int64"), read, relu)


def finish(sums: Any, read: Any, relu: bool) -> Any:
    """Return sums with a bias, a multiplier and limits as bytes."""
    bias = read["bias"].reshape(-1) if "bias" in read else 0
    sums = CHIP["accumulator"](sums + CHIP["bias"](bias))
    scale = read["x_scale"].astype(float) * read["w_scale"].astype(float) / read["y_scale"].astype(float)
    multiplier, shift = CHIP["parameters"](scale)
    zero = int(read["y_zero_point"].reshape(-1)[0])
    whole = CHIP["shift"](sums * multiplier.astype("int64"), 15 + shift.astype("int64"))
    return CHIP["limits"](whole + CHIP["zero"](zero), zero if relu else 0)


def parameters(scale: Any) -> Any:
    return OUT.parameters(scale.reshape(-1) if scale.size > 1 else scale.reshape(()))


def shifted(product: Any, places: Any) -> Any:
    """Round half away from zero."""
    return numpy.sign(product) * ((abs(product) + (1 << places - 1)) >> places)


def limited(whole: Any, least: int) -> Any:
    return whole.clip(least, 255).astype("uint8")


def add(read: Any, relu: bool) -> Any:
    a, b = (CHIP["less_zero"](read, name) * read[f"{name}_scale"].astype(float) for name in ("x", "other"))
    return rounded(a + b, read, relu)


def pool(read: Any, relu: bool, strides: Any, padding: Any, size: Any) -> Any:
    windows = windows_of(CHIP["less_zero"](read, "x"), size, strides, padding)
    return rounded(windows.mean((4, 5)) * read["x_scale"].astype(float), read, relu)


def rounded(real: Any, read: Any, relu: bool) -> Any:
    zero = int(read["y_zero_point"].reshape(-1)[0])
    whole = CHIP["rint"](real / read["y_scale"].astype(float)).astype("int64")
    return CHIP["limits"](whole + CHIP["zero"](zero), zero if relu else 0)


CHIP: dict[str, Any] = {
    "conv": convolve, "depthwise": convolve, "linear": linear, "add": add, "pool": pool, "less_zero": less_zero,
    "fill": 0, "accumulator": lambda sums: sums, "bias": lambda bias: bias, "parameters": parameters, "shift": shifted,
    "zero": lambda zero: zero, "limits": limited, "rint": numpy.rint,
}  # fmt: skip
