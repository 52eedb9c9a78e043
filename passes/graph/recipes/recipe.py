# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes: how a codegen or a target wants models quantized.

    recipe = rx.Recipe(
        Op("mynpu.conv", x=("i8", "i16"), w="i8@channel symmetric", bias="i32 derived"),
        Share("relax.concat", "relax.nn.max_pool2d"),
        Fixed("relax.nn.softmax", scale=1 / 256, zero=0, type="u8"),
        Float("relax.nn.layer_norm"),
    )

Entries name patterns of the codegen, or operators. Earlier entries are tried first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ....dialects.core.dialect import find_op
from ....support.errors import RelaxError
from ....support.requantization import Requantize
from ....support.suggest import suggest
from ...patterns.operator_patterns import Op as OperatorPattern
from ...patterns.operator_patterns import is_op
from ...patterns.tree import GraphPattern, Named, walk, wildcard
from .asked_layout import check_layout
from .operand_types import OperandType, parse_operand_type
from .stated_dtypes import check_dtypes
from .stated_operators import check_stated

_Kind = TypeVar("_Kind", bound="Entry")
#: Name of the result. Without a type of its own, it has the types of the first operand.
RESULT = "y"


class Entry:
    """Entry of a recipe."""

    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"


class Op(Entry):
    """Layer that computes on integers: the name of a pattern or an operator, and the types of operands.

    `pattern=` states the pattern of another name, for recipes of targets, which have no patterns.

    `x=("i8", "i16")` lists types in the order of preference. Keywords are names in the pattern; for an operator, its
    operands. `y` is the result, by default with the type of the first operand; `y=None` keeps results real. They are
    also real if that type is dynamic, or has several scales, as types of weights do.

    may_be_real: the layer can also keep a real result, for readers in floating point. Default: results are quantized.

    out: the integers between the operands and the result, an `rx.Requantize`. accumulate: the type of sums.
    """

    def __init__(
        self,
        name: str,
        *,
        pattern: GraphPattern | None = None,
        may_be_real: bool = False,
        out: Requantize | None = None,
        accumulate: str = "i32",
        **operands: str | Sequence[str] | None,
    ):
        if not isinstance(name, str):
            raise RelaxError(f"Op: the name of a pattern or an operator is text, got {name!r:.60}")
        self.name, self.names = name, (name,)
        self.pattern = pattern
        if out is not None and not isinstance(out, Requantize):
            raise RelaxError(f"{self!r}: out= expects an rx.Requantize, got {out!r:.60}")
        self.may_be_real = may_be_real
        self.out = out
        if accumulate != "i32":
            raise RelaxError(f"{self!r}: accumulate='{accumulate}': sums are 'i32'")
        if not operands:
            raise RelaxError(f"{self!r}: an entry states the type of at least one operand, such as x='i8'")
        self.types: dict[str, tuple[OperandType, ...]] = {
            name: _types(operand, f"{self!r}, {name}") for name, operand in operands.items() if operand is not None
        }
        if RESULT not in operands:
            first = next(iter(self.types.values()), ())
            if first and not any(map(_has_no_result, first)):
                self.types[RESULT] = first
        self.has_real_result = RESULT not in self.types
        if any(map(_has_no_result, self.types.get(RESULT, ()))):
            raise RelaxError(f"{self!r}, y: a result has one scale, known beforehand; its readers state 'dynamic'")

    @property
    def operands(self) -> list[str]:
        return [name for name in self.types if name != RESULT]


class Share(Entry):
    """Operators with one scale for operands and results, such as concatenations and pools."""

    def __init__(self, *names: str):
        self.names = _operators(self, names)


class Fixed(Entry):
    """Operator with a fixed scale and zero point of the result, because its range is known."""

    def __init__(self, name: str, *, scale: float, zero: int = 0, type: str = "u8"):
        self.names, self.scale, self.zero = _operators(self, (name,)), scale, zero
        self.type = parse_operand_type(type, repr(self))
        if not isinstance(scale, (int, float)) or not 0 < scale < float("inf"):
            raise RelaxError(f"{self!r}: scale has to be a positive number, got {scale!r}")
        least, most = self.type.limits
        if not least <= zero <= most or (self.type.symmetric and zero):
            expected = "0" if self.type.symmetric else f"between {least:g} and {most:g}"
            raise RelaxError(f"{self!r}: the zero point of '{self.type}' has to be {expected}, got {zero!r}")

    def __repr__(self) -> str:
        return f"Fixed({self.names[0]!r}, scale={self.scale:g}, zero={self.zero})"


