# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per fault reads best
"""Faults of integer arithmetic, planted in three simulated chips: a codegen, a target and a codegen of this folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import image_chip
import numpy
from relax_mlir.support.requantization import Multiplier, Requantize
from relax_mlir_example_npu import runtime as example_npu

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "npu"))

import npu  # noqa: F401  # registers the target
from npu import isa, simulator


class Fault(NamedTuple):
    """A fault: the chip, the place to replace, and the pattern and the kind that the kit has to name."""

    chip: str
    name: str
    #: Dictionary or module, the entry or attribute, and a function of the right implementation that returns a wrong one.
    place: Any
    key: str
    wrong: Callable[[Any], Any]
    operator: str
    kind: str


def _wrapped(sums: Any, bits: int) -> Any:
    """Return the low bits of integers, with a sign."""
    half = 1 << bits - 1
    return ((sums.astype("int64") + half) % (1 << bits)) - half


# ---- example_npu: instructions on int32 ----


def _requantize(how: Any = None, **changes: Any) -> Callable[[Any], Any]:
    """Return a change of the requantization: of its operands by name, or of the arithmetic `how`."""

    def change(right: Any) -> Any:
        def wrong(sums: Any, multiplier: Any, shift: Any, zero_point: Any, rounding: str, axis: int, dtype: str) -> Any:
            given = {"sums": sums, "multiplier": multiplier, "shift": shift, "zero_point": zero_point}
            given |= {name: function(given[name]) for name, function in changes.items()}
            chosen = replace(Requantize("q31>>shift", rounding), **(how or {}))
            made = chosen.apply(
                given["sums"], Multiplier(given["multiplier"], given["shift"]), given["zero_point"], dtype, axis=axis
            )
            return made

        return wrong

    return change


def _result(function: Any) -> Callable[[Any], Any]:
    """Return a change of what an implementation returns."""
    return lambda right: lambda *given, **settings: function(right(*given, **settings))


def _first(function: Any) -> Callable[[Any], Any]:
    """Return a change of the first operand."""
    return lambda right: lambda x, *given, **settings: right(function(x), *given, **settings)


def _product_in_bits(bits: int) -> Callable[[Any], Any]:
    def change(right: Any) -> Any:
        def wrong(sums: Any, multiplier: Any, shift: Any, zero_point: Any, rounding: str, axis: int, dtype: str) -> Any:
            made = right(sums, multiplier, shift, zero_point, rounding, axis, dtype)
            widest = numpy.asarray(multiplier, "int64").max()
            return numpy.where(abs(sums.astype("int64")) * widest < 1 << bits - 1, made, 0).astype(made.dtype)

        return wrong

    return change


def _padded_by(number: int) -> Callable[[Any], Any]:
    def change(right: Any) -> Any:
        def wrong(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
            top, left, bottom, last = padding
            padded = numpy.pad(x, ((0, 0), (top, bottom), (left, last), (0, 0)), constant_values=number)
            return right(padded, weight, strides, (0, 0, 0, 0), dilation)

        return wrong

    return change


def _of_channel_0(numbers: Any) -> Any:
    return numpy.full_like(numbers, numbers.reshape(-1)[0])


_CONV, _DENSE = "example_npu.conv2d_bytes", "example_npu.dense_bytes"


def _example(name: str, key: str, wrong: Any, kind: str, operator: str = _CONV) -> Fault:
    return Fault("example_npu", name, example_npu.INSTRUCTIONS, key, wrong, operator, kind)


EXAMPLE_NPU = (
    *(_example(f"rounds {mode}", "requantize", _requantize({"rounding": mode}), "rounding", operator)
      for mode, operator in (("half_up", _CONV), ("half_even", _DENSE), ("half_down", _CONV), ("half_to_zero", _DENSE),
                             ("up", _CONV), ("down", _DENSE), ("to_zero", _CONV))),
    _example("rounds twice", "requantize", _requantize({"double_rounding": True}), "rounding"),
    _example("wraps results", "requantize", _requantize({"saturate": False}), "saturation"),
    _example("saturates at 126", "requantize", _result(lambda y: y.clip(-128, 126)), "saturation"),
    _example("saturates at -127", "requantize", _result(lambda y: y.clip(-127, 127)), "saturation", _DENSE),
    _example("multiplies in 56 bits", "requantize", _product_in_bits(56), "overflow"),
    _example("sums in 24 bits", "requantize", _requantize(sums=lambda sums: _wrapped(sums, 24).astype("int32")), "overflow"),
    _example("no zero point of results", "requantize", _requantize(zero_point=lambda zero: zero * 0), "zero point"),
    _example("a zero point of results too large by 1", "requantize", _requantize(zero_point=lambda zero: (zero + 1).clip(-128, 127)), "zero point", _DENSE),
    _example("the multiplier of channel 0", "requantize", _requantize(multiplier=_of_channel_0, shift=_of_channel_0), "channels"),
    _example("the multiplier of another layer", "requantize", _requantize(multiplier=lambda each: each // 5 * 4), "scale", _DENSE),
    _example("no zero point of data", "subtract", lambda right: lambda x, zero: x, "zero point"),
    _example("a relu at the integer 0", "maximum", lambda right: lambda x, y: numpy.maximum(x, 0).astype(x.dtype), "activation"),
    _example("no relu", "maximum", lambda right: lambda x, y: x, "activation", _DENSE),
    _example("no bias", "add", lambda right: lambda x, y: x, "zero point"),
    _example("pads with 3", "conv2d", _padded_by(3), "padding", "relax.nn.conv2d"),
)  # fmt: skip


# ---- npu: the machine's own instructions ----


def _vrequant(function: Any) -> Callable[[Any], Any]:
    """Return a change of the operands of VREQUANT."""
    return lambda right: lambda *given: right(*function(*given))


def _mode(**changes: Any) -> Callable[[Any], Any]:
    return _vrequant(lambda mode, *given: (replace_mode(mode, **changes), *given))


def replace_mode(mode: Any, **changes: Any) -> Any:
    return isa.Mode(
        *{**dict(zip(("form", "rounding", "saturate", "is_double"), mode, strict=True)), **changes}.values()
    )


def _machine(name: str, wrong: Any, kind: str, operator: str = "linear", key: str = "requantize") -> Fault:
    return Fault("npu", name, simulator, key, wrong, operator, kind)


NPU = (
    *(_machine(f"rounds {mode}", _mode(rounding=isa.ROUNDINGS.index(mode)), "rounding", operator)
      for mode, operator in (("half_up", "linear"), ("half_even", "conv"), ("down", "linear"), ("to_zero", "conv"))),
    _machine("rounds twice", _mode(is_double=True), "rounding"),
    _machine("wraps results", _mode(saturate=False), "saturation"),
    _machine("a zero point too large by 1", _vrequant(lambda *given: (*given[:-1], given[-1] + 1)), "zero point"),
    _machine("shifts once less", _vrequant(lambda *given: (*given[:4], given[4] - 1, given[5])), "scale"),
    _machine("sums in 24 bits", _vrequant(lambda mode, to, sums, *given: (mode, to, _wrapped(sums, 24).astype("int32"), *given)), "overflow"),
)  # fmt: skip


# ---- imagechip: unsigned bytes, channels last ----


def _chip(name: str, key: str, wrong: Any, kind: str, operator: str = "imagechip.conv") -> Fault:
    return Fault("imagechip", name, image_chip.CHIP, key, wrong, operator, kind)


def _half_up(right: Any) -> Any:
    return lambda product, places: (product + (1 << places - 1)) >> places


def _floor(right: Any) -> Any:
    return lambda product, places: product >> places


IMAGE_CHIP = (
    _chip("rounds half up", "shift", _half_up, "rounding"),
    _chip("rounds down", "shift", _floor, "rounding", "imagechip.depthwise"),
    _chip("multiplies in 32 bits", "shift", lambda right: lambda product, places: right(_wrapped(product, 32), places), "overflow", "imagechip.linear"),
    _chip("sums in 16 bits", "accumulator", _result(lambda sums: _wrapped(sums, 16)), "overflow"),
    _chip("biases in 16 bits", "bias", lambda right: lambda bias: _wrapped(numpy.asarray(bias), 16), "overflow", "imagechip.linear"),
    _chip("a scale per tensor", "parameters", _first(lambda scale: scale.reshape(-1)[:1].reshape(())), "channels"),
    _chip("swapped zero points", "less_zero", lambda right: lambda read, name: read[name].astype("int64") - int(read["y_zero_point"].reshape(-1)[0]), "zero point", "imagechip.linear"),
    _chip("pads with 9", "fill", lambda right: 9, "padding", "relax.nn.conv2d"),
    _chip("saturates at 254", "limits", _result(lambda y: y.clip(0, 254)), "saturation"),
    _chip("wraps results", "limits", lambda right: lambda whole, least: numpy.maximum(whole, least).astype("uint8"), "saturation", "imagechip.linear"),
    _chip("sums of tensors round down", "rint", lambda right: numpy.floor, "rounding", "imagechip.add"),
    _chip("pools round up", "rint", lambda right: numpy.ceil, "rounding", "imagechip.pool"),
)  # fmt: skip
FAULTS = (*EXAMPLE_NPU, *NPU, *IMAGE_CHIP)
