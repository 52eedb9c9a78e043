# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of cases of operators: operands as text, attributes by name.

    row("nn.conv2d", "n,4,h,w:F 6,4,3,3:F", "strided", strides=(2, 2))

An operand is its sizes and its elements: numbers, and letters for sizes that vary from case to case (LETTERS), then an
element type or a class of them: F floats, I integers, N both, A these and booleans; operands of one class have one
type. Behind it may stand what they are drawn from: `:F[0,1]` between two numbers, `:i64[0,n]` too (n is a size), `^`
sorted, `!` constant in all cases. `(a:F b:F)` are the tensors of a variadic operand, `-` is an optional one that is
absent, `shape(n,2)` a shape, `=0.5:F` a number as a 0-D constant.

Of each row there are cases with known sizes, for each element type of its classes, and of the first type cases with
run-time sizes, with sizes of 0, 1 and many, with special values, and with all operands but the first constant. Where an
operator's own inference refuses the sizes there is no such case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from ...dialects.core.dialect import find_op
from ...dialects.core.infos import is_float, tensor
from ...dialects.relax.constants import const
from ...frontends.module import Module
from ...interpreter.held_values import stored
from .cases import Case, Range, Setup, drawn, seeded

#: The sizes of letters in usual cases.
LETTERS = {"n": 3, "m": 5, "k": 8, "h": 9, "w": 7, "d": 6, "b": 2}
_MANY = {"n": 33, "m": 67, "k": 64, "h": 40, "w": 37, "d": 17, "b": 3}
CLASSES: dict[str, tuple[str, ...]] = {
    "F": ("f32", "f64", "f16", "bf16"),
    "I": ("i32", "i64", "i8", "ui8"),
}
CLASSES["N"] = (*CLASSES["F"], *CLASSES["I"])
CLASSES["A"] = (*CLASSES["N"], "i1")


@dataclass(frozen=True)
class OperandText:
    """`sizes` as they are written; a shape has no elements."""

    sizes: tuple[str, ...]
    dtype: str = ""
    low: str = ""
    high: str = ""
    is_sorted: bool = False
    is_constant: bool = False
    #: The number that it is.
    number: str = ""

    def shape(self, sizes: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(sizes[size] if size.isalpha() else int(size) for size in self.sizes)


class Row(NamedTuple):
    """What is known of an operator's cases. An operand is one, several, or none."""

    op: str
    operands: tuple[OperandText | tuple[OperandText, ...] | None, ...]
    name: str
    attributes: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.op} {self.name}".rstrip()


_TOKEN = re.compile(
    r"(?P<shape>shape\((?P<dims>[^)]*)\))|(?P<absent>-)(?!\S)|(?P<several>\()|(?P<end>\))|"
    r"(?P<sizes>[\w,]*|=[-\w.]+):(?P<dtype>\w+)(?:\[(?P<low>[-\w.]+),(?P<high>[-\w.]+)\])?(?P<marks>[\^!]*)"
)


def row(op: str, operands: str, name: str = "", **attributes: Any) -> Row:
    """A row of an operator, by its full name or relax's."""
    full = op if op.partition(".")[0] in ("tir",) else f"relax.{op}"
    found: list[Any] = []
    several: list[OperandText] | None = None
    for token in _TOKEN.finditer(operands):
        if token["several"]:
            several = []
        elif token["end"]:
            found.append(tuple(several or ()))
            several = None
        elif token["absent"]:
            found.append(None)
        else:
            (found if several is None else several).append(_operand(token))
    return Row(full, tuple(found), name, attributes)


def _operand(token: re.Match[str]) -> OperandText:
    if token["shape"]:
        return OperandText(tuple(filter(None, token["dims"].split(","))))
    sizes, marks = token["sizes"], token["marks"] or ""
    number = sizes[1:] if sizes.startswith("=") else ""
    return OperandText(
        () if number else tuple(filter(None, sizes.split(","))),
        token["dtype"], token["low"] or "", token["high"] or "", "^" in marks, "!" in marks or bool(number), number,
    )  # fmt: skip


class _Variant(NamedTuple):
    """What differs from case to case of a row."""

    name: str = ""
    sizes: Mapping[str, int] = LETTERS
    is_dynamic: bool = False
    has_special: bool = False
    has_constants: bool = False


