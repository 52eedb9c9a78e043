# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of cases of operators: operands as text, attributes by name.

    row("nn.conv2d", "n,4,h,w:F 6,4,3,3:F", "strided", strides=(2, 2))

An operand is written as its sizes and an element type. Sizes are numbers, letters that vary from case to case
(LETTERS), or expressions (`2*n`). The element type may be a class: F floats, I integers, N both, A both and booleans. R
is for floats without infinities and NaN, in operators where these may or may not meet a 0 of padding or masks. L is for
such floats of LAPACK's precisions. Operands of one class have one type. A range may follow: `:F[0,1]` between two
numbers, `:i64[0,n]` with a size, `^` sorted, `!` constant in all cases, `+` positive definite matrices. `(a:F b:F)` are
the tensors of a variadic operand, `-` is an absent optional operand, `shape(n,2)` a shape, `=0.5:F` a number as a 0-D
constant. Scalars are attributes. `given={1: ...}` are the elements of the operand with this index.

Each row has cases with static sizes for each element type of its classes. For the first type there are also cases with
run-time sizes, sizes of 0, 1 and many, and special values. Two more cases have a constant first operand, and constants
for all other operands. A row with a name tests its attributes. It has the first float and the first integer type, and
run-time sizes. Cases with run-time sizes have several calls: usual sizes, special values, sizes of 1 and 0. If the
operator's inference refuses the sizes, or no element is in bounds, the case does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import ShapeInfo, is_float, tensor
from relax_mlir.dialects.core.symbols import Size, SymExpr, parse
from relax_mlir.dialects.relax.constants import const
from relax_mlir.frontends.module import Module
from relax_mlir.support.errors import RelaxError

from ...interpreter.held_values import stored
from .cases import Case, Range, Setup, drawn, seeded

if TYPE_CHECKING:
    from numpy import ndarray

#: Sizes of letters in usual cases.
LETTERS = {"n": 3, "m": 5, "k": 8, "h": 9, "w": 7, "d": 6, "b": 2}
MANY = {"n": 33, "m": 67, "k": 64, "h": 40, "w": 37, "d": 17, "b": 3}
CLASSES: dict[str, tuple[str, ...]] = {
    "F": ("f32", "f64", "f16", "bf16"),
    "R": ("f32", "f64", "f16", "bf16"),
    "L": ("f32", "f64"),
    "I": ("i32", "i64", "i8", "ui8"),
}
CLASSES["N"] = (*CLASSES["F"], *CLASSES["I"])
CLASSES["A"] = (*CLASSES["N"], "i1")
#: Distance from 0 of elements with a wide range.
_FAR_FLOAT, _FAR_INTEGER = 100.0, 10_000.0
#: Classes that begin with floats.
_FLOATING = ("F", "N", "A")
#: Classes of floats without special values.
_FINITE = ("R", "L")


@dataclass(frozen=True)
class OperandText:
    """Text of an operand. `sizes` are as written. A shape has no element type."""

    sizes: tuple[str, ...]
    dtype: str = ""
    low: str = ""
    high: str = ""
    is_sorted: bool = False
    is_constant: bool = False
    #: Value of a constant number.
    number: str = ""
    is_positive_definite: bool = False

    def shape(self, sizes: Mapping[str, int] | None) -> tuple[Size, ...]:
        """Return the shape with the letters' numbers, or with symbols."""
        return tuple(_size(size, sizes) for size in self.sizes)

    def numbers(self, sizes: Mapping[str, int]) -> list[int]:
        """Return the shape with the letters' numbers."""
        return [_size(size, sizes) for size in self.sizes]


class Row(NamedTuple):
    """Test-case row of an operator. An operand is required, variadic or absent."""

    op: str
    operands: tuple[OperandText | tuple[OperandText, ...] | None, ...]
    name: str
    attributes: Mapping[str, Any]
    #: Elements of operands, by their index.
    given: Mapping[int, Sequence[Any]]

    def __str__(self) -> str:
        return f"{self.op} {self.name}".rstrip()


_TOKEN = re.compile(
    r"(?P<shape>shape\((?P<dims>[^)]*)\))|(?P<absent>-)(?!\S)|(?P<several>\()|(?P<end>\))|"
    r"(?P<sizes>[\w,*+-]*|=[-\w.]+):(?P<dtype>\w+)(?:\[(?P<low>[-+*\w.]+),(?P<high>[-+*\w.]+)\])?(?P<marks>[\^!+]*)"
)


def row(
    op: str, operands: str, name: str = "", *, given: Mapping[int, Sequence[Any]] | None = None, **attributes: Any
) -> Row:
    """Return a row of a relax operator."""
    return Row(f"relax.{op}", tuple(operands_of(operands)), name, attributes, given or {})


def operands_of(text: str) -> list[Any]:
    """Parse operands: single, variadic, or absent."""
    operands: list[Any] = []
    several: list[OperandText] | None = None
    for token in _TOKEN.finditer(text):
        if token["several"]:
            several = []
        elif token["end"]:
            operands.append(tuple(several or ()))
            several = None
        elif token["absent"]:
            operands.append(None)
        else:
            (operands if several is None else several).append(_operand(token))
    return operands