class Float(Entry):
    """Operators that stay in floating point."""

    def __init__(self, *names: str):
        self.names = _operators(self, names)


class Tensor(Entry):
    """Type or range of one tensor of a model, which overrides patterns and samples.

    name: a node, for its result; an input; a constant; or `node.operand`, for what one layer reads.

    type: the quantized type. scale and zero: the scale and zero point. range: the least and the largest number,
    instead of the range in samples. Constants have one of each per output channel if the type has `@channel`.
    """

    def __init__(
        self,
        name: str,
        type: str | None = None,
        *,
        scale: float | Sequence[float] | None = None,
        zero: int | Sequence[int] | None = None,
        range: Sequence[float] | Sequence[Sequence[float]] | None = None,
    ):
        self.names, self.scale, self.zero, self.range = _operators(self, (name,)), scale, zero, range
        self.type = None if type is None else parse_operand_type(type, repr(self))
        if (scale is None) != (zero is None):
            raise RelaxError(f"{self!r}: scale= and zero= belong together: state both")
        if scale is not None and range is not None:
            raise RelaxError(f"{self!r}: scale= and range= contradict: state one of them")
        words = [word for word in ("symmetric", "narrow", "reduced") if getattr(self.type, word, False)]
        if scale is not None and words:
            raise RelaxError(f"{self!r}: scale= and '{words[0]}' contradict: a stated scale needs no choice of a range")
        if type is None and scale is None and range is None:
            raise RelaxError(f"{self!r}: states nothing: expected a type, scale= and zero=, or range=")
        if not all(0 < each < float("inf") for each in _flat(scale)):
            raise RelaxError(f"{self!r}: scale has to be a positive number, got {scale!r}")
        if range is not None and (len(list(_flat(range))) % 2 or not _rises(range)):
            raise RelaxError(f"{self!r}: range is a pair of rising numbers, or one pair per channel, got {range!r}")

    @property
    def is_fixed(self) -> bool:
        """Check whether the entry states a scale or a range."""
        return self.scale is not None or self.range is not None

    def check_type(self, type_: OperandType) -> None:
        """Raise RelaxError if a type does not have the zero points."""
        least, most = type_.limits
        for zero in _flat(self.zero):
            if not least <= zero <= most or (type_.symmetric and zero):
                expected = "0" if type_.symmetric else f"between {least:g} and {most:g}"
                raise RelaxError(f"{self!r}: the zero point of '{type_}' has to be {expected}, got {zero!r}")


class Recipe:
    """Types and scales in which a codegen or a target computes the layers of its own patterns."""

    def __init__(self, *entries: Entry, layout: str = ""):
        """Initialize with entries. `layout` is that of convolutions and pools: "NHWC", or "NHWC:HWIO" with kernels."""
        self.layout = layout
        check_layout(layout, "a recipe")
        for entry in entries:
            if not isinstance(entry, Entry):
                raise RelaxError(f"a recipe has entries Op, Share, Fixed, Float and Tensor, got {entry!r:.60}")
        self.entries = entries
        self.ops = [each for each in entries if isinstance(each, Op)]
        self.shares = frozenset(name for each in self._all(Share) for name in each.names)
        self.tensors: Mapping[str, Tensor] = {each.names[0]: each for each in self._all(Tensor)}
        self.fixed: Mapping[str, Fixed] = {each.names[0]: each for each in self._all(Fixed)}
        self.floats = frozenset(name for each in self._all(Float) for name in each.names)
        self._check()

    def _all(self, kind: type[_Kind]) -> Iterator[_Kind]:
        return (each for each in self.entries if isinstance(each, kind))

    def _check(self) -> None:
        if not self.ops:
            raise RelaxError("a recipe has at least one entry Op, which says what computes on integers")
        seen: dict[tuple[bool, str], Entry] = {}
        for entry in self.entries:
            for name in entry.names:
                key = (isinstance(entry, Tensor), name)
                # A layer can have a known range in one of its types.
                is_layer_of_known_range = {type(entry), type(seen.get(key))} == {Op, Fixed}
                if key in seen and not is_layer_of_known_range:
                    raise RelaxError(f"recipe: {entry!r} contradicts {seen[key]!r}: '{name}' is in both")
                seen[key] = entry

    def entry(self, pattern: str) -> Op | None:
        """Return the entry Op that names a pattern."""
        return next((op for op in self.ops if op.name == pattern), None)

    def patterns(self, rows: Mapping[str, GraphPattern]) -> list[tuple[Op, GraphPattern]]:
        """Return the entries Op with their patterns. `rows` are the patterns of the codegen by name."""
        for entry in self.entries:
            for name in () if isinstance(entry, (Op, Tensor)) else entry.names:
                _check_name(entry, name, rows)
        return [(op, _pattern_of(op, rows)) for op in self.ops]

    def __repr__(self) -> str:
        return f"Recipe({', '.join(map(repr, self.entries))})"