def _variants(row: Row) -> Iterator[_Variant]:
    """Of the first element type of each class."""
    tensors = [each for each in _flat(row) if each.dtype]
    letters = list(dict.fromkeys(size for each in _flat(row) for size in each.sizes if size.isalpha()))
    if letters:
        yield _Variant("dynamic", is_dynamic=True)
        yield _Variant("one", {**LETTERS, **dict.fromkeys(letters, 1)})
        yield _Variant("empty", {**LETTERS, letters[0]: 0})
        yield _Variant("dynamic empty", {**LETTERS, letters[0]: 0}, is_dynamic=True)
        yield _Variant("many", _MANY)
    if any(each.dtype in "FNA" and not each.low for each in tensors):
        yield _Variant("special", has_special=True)
    if len([each for each in tensors if not each.number]) > 1:
        yield _Variant("constants", has_constants=True)


def _flat(row: Row) -> list[OperandText]:
    several = ([each] if isinstance(each, OperandText) else each or () for each in row.operands)
    return [operand for operands in several for operand in operands]


def cases_of(row: Row) -> Iterator[Case]:
    """All cases of a row."""
    classes = [each.dtype for each in _flat(row) if each.dtype in CLASSES]
    types = CLASSES[classes[0]] if classes else ("",)
    for dtype in types:
        yield _case(row, dtype, _Variant())
    for variant in _variants(row):
        yield _case(row, types[0], variant)


def _case(row: Row, dtype: str, variant: _Variant) -> Case:
    name = " ".join(filter(None, (row.op, dtype, row.name, variant.name)))
    return Case(name, "operators", lambda seed: _made(row, dtype, variant, seeded(name, seed)))


def _made(row: Row, dtype: str, variant: _Variant, random: numpy.random.Generator) -> Setup:
    arrays: list[Any] = []
    infos: dict[str, Any] = {}
    symbols = {name: name for name in LETTERS} if variant.is_dynamic else variant.sizes
    module = Module()
    definition = find_op(row.op)

    def prepared(operand: OperandText, is_first: bool) -> Any:
        if not operand.dtype:
            return operand
        element = _dtype(operand, row, dtype)
        array = _array(operand, element, variant, random)
        if operand.is_constant or (variant.has_constants and not is_first):
            return array
        arrays.append(array)
        infos[f"x{len(infos)}"] = tensor(operand.shape(symbols), element)
        return len(arrays) - 1

    places = [
        tuple(prepared(item, False) for item in each) if isinstance(each, tuple)
        else None if each is None else prepared(each, index == 0)
        for index, each in enumerate(row.operands)
    ]  # fmt: skip
    with module.function("main", infos) as f:
        given = list(f)

        def value(place: Any) -> Any:
            if isinstance(place, tuple):
                return [value(item) for item in place]
            if isinstance(place, OperandText):
                return place.shape(symbols)
            return given[place] if isinstance(place, int) else None if place is None else const(place)

        operands = {
            each.name: value(place)
            for each, place in zip(definition.operands, places, strict=False)
            if place is not None
        }
        f.returns(*_results(definition(**operands, **row.attributes)))
    return Setup(module, [arrays])


def _dtype(operand: OperandText, row: Row, dtype: str) -> str:
    """Operands of the row's first class have the case's type, those of another class the first one of that."""
    if operand.dtype not in CLASSES:
        return operand.dtype
    first = next(each.dtype for each in _flat(row) if each.dtype in CLASSES)
    return dtype if operand.dtype == first else CLASSES[operand.dtype][0]


def _array(operand: OperandText, element: str, variant: _Variant, random: numpy.random.Generator) -> Any:
    sizes = variant.sizes
    if operand.number:
        return numpy.asarray(float(operand.number)).astype(stored(element))
    low, high = (_bound(text, sizes) for text in (operand.low, operand.high))
    special = variant.has_special and is_float(element) and low is None
    return drawn(random, element, operand.shape(sizes), Range(low, high, operand.is_sorted, special))


def _bound(text: str, sizes: Mapping[str, int]) -> float | None:
    return None if not text else float(sizes[text]) if text.isalpha() else float(text)


def _results(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]
