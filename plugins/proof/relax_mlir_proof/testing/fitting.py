# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Possible calls of an operator on existing values: shapes, element types and attributes from its rows."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.opdef import OpDef

from . import operators
from .core.rows import CLASSES, OperandText, Row
from .core.trees import Made
from .core.variants import Sizes, Variant, Window
from .guessed_rows import guessed_rows

#: Attributes that rows state in one form, so that a pattern's test of them can refuse a row.
_TESTED = ("groups",)
#: Known values of operands by name. None is an unknown value.
Known = Mapping[str, Sequence[TensorInfo | None]]


class Elements(NamedTuple):
    """Elements of an input or a constant."""

    shape: tuple[int, ...]
    dtype: str
    text: OperandText


class Reading(NamedTuple):
    """A call of an operator: unknown operands by name, and attributes with scalars and shapes."""

    operands: Mapping[str, Sequence[Elements | None]]
    attributes: Mapping[str, Any]
    #: Name of the row that the call is from.
    row: str


@cache
def rows_of(op: str) -> tuple[Row, ...]:
    """Return the rows of an operator by its full name."""
    return tuple(row for row in all_rows() if row.op == op)


def all_rows(families: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return the rows of all families of operators, or of some."""
    chosen = families or [iter_module.name for iter_module in pkgutil.iter_modules(operators.__path__)]
    modules = (importlib.import_module(f"{operators.__name__}.{family}") for family in chosen)
    return tuple(row for module in modules for row in module.ROWS)


def readings(
    operator: Made,
    known: Known,
    has_others: bool,
    variant: Variant,
    wanted: Sequence[tuple[int, ...]] = (),
    beside: Sequence[tuple[int, ...]] = (),
    first_row: str = "",
) -> Iterator[Reading]:
    """Yield possible calls of an operator, in the order of trying.

    Calls of the row named `first_row` come first, then calls with a wanted result shape, if results are as large as
    operands, and calls that give unknown operands a shape of `beside` next to known ones. `has_others` allows operands
    that `known` lacks. An operator without rows gets guessed ones.
    """
    definition = find_op(operator.op)
    is_asked = variant.window is not None and has_window(operator.op)
    rows = rows_for(operator, variant.window) or (() if is_asked else guessed_rows(operator.op))
    for row in sorted(rows, key=lambda row: row.name != first_row):
        if (call := _Call.of(definition, row, known, has_others, variant.sizes)) is None:
            continue
        for dtype in _types(row):
            yield from call.readings(dtype, wanted, beside)


def rows_for(operator: Made, window: Window | None = None) -> tuple[Row, ...]:
    """Return the rows of an operator that the pattern's attributes allow, with operands in the pattern's layouts.

    With a window, only its strides and padding are tried.
    """
    rows = (_row_with(row, operator.attributes) for row in rows_of(operator.op))
    found = tuple(row for row in rows if row is not None)
    if window is None or not has_window(operator.op):
        return found
    asked = window.attributes(_rank_of_window(operator.op))
    stated = {name for name, wanted in operator.attributes if not callable(wanted)}
    if stated.intersection(asked):
        return ()
    return tuple(row._replace(attributes={**row.attributes, **asked}) for row in found)


def has_window(op: str) -> bool:
    """Check whether an operator moves a window in steps over padded data."""
    return {"strides", "padding"} <= set(find_op(op).attrs) and _rank_of_window(op) > 0


def _rank_of_window(op: str) -> int:
    """Return the number of dimensions that windows move along, which is in the operator's name, or 0."""
    match = re.search(r"([123])d", op)
    return int(match[1]) if match else 0


def _row_with(row: Row, stated: Sequence[tuple[str, Any]]) -> Row | None:
    """Return a row with the attributes that a pattern states, or None if the row contradicts."""
    definition = find_op(row.op)
    own = {name: row.attributes.get(name, attribute.default) for name, attribute in definition.attrs.items()}
    fixed = {name: value for name, value in stated if not callable(value)}
    layouts = {fact.attribute for fact in definition.layouts.values()}
    if any(name in row.attributes and own[name] != value for name, value in fixed.items() if name == "groups"):
        return None
    if any(callable(test) and name in _TESTED and not test(own[name]) for name, test in stated):
        return None
    operands = list(row.operands)
    for place, operand in enumerate(definition.operands[: len(operands)]):
        fact, text = definition.layouts.get(operand.name), operands[place]
        if fact is None or fact.attribute not in fixed or not isinstance(text, OperandText):
            continue
        if (sizes := _permute_sizes(text.sizes, own[fact.attribute], fixed[fact.attribute])) is None:
            return None
        operands[place] = replace(text, sizes=sizes)
    changed = {name: value for name, value in fixed.items() if name in layouts}
    return row._replace(operands=tuple(operands), attributes={**row.attributes, **changed})


def _permute_sizes(sizes: tuple[str, ...], layout: object, wanted: object) -> tuple[str, ...] | None:
    """Return sizes in the order of another layout, or None if one of the layouts has blocks of channels."""
    before, after = str(layout), str(wanted)
    if before == after:
        return sizes
    if sorted(before) != sorted(after) or len(before) != len(sizes):
        return None
    return tuple(sizes[before.index(letter)] for letter in after)


class _Call(NamedTuple):
    """A row's operands by name: tensors, some of them known, and shapes."""

    row: Row
    tensors: Mapping[str, Sequence[OperandText]]
    shapes: Mapping[str, OperandText]
    known: Known
    sizes: Sizes

    @staticmethod
    def of(definition: OpDef, row: Row, known: Known, has_others: bool, sizes: Sizes) -> _Call | None:
        """Return a row's operands by name, or None if the row has other operands."""
        tensors: dict[str, Sequence[OperandText]] = {}
        shapes: dict[str, OperandText] = {}
        for operand, given in zip(definition.operands, row.operands, strict=False):
            texts = listed(given)
            if operand.name in known:
                count = len(known[operand.name])
                tensors[operand.name] = [texts[min(place, len(texts) - 1)] for place in range(count)] if texts else []
            elif texts and not texts[0].dtype:
                shapes[operand.name] = texts[0]
            elif texts and has_others:
                tensors[operand.name] = texts
            elif texts:
                return None
        if any(len(tensors.get(name, ())) != len(value) for name, value in known.items()):
            return None
        return _Call(row, tensors, shapes, known, sizes)

    def readings(
        self, dtype: str, wanted: Sequence[tuple[int, ...]], beside: Sequence[tuple[int, ...]]
    ) -> Iterator[Reading]:
        """Yield the calls with an element type."""
        types = [self._dtype(text, dtype) for _, text, _ in self._values()]
        if any(
            info is not None and info.dtype != type_ for (_, _, info), type_ in zip(self._values(), types, strict=True)
        ):
            return
        for shapes, sizes in self._shapes(wanted, beside):
            operands: dict[str, list[Elements | None]] = {name: [] for name in self.tensors}
            for (name, text, info), shape, element in zip(self._values(), shapes, types, strict=True):
                operands[name].append(Elements(shape, element, text) if info is None else None)
            fixed = {name: text.shape(sizes) for name, text in self.shapes.items()}
            yield Reading(operands, {**self.row.attributes, **fixed}, self.row.name)

    def _values(self) -> Iterator[tuple[str, OperandText, TensorInfo | None]]:
        for name, texts in self.tensors.items():
            for text, info in zip(texts, self.known.get(name, [None] * len(texts)), strict=True):
                yield name, text, info

    def _dtype(self, text: OperandText, dtype: str) -> str:
        first = next((each.dtype for _, each, _ in self._values() if each.dtype in CLASSES), "")
        if text.dtype not in CLASSES:
            return text.dtype
        return dtype if text.dtype == first else CLASSES[text.dtype][0]

    def _shapes(
        self, wanted: Sequence[tuple[int, ...]], beside: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[list[tuple[int, ...]], Mapping[str, int]]]:
        """Yield the shapes of all values and the sizes of letters: first by the row, then any plausible ones."""
        values, letters = list(self._values()), self.sizes.letters
        texts = [text for _, text, _ in values]
        known = [info.shape for _, _, info in values if info is not None and info.shape is not None]
        is_alike = not known and all(text.sizes in (texts[0].sizes, ()) for text in texts)

        def alike(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
            return [shape if text.sizes == texts[0].sizes else () for text in texts]

        for shape in wanted if is_alike else beside:
            yield alike(shape) if is_alike else [() if text.number else shape for text in texts], letters
        sizes = _unify_sizes([(text, info.shape) for _, text, info in values if info is not None], letters)
        if sizes is not None:
            yield [_numbers(text.shape(sizes)) for text in texts], sizes
        if known:
            numbers = _numbers(known[0])
            for shape in (numbers, *_broadcast(numbers)) if not self.row.name else (numbers,):
                yield [() if text.number else shape for text in texts], letters
        for shape in self.sizes.shapes if is_alike else ():
            yield alike(shape), letters


def shapes_read(operator: Made, name: str, letters: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Return the distinct shapes of an operand in rows of the operator."""
    place = next(number for number, operand in enumerate(find_op(operator.op).operands) if operand.name == name)
    found = (listed(row.operands[place]) for row in rows_for(operator) if place < len(row.operands))
    return list(dict.fromkeys(_numbers(texts[0].shape(letters)) for texts in found if texts and texts[0].dtype))


def _types(row: Row) -> Sequence[str]:
    flat = [each for operand in row.operands for each in listed(operand)]
    return next((CLASSES[each.dtype] for each in flat if each.dtype in CLASSES), ("",))


def listed(operand: OperandText | tuple[OperandText, ...] | None) -> Sequence[OperandText]:
    """Return an operand's texts as a sequence, empty for an absent operand."""
    return () if operand is None else (operand,) if isinstance(operand, OperandText) else operand


def _unify_sizes(
    pairs: Sequence[tuple[OperandText, Sequence[Any] | None]], letters: Mapping[str, int]
) -> dict[str, int] | None:
    """Return the sizes of letters for operands of these shapes, or None if the shapes do not fit."""
    found: dict[str, int] = {}
    for text, shape in pairs:
        if shape is None or len(shape) != len(text.sizes):
            return None
        for size, number in zip(text.sizes, shape, strict=True):
            wanted = int(size) if size.isdigit() else found.setdefault(size, number)
            if wanted != number:
                return None
    return {**letters, **found}


def _numbers(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(int, shape))


def _broadcast(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield shapes that broadcast to a shape: of channels, of the last dimension, of a scalar."""
    if len(shape) > 2:
        rest = (1,) * (len(shape) - 2)
        yield (1, shape[1], *rest)
        yield (shape[1], *rest)
    yield shape[-1:]
    yield ()