def _pattern_of(op: Op, rows: Mapping[str, GraphPattern]) -> GraphPattern:
    if op.pattern is not None:
        pattern = op.pattern
    elif op.name in rows:
        pattern = rows[op.name]
    elif op.name.startswith("relax."):
        pattern = _operator_pattern(op)
    else:
        known = ", ".join(rows) or "none"
        raise RelaxError(f"recipe: {op!r}: no pattern has this name; there are {known}{suggest(op.name, rows)}")
    names = {part.name for part in walk(pattern) if isinstance(part, Named)}
    for name in op.operands:
        if name not in names:
            known = f"; its parts are {', '.join(sorted(names)) or 'not named'}"
            raise RelaxError(f"recipe: {op!r}: the pattern has no part named '{name}'{known}{suggest(name, names)}")
    check_dtypes(repr(op), pattern, op.types, RESULT)
    if op.out is not None:
        check_stated(op, pattern)
    return pattern


def _check_name(entry: Entry, name: str, rows: Mapping[str, GraphPattern]) -> None:
    """Raise RelaxError if a name is neither an operator nor a pattern of the codegen."""
    if name in rows:
        return
    try:
        find_op(name)
    except RelaxError as error:
        known = f"; its patterns are {', '.join(rows)}{suggest(name, rows)}" if rows else ""
        raise RelaxError(f"recipe: {entry!r}: {error.message}{known}") from None


def _operator_pattern(op: Op) -> OperatorPattern:
    row = find_op(op.name)
    for name in op.operands:
        if name not in [operand.name for operand in row.operands]:
            names = ", ".join(operand.name for operand in row.operands)
            raise RelaxError(f"recipe: {op!r}: {row.full_name} has no operand '{name}'; it has {names}")
    parts: dict[str, Any] = {name: wildcard().named(name) for name in op.operands}
    return is_op(row.full_name)(..., **parts)


def _has_no_result(type_: OperandType) -> bool:
    """Check whether results cannot have a type: its scales are several, or of run time."""
    return type_.is_at_run_time or type_.granularity != "tensor"


def _types(given: object, where: str) -> tuple[OperandType, ...]:
    texts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not texts:
        raise RelaxError(f"{where}: expected at least one type, got none")
    return tuple(parse_operand_type(text, where) for text in texts)


def _flat(given: Any) -> Iterator[float]:
    """Yield the numbers of nested sequences."""
    if isinstance(given, (tuple, list)):
        for each in given:
            yield from _flat(each)
    elif given is not None:
        yield given


def _rises(pairs: Any) -> bool:
    numbers = list(_flat(pairs))
    return len(numbers) > 0 and all(least < most for least, most in zip(numbers[::2], numbers[1::2], strict=True))


def _operators(entry: Entry, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise RelaxError(f"{type(entry).__name__}() names no operator")
    for name in names:
        if not isinstance(name, str):
            raise RelaxError(f"{type(entry).__name__}: an operator's name is text, got {name!r:.60}")
        if name.startswith("relax."):
            find_op(name)
    return tuple(names)
