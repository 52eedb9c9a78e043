# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of the integer arithmetic of one quantized layer, and the errors of its scales and multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.infos import bit_width, is_int, is_unsigned
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.dialects.relax.values import dtype_of, shape_of, with_dtype
from relax_mlir.passes.graph.quantization.numbers import Quantized, as_i32, dequantized, made, spread
from relax_mlir.passes.graph.recipes.recipe import Op
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.requantization import Multiplier, Requantize

if TYPE_CHECKING:
    from numpy import ndarray

_I32 = 2**31 - 1


class Integers(NamedTuple):
    """Integers of an operand: the real numbers are (numbers - zero) * scale."""

    numbers: Value
    #: f64, 0-D or one scale per slice along the axis.
    scale: ndarray
    #: i64, 0-D or one zero point per slice along the axis.
    zero: ndarray
    axis: int = 0

    @property
    def dtype(self) -> str:
        return dtype_of(self.numbers)

    @property
    def most(self) -> int:
        """Return the largest absolute difference of a number and its zero point."""
        low, high = limits_of(self.dtype)
        return max(high - int(self.zero.min()), int(self.zero.max()) - low)

    @property
    def sizes(self) -> tuple[Any, ...]:
        return sizes_of(self.numbers)


class LayerEmission:
    """Emission of one layer, in front of the `relax.quantize` of its result."""

    def __init__(self, op: Op, quantize: Operation):
        assert op.out is not None, op
        self.op, self.how, self.quantize = op, op.out, quantize
        result = Quantized(quantize.opview, quantize.results[0], *quantize.operands[1:])
        self.result = self._integers(result, "the result")
        if self.result.scale.ndim or self.result.zero.ndim:
            raise self.fail("the result has several scales or zero points, expected one of each")
        if not is_int(self.result.dtype):
            raise self.fail(f"the result is {self.result.dtype}, expected integers")

    @property
    def scale(self) -> float:
        return float(self.result.scale)

    @property
    def zero(self) -> int:
        return int(self.result.zero)

    @property
    def dtype(self) -> str:
        return self.result.dtype

    @property
    def summand_bits(self) -> int:
        """Return the fractional bits of the operands of a sum."""
        return self.how.operand_shift(bit_width(self.dtype))

    def fail(self, problem: str) -> RelaxError:
        """Return an error that names the entry of the recipe and the layer."""
        from relax_mlir.bindings.rewriting import located_error

        return located_error(f"relax-requantize: {self.op!r}: {problem}", self.quantize.location)

    # ---- operands ----

    def integers(self, value: Value, what: str) -> Integers:
        """Return the integers of an operand. Refuse operands without scales, and scales of run time."""
        if (found := dequantized(value)) is None:
            raise self.fail(f"{what} is not quantized, expected the result of relax.dequantize; drop out=")
        if not is_int(found.dtype):
            raise self.fail(f"{what} is {found.dtype}, expected integers; drop out=")
        return self._integers(found, what)

    def single(self, value: Value, what: str) -> Integers:
        """Return the integers of an operand with one scale and one zero point."""
        found = self.integers(value, what)
        if found.scale.ndim or found.zero.ndim:
            raise self.fail(f"{what} has several scales or zero points, expected one of each: leave out '@channel'")
        return found

    def _integers(self, source: Quantized, what: str) -> Integers:
        import numpy

        scale, zero = map(elements_of, (source.scale, source.zero_point))
        if scale is None or zero is None:
            raise self.fail(f"the scale of {what} is computed at run time, expected a constant; drop out=")
        scale, zero = (each.reshape(()) if each.size == 1 else each for each in (scale, zero))
        scale, zero = scale.astype(float), zero.astype(numpy.int64)
        is_valid = numpy.isfinite(scale) & (scale > 0)
        if not is_valid.all():
            place = int(numpy.argmin(is_valid))
            channel = f" of channel {place}" if scale.ndim else ""
            raise self.fail(
                f"the scale{channel} of {what} is {float(scale.flat[place])}, expected a finite number above 0; "
                "quantize the model again"
            )
        return Integers(source.numbers, scale, zero, source.axis(len(sizes_of(source.numbers))))

    # ---- emission ----

    def less(self, of: Integers) -> Value:
        """Return the i32 differences of integers and their zero points."""
        wide = as_i32(of.numbers)
        if not of.zero.any():
            return wide
        return relax.subtract(wide, spread(const(of.zero.astype("int32")), of.axis, len(of.sizes)))

    def parameters(self, real: Any, how: Requantize) -> Multiplier:
        """Return the parameters of a real multiplier."""
        try:
            return how.parameters(real)
        except OptionError as error:
            raise self.fail(
                f"{error.message}; the multiplier is the scale of the sums / the scale of the result, so state another "
                "form, or types with closer scales"
            ) from None

    def requantize(
        self,
        sums: Value,
        real: Any,
        zero: int,
        dtype: str,
        *,
        axis: int = -1,
        how: Requantize | None = None,
        divisor: int = 1,
    ) -> Value:
        """Return sums * real + zero in a type.

        `how` replaces the entry's arithmetic. `divisor` divides the multiplier in fixed point, rounded down.
        """
        how = how or self.how
        multiplier, shift = self.parameters(real, how)
        if divisor > 1:
            places = divisor.bit_length() - 1
            multiplier, shift = ((multiplier.astype("int64") << places) // divisor).astype("int32"), shift + places
        given: Any = {**how.attributes(), "axis": axis, "out_dtype": dtype}
        zero_point = const(zero, dtype) if dtype != "i32" else const(zero, "int32")
        return relax.requantize(sums, const(multiplier), const(shift), zero_point, **given)

    def stored(self, whole: Value, zero: int) -> Value:
        """Return i32 numbers plus a zero point in the result's type."""
        return self.shifted(whole, 0, zero, self.dtype)

    def shifted(self, sums: Value, places: int, zero: int, dtype: str) -> Value:
        """Return sums / 2**places + zero, rounded once."""
        how = replace(self.how, multiplier="power_of_two", double_rounding=False)
        return self.requantize(sums, 2.0**-places, zero, dtype, how=how)

    def is_scaled(self, of: Integers) -> bool:
        """Check whether integers have the scale, zero point and type of the result."""
        return bool(of.scale == self.scale and of.zero == self.zero) and of.dtype == self.dtype

    def rescaled(self, of: Integers) -> Value:
        """Return integers with the scale, zero point and type of the result."""
        if self.is_scaled(of):
            return of.numbers
        return self.requantize(self.less(of), of.scale / self.scale, self.zero, self.dtype)

    def moved(self, core: Operation, of: Integers) -> Value:
        """Return the core operation on raw integers, rescaled. The operation only selects elements."""
        attributes = {name: core.attributes[name] for name in core.attributes}
        operands = [of.numbers, *list(core.operands)[1:]]
        whole = made(core.name, operands, with_dtype(core.results[0], of.dtype), attributes).results[0]
        return self.rescaled(of._replace(numbers=whole))

    def on_integers(self, core: Operation, operands: Sequence[Value], **changed: Any) -> Value:
        """Return the core operation on i32 operands."""
        attributes = {name: core.attributes[name] for name in core.attributes} | changed
        return made(core.name, operands, with_dtype(core.results[0], "i32"), attributes).results[0]

    def check_width(self, most: int, what: str) -> None:
        """Refuse integers that may exceed an i32. `most` is the largest absolute value."""
        if most > _I32:
            raise self.fail(f"{what} may be {most}, which exceeds 32 bits; state narrower types, or drop out=")


def sizes_of(value: Value) -> tuple[Any, ...]:
    """Return the sizes of a tensor."""
    return tuple(shape_of(value) or ())


def limits_of(dtype: str) -> tuple[int, int]:
    """Return the least and the largest integer of a type."""
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
