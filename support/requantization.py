# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requantization: the step from the i32 sums of a quantized layer to the integers of its result, to the last bit.

    how = rx.Requantize("q31>>shift", rounding="half_up")
    parameters = how.parameters(input_scale * weight_scales / output_scale)
    bytes_ = how.apply(sums, parameters, zero_point=-3, dtype="int8")

Arithmetic on integers is exact for all i32 sums: products have at most 62 bits, and shifts are limited to 31 places, so
that every intermediate number fits in 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import OptionError
from .suggest import suggest

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.typing import ArrayLike

#: Entries of a table, or a function that returns them.
Table = Sequence[int] | Callable[[float, int, float, int], Any]
#: Representation of the multiplier -> the operator's attribute `form`.
FORMS = {"float": "float", "q31>>shift": "q31", "q15>>shift": "q15", "power_of_two": "power_of_two"}
#: Form -> type of the multiplier.
MULTIPLIER_TYPES = {"float": "float32", "q31": "int32", "q15": "int16", "power_of_two": "int32"}
#: Form -> fractional bits of the multiplier.
FRACTION_BITS = {"q31": 31, "q15": 15, "power_of_two": 0}
#: Modes that round a real number to an integer. The first five differ at ties only. "up" is towards +infinity.
ROUNDINGS = ("half_even", "half_up", "half_down", "half_away", "half_to_zero", "up", "down", "to_zero")
#: Shifts are from -MOST_SHIFT, to the left, to MOST_SHIFT, to the right.
MOST_SHIFT = 31


class Multiplier(NamedTuple):
    """Parameters of a requantization, each 0-D or with one number per channel.

    The real multiplier is `multiplier` for "float", else `multiplier / 2 ** (bits + shift)` with 31 bits for
    "q31>>shift", 15 for "q15>>shift" and 0 for "power_of_two".
    """

    multiplier: ndarray
    shift: ndarray


