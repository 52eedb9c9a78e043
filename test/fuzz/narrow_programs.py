# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and arrays of the cases of the sweep of narrow kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import narrow_oracle
import narrow_ties
import numpy
from narrow_cases import Case, limits
from narrow_oracle import CLIP, NUMPY, Arrays
from narrow_ties import Ties

import relax_mlir as rx
from relax_mlir import relax

#: Up to this number of products per result, products of bytes have exact sums in f32.
_EXACT = 250
#: Largest whole number of a float type: all sums of products are exact in f32.
_LARGEST = {"bf16": 8, "f16": 3, "f8E4M3FN": 8, "f8E5M2": 4}


class Program(NamedTuple):
    """Case with its values. `given` are the arguments of the function, and `wanted` are its named results."""

    case: Case
    arrays: Arrays
    given: list[Any]
    wanted: dict[str, Any]
    ties: Ties | None


def program(case: Case) -> Program:
    arrays = _arrays(case)
    wanted = narrow_oracle.expected(case, arrays)
    given = [as_laid_out(arrays.x, case, case.family.data)]
    if not case.constant:
        given += _parameters(case, arrays)
    if "add" in case.steps:
        added = arrays.added * (arrays.scales[0] * arrays.scales[1]) if case.qdq else arrays.added
        given.append(as_laid_out(added.astype(_type_of_sums(case)[1]), case, _result_layout(case)))
    results, ties = {"": as_laid_out(wanted, case, _result_layout(case))}, narrow_ties.ties(case)
    if ties is not None:
        given.append(ties.numbers)
        results.update(narrow_ties.wanted(ties))
    return Program(case, arrays, given, results, ties)


# ---- values ----


def _arrays(case: Case) -> Arrays:
    numbers = numpy.random.default_rng(case.number)
    if case.family.kind == "nbits":
        return _blocks(case, numbers)
    x_shape, w_shape = narrow_oracle.shapes(case)
    x, w = _numbers(case, numbers, case.x, x_shape, case.x_zero), _numbers(case, numbers, case.w, w_shape, case.w_zero)
    zeros = numpy.int32(case.w_zero)
    channels = case.outputs * case.groups
    if case.w_zero_by_channel:
        low, high = limits(case.w)
        zeros = numbers.integers(low, high + 1, channels).astype("int32").reshape(_by_output(case))
    plain = Arrays(x, w, zeros, 0, 0, 0, 0)
    total = narrow_oracle.sums(case, plain)
    largest = int(numpy.abs(total).max(initial=1)) or 1
    bias = numbers.integers(-50 if not case.is_integer else -min(largest, 9999), min(largest, 9999) + 1, channels)
    added = numbers.integers(-min(largest, 9999), min(largest, 9999) + 1, total.shape)
    scales = (2.0 ** -int(numbers.integers(0, 9)), 2.0 ** -int(numbers.integers(0, 9)))
    y_scale = scales[0] * scales[1] * 2.0 ** int(numpy.log2(largest) - numbers.integers(5, 9))
    multiplier, shift = _multipliers(case, numbers, largest, channels)
    return Arrays(x, w, zeros, bias, added, multiplier, shift, (*scales, y_scale))


def _by_output(case: Case) -> tuple[int, ...]:
    """Return the shape in which numbers of the output channels broadcast with the weights, channels first."""
    if case.family.kind == "transposed":
        return (1, -1, *[1] * case.family.rank)
    if case.family.data or case.family.kind == "turned":
        return (-1, *[1] * (len(narrow_oracle.shapes(case)[1]) - 1))
    return (-1,)


