# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized types of operands, as text: `i8@channel symmetric`, `i4@block32`, `i32 derived`, `e4m3@mx32`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ....dialects.core.infos import bit_width
from ....support.errors import RelaxError
from ....support.suggest import suggest

Granularity = Literal["tensor", "channel", "block", "mx"]

#: Element type in recipes -> element type of tensors.
QUANTIZED = {
    "i4": "i4", "u4": "ui4", "i8": "i8", "u8": "ui8", "i16": "i16", "u16": "ui16", "i32": "i32",
    "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e3m2": "f6E3M2FN", "e2m3": "f6E2M3FN", "e2m1": "f4E2M1FN",
}  # fmt: skip
_WORDS = ("symmetric", "narrow", "reduced", "power_of_two", "derived", "dynamic")
_BITS_OF_SUMS = 32
_GRANULARITIES = ("tensor", "channel", "block<numbers>", "mx<numbers>")
#: Largest finite numbers of small floats.
_MOST_OF_FLOATS = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "f6E3M2FN": 28.0, "f6E2M3FN": 7.5, "f4E2M1FN": 6.0}
#: Largest exponents of the numbers of MX blocks. Numbers of MX's i8 are multiples of 2**-6.
_MX_EXPONENTS = {"e4m3": 8, "e5m2": 15, "e3m2": 4, "e2m3": 2, "e2m1": 2, "i8": 6}


@dataclass(frozen=True)
class OperandType:
    """Type of an operand, and how scales and zero points are chosen."""

    #: Name in recipes, such as "i8".
    name: str
    #: Numbers that share a scale: the whole tensor, an output channel, or a block along the summed axis. Scales of
    #: "mx" blocks are powers of two by the rule of OCP's microscaling formats. Activations get them at run time.
    granularity: Granularity = "tensor"
    #: Numbers of a block.
    block: int = 0
    #: The zero point is 0.
    symmetric: bool = False
    #: The least integer is not used, so that the range is symmetric.
    narrow: bool = False
    #: Half of the range, so that 16 bits hold the sum of two products with unsigned bytes.
    reduced: bool = False
    #: Scales are powers of two.
    power_of_two: bool = False
    #: The scale is the product of the scales of x and w.
    derived: bool = False
    #: Scales are computed at run time.
    dynamic: bool = False
    dtype: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", QUANTIZED[self.name])

    @property
    def is_float(self) -> bool:
        return self.dtype in _MOST_OF_FLOATS

    @property
    def bits(self) -> int:
        return bit_width(self.dtype)

    @property
    def is_at_run_time(self) -> bool:
        """Check whether the scales of activations are computed at run time."""
        return self.dynamic or self.granularity == "mx"

    @property
    def mx_exponent(self) -> int:
        """Return the largest exponent of the numbers of an MX block, as the scale counts them."""
        return _MX_EXPONENTS[self.name]

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number."""
        if self.is_float:
            most = _MOST_OF_FLOATS[self.dtype]
            return -most, most
        bits = self.bits - self.reduced
        if self.name.startswith("u"):
            return 0, 2**bits - 1
        if self.reduced:
            return -(2 ** (bits - 1)), 2 ** (bits - 1)
        most = 2 ** (self.bits - 1) - 1
        return -most if self.narrow else -most - 1, most

    def __str__(self) -> str:
        granularity = "" if self.granularity == "tensor" else f"@{self.granularity}{self.block or ''}"
        words = [word for word in _WORDS if getattr(self, word)]
        return " ".join([self.name + granularity, *words])


def parse_operand_type(text: object, where: str) -> OperandType:
    """Parse a type. `where` names the entry and the operand in errors. Raises RelaxError."""
    if not isinstance(text, str) or not text.strip():
        raise RelaxError(f"{where}: a type is text like 'i8@channel symmetric', got {text!r:.60}")
    head, *words = text.split()
    name, at, granularity = head.partition("@")
    if name not in QUANTIZED:
        raise RelaxError(f"{where}: '{text}': expected one of {', '.join(QUANTIZED)}{suggest(name, QUANTIZED)}")
    for word in words:
        if word not in _WORDS:
            raise RelaxError(f"{where}: '{text}': unknown word '{word}'{suggest(word, _WORDS)}")
    kind, block = _granularity(granularity if at else "tensor", f"{where}: '{text}'")
    operand_type = OperandType(name, kind, block, **dict.fromkeys(words, True))
    _check(operand_type, f"{where}: '{text}'")
    return operand_type


def _granularity(text: str, where: str) -> tuple[Granularity, int]:
    if text == "tensor":
        return "tensor", 0
    if text == "channel":
        return "channel", 0
    kinds: tuple[Granularity, ...] = ("block", "mx")
    for kind in kinds:
        size = text.removeprefix(kind)
        if text.startswith(kind) and size.isdecimal() and int(size) > 0:
            return kind, int(size)
    raise RelaxError(f"{where}: '@{text}': expected one of {', '.join(_GRANULARITIES)}, such as @block32")


def _check(operand_type: OperandType, where: str) -> None:
    if operand_type.derived and operand_type.granularity != "tensor":
        raise RelaxError(f"{where}: a derived scale has the granularity of the scales that it comes from")
    if operand_type.derived and operand_type.dynamic:
        raise RelaxError(f"{where}: a derived scale is computed with the others, so 'dynamic' contradicts it")
    if operand_type.derived and operand_type.bits < _BITS_OF_SUMS:
        raise RelaxError(f"{where}: a derived scale is for a bias that is added to sums of 32 bits: 'i32 derived'")
    if operand_type.name == "i32" and not operand_type.derived:
        raise RelaxError(f"{where}: 32 bits are for a bias with a derived scale: 'i32 derived'")
    for word in ("narrow", "reduced"):
        if operand_type.is_float and getattr(operand_type, word):
            raise RelaxError(f"{where}: '{word}' is for integers")
    if operand_type.narrow and operand_type.reduced:
        raise RelaxError(f"{where}: 'narrow' and 'reduced' are two ranges: state one of them")
    if operand_type.dynamic and operand_type.granularity == "block":
        raise RelaxError(f"{where}: scales of blocks are computed when the model is quantized, not at run time")
    if operand_type.granularity == "mx":
        _check_mx(operand_type, where)
    if operand_type.symmetric and operand_type.name.startswith("u"):
        raise RelaxError(
            f"{where}: an unsigned type has no symmetric range: use '{operand_type.name.replace('u', 'i')}'"
        )


def _check_mx(operand_type: OperandType, where: str) -> None:
    if operand_type.name not in _MX_EXPONENTS:
        raise RelaxError(f"{where}: numbers of MX blocks are {', '.join(_MX_EXPONENTS)}")
    if words := [word for word in _WORDS if word != "narrow" and getattr(operand_type, word)]:
        raise RelaxError(f"{where}: leave out '{words[0]}': MX blocks have scales of their own, without zero points")