@dataclass(frozen=True)
class Requantize:
    """Arithmetic that turns i32 sums into the integers of a result.

    multiplier: representation of the real multiplier, which is input scale * weight scale / output scale.

    - "float": the sum and the multiplier are f32. Their f32 product is rounded to an integer, which saturates at the
      limits of i32. NaN counts as 0.
    - "q31>>shift": i32 multiplier in [2**30, 2**31). The exact quotient sum * multiplier / 2**(31 + shift) is rounded
      once.
    - "q15>>shift": i16 multiplier in [2**14, 2**15). The exact quotient sum * multiplier / 2**(15 + shift) is rounded
      once.
    - "power_of_two": the quotient sum / 2**shift is rounded once.

    rounding: one of "half_even", "half_up", "half_down", "half_away", "half_to_zero", "up", "down", "to_zero".

    saturate: clamp the result to its type. False: keep the low bits.

    double_rounding: compute "q31>>shift" like gemmlowp and TFLite's MultiplyByQuantizedMultiplier. A negative shift
    first shifts the sum to the left in 32 bits, which drops high bits. A doubling high multiply follows: sum *
    multiplier / 2**31, ties up, saturated to i32. A positive shift then shifts to the right with `rounding`, which is
    "half_away" in TFLite.

    Layers without a matrix product have further steps, see docs/quantized.md:

    sums: scale of the operands of a sum, "result" or "largest", which is twice the larger one of both.

    left_shift: fractional bits of these operands. Default: 8 for "result"; for "largest" 20, or 15 with 16-bit results.

    pools: "multiply" sums by a multiplier with the reciprocal of their number, or "divide" them.

    resize_bits: fractional bits of the weights of bilinear sums, per dimension.

    table: entries for functions of one number from the least integer on, or a function of (x_scale, x_zero, y_scale,
    y_zero) that returns the entries. Default: the function in f64, rounded once.
    """

    multiplier: str = "float"
    rounding: str = "half_even"
    saturate: bool = True
    double_rounding: bool = False
    sums: str = "result"
    left_shift: int | None = None
    pools: str = "multiply"
    resize_bits: int = 10
    table: Table | None = None

    def __post_init__(self) -> None:
        _check_choice("multiplier", self.multiplier, tuple(FORMS))
        _check_choice("rounding", self.rounding, ROUNDINGS)
        for name in ("saturate", "double_rounding"):
            if not isinstance(value := getattr(self, name), bool):
                raise OptionError(f"Requantize: {name}= expects true or false, got {value!r}")
        if self.double_rounding and self.multiplier != "q31>>shift":
            raise OptionError(
                f"Requantize: double_rounding=True expects multiplier='q31>>shift', got {self.multiplier!r}"
            )
        _check_choice("sums", self.sums, ("result", "largest"))
        _check_choice("pools", self.pools, ("multiply", "divide"))
        if self.left_shift is not None:
            _check_bits("left_shift", self.left_shift, 0, 24)
        _check_bits("resize_bits", self.resize_bits, 1, 14)
        if self.table is not None and not callable(self.table):
            object.__setattr__(self, "table", _checked_table(self.table))

    # ---- published rules ----

    @staticmethod
    def tflite() -> Requantize:
        """Return the arithmetic of TFLite's reference kernels: gemmlowp's double rounding."""
        return Requantize("q31>>shift", rounding="half_away", double_rounding=True, sums="largest", pools="divide")

    @staticmethod
    def cmsis_nn() -> Requantize:
        """Return the arithmetic of CMSIS-NN, which is TFLite's unless CMSIS_NN_USE_SINGLE_ROUNDING is defined."""
        return Requantize.tflite()

    @staticmethod
    def vela() -> Requantize:
        """Return the arithmetic that Vela selects on Ethos-U, which is TFLite's with pools by a reciprocal."""
        return Requantize.tflite()

    @staticmethod
    def qnn() -> Requantize:
        """Return the default of `qnn.requantize` in TVM's QNN dialect: one rounding, ties up."""
        return Requantize("q31>>shift", rounding="half_up")

    @staticmethod
    def hexagon() -> Requantize:
        """Return the arithmetic of TVM's and nnlib's products on HVX, by vmpye and vmpyo: one rounding, ties up."""
        return Requantize("q31>>shift", rounding="half_up")

    @property
    def form(self) -> str:
        """Name of the multiplier's representation in `relax.requantize`: "float", "q31", "q15" or "power_of_two"."""
        return FORMS[self.multiplier]

    def attributes(self) -> dict[str, str | bool]:
        """Return the attributes of `relax.requantize` for this arithmetic."""
        return {
            "form": self.form,
            "rounding": self.rounding,
            "saturate": self.saturate,
            "double_rounding": self.double_rounding,
        }

    def parameters(self, real: ArrayLike) -> Multiplier:
        """Return multiplier and shift for a positive real multiplier, or for one per channel.

        "q31>>shift" gives the numbers of TFLite's QuantizeMultiplier, with the opposite sign of the shift.
        "power_of_two" takes the nearest power of two; `reals` returns that number for a comparison.
        """
        import numpy

        reals = numpy.asarray(real, dtype=numpy.float64)
        _check_reals(reals)
        if self.form == "float":
            # A number that is too large becomes an infinity, which the check refuses.
            with numpy.errstate(over="ignore", under="ignore"):
                rounded = numpy.asarray(reals.astype(numpy.float32))
            _check_each(reals, (rounded > 0) & numpy.isfinite(rounded), "a number in the range of f32")
            return Multiplier(rounded, numpy.zeros(reals.shape, numpy.int32))
        bits = FRACTION_BITS[self.form]
        fraction, exponent = numpy.frexp(reals)
        if not bits:
            shift = numpy.where(fraction >= 0.75, 0, 1) - exponent
            whole = numpy.ones(reals.shape)
        else:
            whole = numpy.floor(numpy.ldexp(fraction, bits) + 0.5)
            # 0.99999999999 * 2**31 rounds to 2**31, which is 2**30 with the next exponent.
            is_next = whole == 2.0**bits
            whole = numpy.where(is_next, 2.0 ** (bits - 1), whole)
            shift = -(exponent + is_next)
        _check_shifts(reals, shift)
        return Multiplier(whole.astype(MULTIPLIER_TYPES[self.form]), numpy.asarray(shift, numpy.int32))

    def operand_shift(self, bits: int) -> int:
        """Return the fractional bits of the operands of a sum. The result of the sum has this number of bits."""
        if self.left_shift is not None:
            return self.left_shift
        if self.sums == "result":
            return 8
        return 20 if bits <= 8 else 15

    def rounded(self, reals: ArrayLike, zero_point: int, dtype: object) -> ndarray:
        """Return real numbers in steps of the result, rounded once and clamped. NaN counts as 0."""
        import numpy

        bits, is_unsigned = _integer_type(dtype)
        whole = numpy.nan_to_num(rounded_quotients(numpy.asarray(reals, float), self.rounding), nan=0.0)
        clamped = numpy.clip(whole + zero_point, *_limits(bits, is_unsigned))
        return _wrap_stored(clamped.astype(numpy.int64), bits, is_unsigned)

    def table_entries(self, x: tuple[float, int, object], y: tuple[float, int, object]) -> ndarray:
        """Return the stated table for an operand and a result, each with a scale, a zero point and a type."""
        table = self.table
        entries = _checked_table(table(*x[:2], *y[:2]) if callable(table) else table)
        expected, (bits, is_unsigned) = 2 ** _integer_type(x[2])[0], _integer_type(y[2])
        if len(entries) != expected:
            raise OptionError(
                f"Requantize: table= has {len(entries)} entries, expected {expected}, one for each {x[2]}; state a "
                "function of (x_scale, x_zero, y_scale, y_zero) if several types have tables"
            )
        import numpy

        wide = numpy.asarray(entries, numpy.int64)
        _check_range("table", wide, *_limits(bits, is_unsigned))
        return _wrap_stored(wide, bits, is_unsigned)

    def reals(self, parameters: Multiplier) -> ndarray:
        """Return the real multipliers that parameters represent, in f64 and without an error."""
        import numpy

        multiplier = numpy.asarray(parameters.multiplier, numpy.float64)
        if self.form == "float":
            return multiplier
        shift = FRACTION_BITS[self.form] + numpy.asarray(parameters.shift, numpy.int64)
        return numpy.ldexp(numpy.ones_like(multiplier) if self.form == "power_of_two" else multiplier, -shift)

    def apply(
        self, sums: ArrayLike, multiplier: Multiplier, zero_point: ArrayLike, dtype: object, *, axis: int = -1
    ) -> ndarray:
        """Return the requantized sums.

        sums: integers of at most 32 bits.

        multiplier: result of `parameters`, for all sums or one per slice along `axis`.

        zero_point: an integer of at most 32 bits, or one per slice along `axis`.

        dtype: integer type of at most 32 bits, "int8" or "i8".
        """
        import numpy

        array = _checked_sums(sums)
        bits, is_unsigned = _integer_type(dtype)
        scale = _reshape_along(_checked_multiplier(multiplier.multiplier, self.form), array, axis, "multiplier")
        shift = _reshape_along(_checked_integers(multiplier.shift, "shift"), array, axis, "shift")
        zero = _reshape_along(_checked_integers(zero_point, "zero_point"), array, axis, "zero_point")
        if self.form == "float":
            whole = self._float(array, scale)
        else:
            _check_range("shift", shift, -MOST_SHIFT, MOST_SHIFT)
            whole = (self._twice if self.double_rounding else self._once)(array, scale, shift)
        result = whole + zero
        if self.saturate:
            result = numpy.clip(result, *_limits(bits, is_unsigned))
        return _wrap_stored(result, bits, is_unsigned)

    def _float(self, sums: ndarray, multiplier: ndarray) -> ndarray:
        """Return the rounded f32 products, saturated to i32."""
        import numpy

        with numpy.errstate(all="ignore"):
            product = sums.astype(numpy.float32) * multiplier.astype(numpy.float32)
        # f64 represents an f32 plus or minus a half well enough: the sum is on the same side of each integer.
        rounded = rounded_quotients(product.astype(numpy.float64), self.rounding)
        return numpy.nan_to_num(numpy.clip(rounded, -(2.0**31), 2.0**31 - 1), nan=0.0).astype(numpy.int64)

    def _once(self, sums: ndarray, multiplier: ndarray, shift: ndarray) -> ndarray:
        """Return the quotients, rounded once."""
        product = sums if self.form == "power_of_two" else sums * multiplier
        return _shift(product, shift + FRACTION_BITS[self.form], self.rounding)

    def _twice(self, sums: ndarray, multiplier: ndarray, shift: ndarray) -> ndarray:
        """Return the quotients of gemmlowp's two steps."""
        import numpy

        left = (sums << numpy.maximum(-shift, 0)).astype(numpy.int32).astype(numpy.int64)
        high = numpy.minimum((left * multiplier + (1 << 30)) >> 31, 2**31 - 1)
        return _shift(high, numpy.maximum(shift, 0), self.rounding)