def _numbers(case: Case, numbers: Any, dtype: str, shape: Sequence[int], zero: int) -> Any:
    """Return values of the whole range, with the limits among them, or small whole numbers of floats."""
    if not case.is_integer:
        most = _LARGEST[dtype]
        return numbers.integers(-most, most + 1, shape).astype("float32").astype(NUMPY[dtype])
    low, high = limits(dtype)
    if case.qdq and case.depth * int(numpy.prod(case.window, dtype=int)) > _EXACT:
        low, high = max(low, zero - 15), min(high, zero + 15)
    if case.requantize is not None and case.number % 3 == 0:
        # Small sums are divided by few powers of two, so that many results are ties.
        low, high = max(low, zero - 7), min(high, zero + 7)
    array = numbers.integers(low, high + 1, shape)
    ends = numpy.asarray([low, high])[numbers.integers(0, 2, shape)]
    return numpy.where(numbers.random(shape) < 0.2, ends, array).astype(NUMPY[dtype])


def _multipliers(case: Case, numbers: Any, largest: int, channels: int) -> tuple[Any, Any]:
    """Return multipliers and shifts that bring the largest sums near the limits of the result, with ties among them."""
    how = case.requantize
    if how is None:
        return 0, 0
    size = (channels,) if how.by_channel else ()
    high = limits(how.dtype)[1]
    more = numbers.integers(-1, 2, size)
    power = numpy.maximum(int(numpy.ceil(numpy.log2(max(largest, 1)))) - high.bit_length() + 1 - more, -8)
    tie = numbers.random(size) < 0.4
    if how.form == "float":
        exact = 2.0 ** -power.astype("float64")
        return numpy.where(tie, exact, exact * numbers.uniform(0.5, 1, size)).astype("float32"), power.astype("int32")
    bits = {"q31": 31, "double": 31, "q15": 15, "power_of_two": 31}[how.form]
    least = 1 << bits - 1
    multiplier = numpy.where(tie, least, numbers.integers(least, 2 * least, size))
    kind = "int16" if how.form == "q15" else "int32"
    return multiplier.astype(kind), numpy.clip(power - 1, -31, 31).astype("int32")