def _operand(token: re.Match[str]) -> OperandText:
    if token["shape"]:
        return OperandText(tuple(filter(None, token["dims"].split(","))))
    sizes, marks = token["sizes"], token["marks"] or ""
    number = sizes[1:] if sizes.startswith("=") else ""
    return OperandText(
        () if number else tuple(filter(None, sizes.split(","))),
        token["dtype"], token["low"] or "", token["high"] or "",
        "^" in marks, "!" in marks or bool(number), number, "+" in marks,
    )  # fmt: skip


class _Variant(NamedTuple):
    """Differences between cases of a row."""

    name: str = ""
    sizes: Mapping[str, int] = LETTERS
    is_dynamic: bool = False
    has_special: bool = False
    #: Flags for constant tensors: the first one, and the others.
    constants: tuple[bool, bool] = (False, False)


def cases_of(row: Row) -> Iterator[Case]:
    """Yield all cases of a row."""
    types = _types(row)
    for dtype in types:
        yield _case(row, dtype, _Variant())
    for variant in _variants(row):
        yield _case(row, types[0], variant)


def case_with_constants(row: Row) -> Case:
    """Return the case of a row with the first element type, where all operands but the first are constants."""
    return _case(row, _types(row)[0], _Variant("constants", constants=(False, True)))


def _types(row: Row) -> tuple[str, ...]:
    """Return the element types of the first class, or else of the first tensor."""
    tensors = [each for each in _flat(row) if each.dtype]
    if (found := next((CLASSES[each.dtype] for each in tensors if each.dtype in CLASSES), None)) is None:
        return (tensors[0].dtype if tensors else "",)
    return tuple(name for name in found if name in (found[0], CLASSES["I"][0])) if row.name else found


def _variants(row: Row) -> Iterator[_Variant]:
    """Yield the variants for the first element type."""
    flat = _flat(row)
    if letters := _letters(flat):
        yield _Variant("dynamic", is_dynamic=True)
    if row.name:
        return
    for letter in dict.fromkeys([*letters[:1], *letters[-1:]]):
        yield _Variant(f"empty {letter}", {**LETTERS, letter: 0})
    if letters:
        yield _Variant("one", _ones(letters))
        yield _Variant("many", MANY)
    if any(each.dtype in _FLOATING and not each.low for each in flat):
        yield _Variant("special", has_special=True)
    if len([each for each in flat if each.dtype and not each.is_constant]) > 1:
        yield _Variant("constants", constants=(False, True))
        yield _Variant("constants first", constants=(True, False))


def _letters(flat: Collection[OperandText]) -> list[str]:
    """Return the distinct letters of sizes."""
    return list(
        dict.fromkeys(
            letter for operand_text in flat for size in operand_text.sizes for letter in re.findall("[a-z]", size)
        )
    )


def _ones(letters: Collection[str]) -> dict[str, int]:
    return {**LETTERS, **dict.fromkeys(letters, 1)}


def _flat(row: Row) -> list[OperandText]:
    several = ([operand] if isinstance(operand, OperandText) else operand or () for operand in row.operands)
    return [operand for operands in several for operand in operands]


def _case(row: Row, dtype: str, variant: _Variant) -> Case:
    name = " ".join(filter(None, (row.op, dtype, row.name, variant.name)))
    return Case(name, "operators", lambda seed: _make(row, dtype, variant, seeded(name, seed)))


def _make(row: Row, dtype: str, variant: _Variant, random: numpy.random.Generator) -> Setup:
    flat = _flat(row)
    first = next((number for number, each in enumerate(flat) if each.dtype and not each.is_constant), None)
    constants = {
        number
        for number, each in enumerate(flat)
        if each.dtype and (each.is_constant or variant.constants[number != first])
    }
    arrays = _arrays(row, dtype, variant, random)
    if not variant.is_dynamic:
        given = [array for number, array in enumerate(arrays) if flat[number].dtype and number not in constants]
        return Setup(_module(row, dtype, variant.sizes, arrays, constants), [given])
    module = _module(row, dtype, None, arrays, constants)
    calls = [_arguments(flat, LETTERS, arrays, constants)]
    if not _letters([flat[number] for number in constants]):
        calls += _other_calls(row, dtype, random, constants)
    return Setup(module, calls)


def _other_calls(
    row: Row, dtype: str, random: numpy.random.Generator, constants: Collection[int]
) -> Iterator[list[ndarray]]:
    """Yield calls with special values, and with other sizes if a module of these sizes can be built."""
    flat = _flat(row)
    letters = _letters(flat)
    usual, empty = _Variant(has_special=True), ({**LETTERS, letter: 0} for letter in (letters[0], letters[-1]))
    for variant in (usual, *(_Variant(sizes=sizes) for sizes in (_ones(letters), *empty))):
        try:
            arrays = _arrays(row, dtype, variant, random)
            _module(row, dtype, variant.sizes, arrays, constants)
        except RelaxError:
            continue
        yield _arguments(flat, variant.sizes, arrays, constants)