def _shift(numbers: ndarray, places: ndarray, rounding: str) -> ndarray:
    """Return numbers / 2**places, rounded by the mode. Negative places shift to the left, without overflow."""
    import numpy

    numbers = numbers << numpy.maximum(-places, 0)
    places = numpy.maximum(places, 0)
    quotient = numbers >> places
    rest = numbers - (quotient << places)
    # Twice the rest is less than 2**63: -1, 0 and 1 stand for below, at and above the tie.
    side = numpy.sign(2 * rest - (numpy.int64(1) << places))
    is_negative = numbers < 0
    is_up = {
        "half_even": (side > 0) | ((side == 0) & (quotient % 2 == 1)),
        "half_up": side >= 0,
        "half_down": side > 0,
        "half_away": (side > 0) | ((side == 0) & ~is_negative),
        "half_to_zero": (side > 0) | ((side == 0) & is_negative),
        "up": rest > 0,
        "down": False,
        "to_zero": (rest > 0) & is_negative,
    }[rounding]
    return quotient + is_up


def rounded_quotients(numbers: ndarray, rounding: str) -> ndarray:
    """Return the f64 integers next to f64 numbers, by a rounding mode."""
    import numpy

    is_negative = numbers < 0
    up, down = numpy.floor(numbers + 0.5), numpy.ceil(numbers - 0.5)
    if rounding == "half_even":
        return numpy.rint(numbers)
    if rounding in ("half_up", "half_down"):
        return up if rounding == "half_up" else down
    if rounding in ("half_away", "half_to_zero"):
        return numpy.where(is_negative == (rounding == "half_away"), down, up)
    return {"up": numpy.ceil, "down": numpy.floor, "to_zero": numpy.trunc}[rounding](numbers)