def _blocks(case: Case, numbers: Any) -> Arrays:
    bits = case.family.rank
    size = int(numbers.choice((16, 32, 64)))
    count = -(-case.depth // size)
    codes = numbers.integers(0, 256, (case.outputs, count, size * bits // 8)).astype("uint8")
    scale = (2.0 ** numbers.integers(-1, 2, (case.outputs, count))).astype(NUMPY["f32"])
    kind = int(numbers.integers(0, 3))
    zeros = numbers.integers(0, 1 << bits, (case.outputs, count))
    held = {
        "bits": bits, "block_size": size, "codes": codes, "scale": scale,
        "zero_point": [None, zeros.astype("uint8"), zeros.astype("float32")][kind],
        "bias": numbers.integers(-9, 10, case.outputs).astype("float32") if "bias" in case.steps else None,
    }  # fmt: skip
    shape, _ = narrow_oracle.shapes(case)
    x = numbers.integers(-1, 2, shape).astype("float32").astype(NUMPY[case.x])
    return Arrays(x, None, None, 0, 0, 0, 0, blocks=held)


# ---- layouts ----


def _letters(case: Case, *, is_kernel: bool) -> str:
    """Return the letters of the dimensions, channels first."""
    spatial = "DHW"[3 - case.family.rank :]
    if not is_kernel:
        return f"NC{spatial}"
    return ("IO" if case.family.kind == "transposed" else "OI") + spatial


def as_laid_out(array: Any, case: Case, layout: str) -> Any:
    """Return an array in a layout such as NHWC or NCHW4c. Its dimensions are the canonical ones."""
    if not layout or numpy.ndim(array) == 0:
        return array
    letters = _letters(case, is_kernel="O" in layout)
    blocks = [(letter.upper(), int(count)) for count, letter in re.findall(r"(\d+)([a-z])", layout)]
    axes, shape = [], []
    for letter, size in zip(letters, array.shape, strict=True):
        inner = [count for name, count in blocks if name == letter]
        shape += [size // int(numpy.prod(inner, dtype=int)), *inner]
        axes += [letter, *[f"{letter.lower()}{place}" for place, _ in enumerate(inner)]]
    order, seen = [], dict.fromkeys("oic", 0)
    for each in re.findall(r"[A-Z]|\d+[a-z]", layout):
        if each.isupper():
            order.append(axes.index(each))
        else:
            order.append(axes.index(f"{each[-1]}{seen[each[-1]]}"))
            seen[each[-1]] += 1
    return numpy.ascontiguousarray(array.reshape(shape).transpose(order))


def _result_layout(case: Case) -> str:
    return case.family.result or case.family.data


def _channel_axis(case: Case) -> int:
    return _result_layout(case).index("C") if case.family.data else -1


# ---- modules ----


def module_of(programs: Sequence[Program]) -> rx.Module:
    """Return a module with the functions f0, f1, ... of the programs."""
    module = rx.Module()
    for number, each in enumerate(programs):
        with module.function(f"f{number}", _signature(each)) as f:
            values = list(f)
            ties = [] if each.ties is None else narrow_ties.emitted(each.ties, values.pop())
            f.returns(_Body(each, values).result(), *ties)
    return module


def _signature(each: Program) -> dict[str, Any]:
    case, found = each.case, {}
    names = ["x", *_parameter_names(case), *(["r"] if "add" in case.steps else [])]
    for name, array in zip(names, each.given[: len(names)], strict=True):
        shape: list[Any] = list(array.shape)
        layout = {"x": case.family.data, "r": _result_layout(case)}.get(name, "")
        if case.dynamic and name == "x":
            for place, size in enumerate(_dynamic_axes(case, layout)):
                if size:
                    shape[place] = size
        if case.dynamic and name == "r":
            # The sizes of the result may be expressions: only the batch is a symbol.
            for place, size in enumerate(_dynamic_axes(case, layout)):
                if size == "n" or (size and not case.family.data):
                    shape[place] = size
        found[name] = rx.tensor(tuple(shape), _dtype_text(array.dtype))
    if each.ties is not None:
        found["ties"] = narrow_ties.type_of(each.ties, is_dynamic=case.dynamic)
    return found


def _dynamic_axes(case: Case, layout: str) -> list[str]:
    """Return the symbols of an operand's dimensions, "" for fixed ones."""
    if case.family.data:
        # Sizes of images are symbols only where no result is added.
        names = {"N": "n"} if "add" in case.steps else {"N": "n", "W": "w"}
        return [names.get(letter, "") for letter in re.findall(r"[A-Z]|\d+[a-z]", layout)]
    if case.family.kind == "batched":
        return ["", "m", ""]
    return ["b", "m", ""] if case.family.kind in ("shared", "nbits") else ["m", ""]


def _dtype_text(dtype: Any) -> str:
    return next(name for name, each in NUMPY.items() if each == dtype)


def _parameter_names(case: Case) -> list[str]:
    if case.constant:
        return []
    return ["codes", "scale"] if case.family.kind == "nbits" else ["w"]


def _parameters(case: Case, arrays: Arrays) -> list[Any]:
    if arrays.blocks is not None:
        return [arrays.blocks["codes"], arrays.blocks["scale"]]
    return [as_laid_out(arrays.w, case, case.family.kernel)]


def _type_of_sums(case: Case) -> tuple[str, str]:
    """Return the type in which steps compute, as relax and numpy name it."""
    return ("i32", "int32") if case.is_integer and not case.qdq else ("f32", "float32")


class _Body:
    """Emission of one function."""

    def __init__(self, each: Program, values: Sequence[Any]):
        self._case, self._arrays = each.case, each.arrays
        self._x, *self._more = values
        self._real, self._numpy = _type_of_sums(each.case)

    def result(self) -> Any:
        case = self._case
        if case.family.kind == "nbits":
            return self._blocks()
        laid_out = as_laid_out(self._arrays.w, case, case.family.kernel)
        weight = relax.const(laid_out) if case.constant else self._more[0]
        total = self._product(self._shifted(self._x, case.x_zero), self._weights(weight))
        for step in case.steps:
            total = getattr(self, f"_{step}")(total)
        return total if case.requantize is None else self._requantized(total)

    def _shifted(self, value: Any, zero: Any, scale: float = 0.0) -> Any:
        """Return an operand less its zero point, in the type of the sums, or dequantized with a power of two."""
        case = self._case
        if case.qdq:
            dtype = case.x if value is self._x else case.w
            scale = scale or self._arrays.scales[0]
            zero = numpy.asarray(zero).astype(NUMPY[dtype])
            return relax.dequantize(value, relax.const(numpy.float32(scale)), relax.const(zero))
        if not case.is_integer or not numpy.any(zero):
            return value
        return relax.subtract(relax.astype(value, dtype="i32"), relax.const(numpy.asarray(zero).astype("int32")))

    def _weights(self, value: Any) -> Any:
        case, zeros = self._case, self._arrays.w_zeros
        if case.qdq and numpy.ndim(zeros):
            vector = zeros.reshape(-1).astype(NUMPY[case.w])
            scales = numpy.full(vector.shape, self._arrays.scales[1], "float32")
            return relax.dequantize(value, relax.const(scales), relax.const(vector), axis=self._output_axis())
        if numpy.ndim(zeros) and case.family.data:
            zeros = as_laid_out(zeros, case, case.family.kernel)
        return self._shifted(value, zeros, self._arrays.scales[1])

    def _output_axis(self) -> int:
        if self._case.family.data:
            return self._case.family.kernel.index("O")
        return 0 if self._case.family.kind == "turned" else -1

    def _product(self, x: Any, w: Any) -> Any:
        case = self._case
        has_result = case.is_integer and not case.qdq
        dtype = "i32" if has_result else "f32"
        if case.family.kind == "turned":
            if not case.narrow_result and not case.qdq:
                x, w = (relax.astype(each, dtype=dtype) for each in (x, w))
            return relax.einsum([x, w], subscripts="ak,nk->an")
        out = {} if case.narrow_result else {"out_dtype": dtype}
        if not case.family.data:
            return relax.matmul(x, w, **out)
        kind = "_transpose" if case.family.kind == "transposed" else ""
        operator = getattr(relax.nn, f"conv{case.family.rank}d{kind}")
        if case.family.result:
            out["out_layout"] = case.family.result
        return operator(x, w, strides=case.strides, padding=case.padding, dilation=case.dilation, groups=case.groups,
                        data_layout=case.family.data, kernel_layout=case.family.kernel, **out)  # fmt: skip

    def _blocks(self) -> Any:
        held = self._arrays.blocks
        assert held is not None
        named = {name: None if held[name] is None else relax.const(held[name]) for name in ("zero_point", "bias")}
        codes, scale = self._more[:2] if self._more else (relax.const(held["codes"]), relax.const(held["scale"]))
        return relax.matmul_nbits(
            self._x, codes, scale, bits=held["bits"], block_size=held["block_size"],
            **{name: value for name, value in named.items() if value is not None},
        )  # fmt: skip

    # ---- steps behind the product ----

    def _bias(self, total: Any) -> Any:
        bias = self._arrays.bias * (self._arrays.scales[0] * self._arrays.scales[1] if self._case.qdq else 1)
        bias = bias.astype(self._numpy)
        if self._case.family.data:
            rank, axis = len(_result_layout(self._case)), _channel_axis(self._case)
            bias = bias.reshape(*[1] * axis, -1, *[1] * (rank - axis - 1))
        return relax.add(total, relax.const(bias))

    def _add(self, total: Any) -> Any:
        return relax.add(total, self._more[-1])

    def _relu(self, total: Any) -> Any:
        return relax.nn.relu(total)

    def _clip(self, total: Any) -> Any:
        return relax.clip(total, min=CLIP[0], max=CLIP[1])

    def _requantized(self, total: Any) -> Any:
        how = self._case.requantize
        assert how is not None
        if self._case.qdq:
            scale = relax.const(numpy.float32(self._arrays.scales[2]))
            zero = relax.const(numpy.asarray(how.zero_point).astype(NUMPY[how.dtype]))
            return relax.quantize(total, scale, zero, out_dtype=how.dtype)
        return narrow_ties.requantized(
            how, total, self._arrays.multiplier, self._arrays.shift, _channel_axis(self._case)
        )