def _arguments(
    flat: Sequence[OperandText], sizes: Mapping[str, int], arrays: Sequence[Any], constants: Collection[int]
) -> list[ndarray]:
    """Return the arguments of a function with run-time sizes."""
    found = [array for number, array in enumerate(arrays) if flat[number].dtype and number not in constants]
    missing = _find_undeclared(flat, constants)
    return found + ([numpy.zeros([sizes[letter] for letter in missing], "int8")] if missing else [])


def _find_undeclared(flat: Sequence[OperandText], constants: Collection[int]) -> list[str]:
    """Return the letters that are no size of an input. An additional input has them."""
    declared = {
        size
        for number, operand_text in enumerate(flat)
        if operand_text.dtype and number not in constants
        for size in operand_text.sizes
    }
    return [letter for letter in _letters(flat) if letter not in declared]


def _module(
    row: Row, dtype: str, sizes: Mapping[str, int] | None, arrays: Sequence[Any], constants: Collection[int]
) -> Module:
    flat = _flat(row)
    infos = {
        f"x{number}": tensor(each.shape(sizes), _dtype(each, row, dtype))
        for number, each in enumerate(flat)
        if each.dtype and number not in constants
    }
    missing = [] if sizes is not None else _find_undeclared(flat, constants)
    if missing:
        infos["sizes"] = tensor(missing, "i8")
    module, definition = Module(), find_op(row.op)
    with module.function("main", infos) as f:
        inputs = dict(zip(infos, f, strict=True))
        values = iter(
            const(arrays[number]) if number in constants else inputs[f"x{number}"] if each.dtype else each.shape(sizes)
            for number, each in enumerate(flat)
        )
        operands = {
            operand.name: [next(values) for _ in each] if isinstance(each, tuple) else next(values)
            for operand, each in zip(definition.operands, row.operands, strict=False)
            if each is not None
        }
        f.returns(*map(_as_result, _results(definition(**operands, **row.attributes))))
    return module


def _dtype(operand: OperandText, row: Row, dtype: str) -> str:
    """Return an operand's element type: the case's for the row's first class, the first type of any other class."""
    if operand.dtype not in CLASSES:
        return operand.dtype
    first = next(each.dtype for each in _flat(row) if each.dtype in CLASSES)
    return dtype if operand.dtype == first else CLASSES[operand.dtype][0]


def _arrays(row: Row, dtype: str, variant: _Variant, random: numpy.random.Generator) -> list[Any]:
    """Return the elements of each operand, None for a shape."""
    arrays: list[Any] = []
    for number, operand in enumerate(_flat(row)):
        element = _dtype(operand, row, dtype)
        if number in row.given:
            arrays.append(numpy.asarray(row.given[number]).astype(stored(element)))
        elif operand.dtype:
            shape = [int(str(size)) for size in operand.shape(variant.sizes)]
            arrays.append(array_of(operand, element, shape, variant.sizes, random, variant.has_special))
        else:
            arrays.append(None)
    return arrays


def array_of(
    operand: OperandText,
    element: str,
    shape: Sequence[int],
    sizes: Mapping[str, int],
    random: numpy.random.Generator,
    has_special: bool = False,
    is_far: bool = False,
) -> ndarray:
    """Return an operand's elements. Raise RelaxError if no element is in bounds."""
    if operand.number:
        return numpy.full(shape, float(operand.number)).astype(stored(element))
    low, high = (_read_bound(text, sizes) for text in (operand.low, operand.high))
    if low is not None and high is not None and high <= low and 0 not in shape:
        raise RelaxError(f"there is no element from {low} to below {high}")
    special = has_special and is_float(element) and low is None and operand.dtype not in _FINITE
    if is_far and low is None and high is None:
        low, high = _far(element)
    array = drawn(random, element, shape, Range(low, high, operand.is_sorted, special))
    if operand.is_positive_definite:
        array = array @ array.swapaxes(-1, -2) + shape[-1] * numpy.eye(shape[-1], dtype=array.dtype)
    return array


def _far(element: str) -> tuple[float, float]:
    """Return a range far from 0 with sums and products that most targets can represent."""
    dtype = stored(element)
    if dtype.kind not in "iu":
        return -_FAR_FLOAT, _FAR_FLOAT
    limits = numpy.iinfo(dtype)
    return max(float(limits.min), -_FAR_INTEGER), min(float(limits.max) + 1, _FAR_INTEGER)


def _read_bound(text: str, sizes: Mapping[str, int]) -> float | None:
    return None if not text else float(text) if not re.search("[a-z]", text) else float(_size(text, sizes))


def _size(text: str, sizes: Mapping[str, int] | None) -> Any:
    """Parse a size. Without numbers for letters it is an expression."""
    found = parse(text)
    return found.evaluate(dict(sizes)) if sizes is not None and isinstance(found, SymExpr) else found


def _results(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _as_result(value: Any) -> Any:
    """Convert shapes to tensors."""
    return find_op("relax.shape_to_tensor")(value) if isinstance(decode(value.type), ShapeInfo) else value