def _reshape_along(values: ndarray, data: ndarray, axis: int, name: str) -> ndarray:
    """Reshape one number, or one per slice along the axis, so that it broadcasts with the data."""
    if values.size == 1:
        return values.reshape([1] * data.ndim)
    if not -data.ndim <= axis < data.ndim:
        raise OptionError(f"Requantize.apply: axis= expects {-data.ndim} to {data.ndim - 1}, got {axis}")
    if values.shape != (data.shape[axis],):
        raise OptionError(
            f"Requantize.apply: {name}= has shape {values.shape}, expected 1 element, or {data.shape[axis]} as the "
            f"sums have along axis {axis}"
        )
    shape = [1] * data.ndim
    shape[axis] = values.size
    return values.reshape(shape)


# ---- types ----


def _integer_type(dtype: object) -> tuple[int, bool]:
    """Return the width of an integer type of at most 32 bits, and True if the type is unsigned."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", str(dtype)))
    if (match := re.fullmatch(r"(ui|u?int|i)(2|4|8|16|32)", name)) is None:
        raise OptionError(f"Requantize.apply: dtype= expects an integer type of at most 32 bits, got {name!r}")
    return int(match[2]), match[1][0] == "u"


def _limits(bits: int, is_unsigned: bool) -> tuple[int, int]:
    return (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _wrap_stored(result: ndarray, bits: int, is_unsigned: bool) -> ndarray:
    """Return the low bits of integers in their own type."""
    import numpy

    name = f"{'u' if is_unsigned else ''}int{bits}"
    if bits >= 8:
        return result.astype(name)
    import ml_dtypes  # numpy has no types of less than a byte

    low = result & (2**bits - 1)
    if not is_unsigned:
        low -= (low >> (bits - 1)) << bits
    return low.astype(numpy.int8).astype(getattr(ml_dtypes, name))


# ---- checks ----


def _check_choice(field: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OptionError(
            f"Requantize: {field}= expects one of {', '.join(map(repr, choices))}, got {value!r}"
            f"{suggest(str(value), choices)}"
        )


def _check_bits(field: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise OptionError(f"Requantize: {field}= expects an integer from {low} to {high}, got {value!r}")


def _checked_table(entries: Any) -> tuple[int, ...]:
    import numpy

    try:
        array = numpy.asarray(entries)
    except ValueError:  # rows of several lengths
        array = numpy.empty((0, 0), object)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise OptionError(
            f"Requantize: table= expects integers in one dimension, got shape {array.shape} of {array.dtype}"
        )
    return tuple(array.tolist())


def _check_reals(reals: ndarray) -> None:
    import numpy

    if reals.ndim > 1:
        raise OptionError(
            f"Requantize.parameters: the real multipliers have shape {reals.shape}, expected one number, or one per "
            "channel in one dimension"
        )
    _check_each(reals, numpy.isfinite(reals) & (reals > 0), "a finite number greater than 0")


def _check_each(reals: ndarray, is_valid: ndarray, expected: str) -> None:
    """Refuse the first invalid real multiplier."""
    import numpy

    if numpy.all(is_valid):
        return
    channel = int(numpy.argmin(is_valid))
    where = f"channel {channel}: " if reals.ndim else ""
    value = float(reals.flat[channel])
    raise OptionError(f"Requantize.parameters: {where}the real multiplier is {value}, expected {expected}")


def _check_shifts(reals: ndarray, shift: ndarray) -> None:
    import numpy

    is_valid = numpy.abs(shift) <= MOST_SHIFT
    if numpy.all(is_valid):
        return
    channel = int(numpy.argmin(is_valid))
    where = f"channel {channel}: " if reals.ndim else ""
    raise OptionError(
        f"Requantize.parameters: {where}the real multiplier {float(reals.flat[channel])} needs a shift of "
        f"{int(shift.flat[channel])}, expected -{MOST_SHIFT} to {MOST_SHIFT}"
    )


def _checked_sums(sums: ArrayLike) -> ndarray:
    """Return the sums as i64. Each one fits in i32."""
    import numpy

    array = numpy.asarray(sums)
    if array.dtype.name not in ("int8", "uint8", "int16", "uint16", "int32"):
        raise OptionError(
            f"Requantize.apply: the sums are {array.dtype}, expected integers that fit in int32. Convert the sums by "
            "sums.astype('int32')"
        )
    return array.astype(numpy.int64)


def _checked_multiplier(values: ArrayLike, form: str) -> ndarray:
    import numpy

    array = numpy.asarray(values)
    expected = MULTIPLIER_TYPES[form]
    if array.dtype != expected:
        raise OptionError(f"Requantize.apply: the multiplier is {array.dtype}, expected {expected} for form '{form}'")
    return array if form == "float" else array.astype(numpy.int64)


def _checked_integers(values: ArrayLike, name: str) -> ndarray:
    """Return integers as i64. Each one fits in 32 bits, with or without a sign."""
    import numpy

    array = numpy.asarray(values)
    if "int" not in array.dtype.name:
        raise OptionError(f"Requantize.apply: {name}= is {array.dtype}, expected integers")
    wide: ndarray = array.astype(numpy.int64)
    _check_range(name, wide, -(2**31), 2**32 - 1)
    return wide


def _check_range(name: str, values: ndarray, low: int, high: int) -> None:
    import numpy

    is_valid = (values >= low) & (values <= high)
    if not numpy.all(is_valid):
        value = int(values.flat[int(numpy.argmin(is_valid))])
        raise OptionError(f"Requantize.apply: {name}= contains {value}, expected {low} to {high}")
