# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of operators: by name, operands and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from types import EllipsisType, MappingProxyType
from typing import Any, ClassVar, TypeVar

from ...bindings.context import UPSTREAM_DIALECTS
from ...bindings.ir import Operation, Value
from ...bindings.rewriting import function_name
from ...dialects.core.attributes import AttributeProblem
from ...dialects.core.dialect import find_op
from ...dialects.core.operator import Operator
from ...dialects.relax.known_constants import SPLATS, splat
from ...dialects.relax.values import dtype_of
from ...support.errors import RelaxError
from ...support.suggest import counted, suggest
from .tree import MATCHES, Bound, GraphPattern, Leaf, Subject, Ways

#: Pattern of an operand: one pattern, a sequence or `every` for a variadic operand, or None for an absent one.
Operand = GraphPattern | Sequence[GraphPattern] | None
OpT = TypeVar("OpT", bound="Op")
#: Test of a number and its element type.
NumberTest = Callable[[int | float | bool, str], bool]
#: Patterns by operand name, or by number for upstream's operators: one for each value of the operand.
Operands = Mapping[str | int, tuple[GraphPattern, ...]]


#: Nested patterns are traversed by recursive calls, and Python allows 1,000.
MOST_DEEP = 320


class Op(GraphPattern):
    """Pattern of the result of an operation with one of these names."""

    is_asked_last: ClassVar[bool] = True
    #: Patterns of the operands. None matches any operands.
    operands: Operands | None = None
    #: The same with each operator's own names of operands.
    by_operator: Mapping[str, Operands] = MappingProxyType({})
    #: True if the operation may have more operands than stated.
    is_open: bool = False
    #: True if the order of operands matters for commutative operators, too.
    is_ordered: bool = False
    attributes: tuple[tuple[str, Any], ...] = ()

    def __init__(self, names: tuple[str, ...]):
        self.names = names
        if not names:
            raise RelaxError("is_op() names no operator")
        for name in names:
            _row(name)

    def but(self: OpT, **changes: Any) -> OpT:
        """Return a copy with changed attributes."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        for name in ("readers", "depth"):
            vars(other).pop(name, None)
        return other

    def __call__(self, *positional: Operand | EllipsisType, **by_name: Operand) -> Op:
        """Return the pattern with these operands, by position or name. `...` at the end allows any further operands."""
        is_open = bool(positional) and positional[-1] is ...
        given = positional[:-1] if is_open else positional
        stated = {name: _check_operands(self, name, given, by_name, is_open) for name in self.names}
        op_t_ = self.but(operands=stated[self.names[0]], by_operator=stated, is_open=is_open)
        if op_t_.depth > MOST_DEEP:
            reason = f"more than {MOST_DEEP} patterns are nested"
            raise RelaxError(f"pattern of {self}: {reason}; use repeated() for repetitions")
        return op_t_

    def in_order(self) -> Op:
        """Return the pattern with the stated order of operands, for commutative operators, too."""
        return self.but(is_ordered=True)

    def has_attr(self, **attributes: object) -> Op:
        """Return the pattern with these attributes, as builders take them. A function tests an attribute's value."""
        for row_name in self.names:
            if (row := _row(row_name)) is None:
                raise RelaxError(f"pattern {self}: attributes of upstream's operators are not known; use where()")
            attributes = {name: _normalize_attribute(self, row, name, value) for name, value in attributes.items()}
        return self.but(attributes=(*self.attributes, *attributes.items()))

    def __getitem__(self, index: int) -> GraphPattern:
        """Return the pattern of one of several results."""
        return ResultPattern(self, index)

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return tuple(each for operand in (self.operands or {}).values() for each in operand)

    @property
    def heads(self) -> tuple[str, ...] | None:
        return self.names

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        if isinstance(op := self.maker(subject, bound), str):
            return op
        reader = self.readers[op.name]
        for name, wanted in self.attributes:
            found = reader.attribute(op, name)
            if not (wanted(found) if callable(wanted) else found == wanted):
                return f"has {name}={found}"
        return MATCHES if self.operands is None else reader.ways(op)

    def maker(self, subject: Subject, bound: Bound) -> Operation | str:
        """Return the operation that defines a value, or the reason why it does not match."""
        if (op := bound.maker(subject)) is None:
            return "is an argument"
        if op.name not in self.names:
            return f"is made by {op.name}"
        if isinstance(subject, Value) and len(op.results) != 1:
            return f"is one of {counted(len(op.results), 'result')}: use pattern[i]"
        return op

    def unstated(self, op: Operation) -> list[int]:
        """Return the numbers of an operation's operands that the pattern does not state."""
        return list(range(len(op.operands))) if self.operands is None else self.readers[op.name].unstated(op)

    @cached_property
    def readers(self) -> dict[str, Reader]:
        """Readers of operands and attributes, by operator name."""
        return {name: Reader(self, name) for name in self.names}

    @property
    def text(self) -> str:
        stated = ", ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in self.attributes)
        return self.with_operands("|".join(self.names) + (f"{{{stated}}}" if stated else ""))

    def with_operands(self, text: str) -> str:
        if self.operands is None:
            return text
        shown = [*map(_operand_text, self.operands.values()), *(["…"] if self.is_open else [])]
        return f"{text}({', '.join(shown)})"


class ResultPattern(GraphPattern):
    """Pattern of one of several results of an operation."""

    def __init__(self, op: Op, index: int):
        self.op, self.index = op, index

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        if (op := bound.maker(subject)) is None or not isinstance(subject, Value):
            return "is an argument"
        if subject not in op.results[self.index : self.index + 1]:
            return f"is not result {self.index} of {op.name}"
        return (((self.op, op),),)

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return (self.op,)

    @property
    def heads(self) -> tuple[str, ...] | None:
        return self.op.heads

    @property
    def text(self) -> str:
        return f"{self.op.text}[{self.index}]"


class Filled(Leaf):
    """Pattern of a tensor with one number everywhere. The test gets that number and the element type."""

    def __init__(self, test: NumberTest, text: str):
        self.test, self._text = test, text

    def problem(self, subject: Subject) -> str:
        number = splat(subject) if isinstance(subject, Value) else None
        if number is None or not isinstance(subject, Value):
            return "is not one number everywhere"
        return "" if self.test(number, dtype_of(subject)) else f"is {number}"

    @property
    def heads(self) -> tuple[str, ...] | None:
        return tuple(SPLATS)

    @property
    def text(self) -> str:
        return self._text


class Every(GraphPattern):
    """Pattern of a variadic operand. Each of its values gets a new pattern."""

    def __init__(self, make: Callable[[], GraphPattern], least: int):
        self.make, self.least = make, least

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        return (((self.make(), subject),),)

    @property
    def parts(self) -> tuple[GraphPattern, ...]:
        return (self.make(),)

    @property
    def heads(self) -> tuple[str, ...] | None:
        return self.make().heads

    @property
    def text(self) -> str:
        return f"every {self.make().text}"


@cache
def _row(name: str) -> Operator | None:
    """Return the row of an operator, or None for upstream's operators, which have none."""
    return None if name.partition(".")[0] in UPSTREAM_DIALECTS else find_op(name)


def _normalize_attribute(pattern: Op, row: Operator, name: str, value: object) -> Any:
    if name in [operand.name for operand in row.operands]:
        part = f"is_const({value!r})" if isinstance(value, (int, float)) else f"{name}_pattern"
        raise RelaxError(
            f"pattern {pattern}: '{name}' is an operand of {row.full_name}, not an attribute: write "
            f"is_op('{row.full_name}')(..., {name}={part})"
        )
    if name not in row.attrs:
        raise RelaxError(f"pattern {pattern}: {row.full_name} has no attribute '{name}'{suggest(name, row.attrs)}")
    if callable(value) or (value is None and row.attrs[name].default is None):
        return value
    try:
        return row.attrs[name].normalize(value)
    except AttributeProblem as problem:
        raise RelaxError(f"pattern {pattern}: {row.full_name}: attribute '{name}' {problem}") from None


def _check_operands(
    pattern: Op, name: str, given: Sequence[Operand | EllipsisType], by_name: Mapping[str, Operand], is_open: bool
) -> Operands:
    """Return the patterns of operands, checked against the operator's row."""
    positional = [each for each in given if not isinstance(each, EllipsisType)]
    if len(positional) < len(given):
        raise RelaxError(f"pattern {pattern}: '...' matches the remaining operands, and must come last")
    row = _row(name)
    if row is not None and not by_name and row.varying is None and len(positional) == len(row.operands):
        patterns = [each for each in positional if isinstance(each, GraphPattern)]
        if len(patterns) == len(positional):  # the common case
            return {operand.name: (each,) for operand, each in zip(row.operands, patterns, strict=True)}
    if row is None:
        if by_name:
            raise RelaxError(f"pattern {pattern}: operands of {name} have no names: pass them by position")
        return {number: _stated_values(each) for number, each in enumerate(positional)}
    names = [operand.name for operand in row.operands]
    if len(positional) > len(names):
        count = counted(len(names), "operand")
        raise RelaxError(f"pattern {pattern}: {name} has {count} ({', '.join(names)}), not {len(positional)}")
    stated: dict[str | int, Operand] = dict(zip(names, positional, strict=False))
    stated.update(by_name)
    for each in by_name:
        if each not in names:
            known = f"; it has {', '.join(names)}"
            raise RelaxError(f"pattern {pattern}: {name} has no operand '{each}'{known}{suggest(each, names)}")
    for operand in row.operands:
        if operand.arity == "single" and operand.name in stated and stated[operand.name] is None:
            raise RelaxError(f"pattern {pattern}: {name}'s '{operand.name}' is never absent")
        if operand.name not in stated:
            if operand.arity == "single" and not is_open:
                raise RelaxError(
                    f"pattern {pattern}: {name}'s '{operand.name}' is missing; '...' at the end matches the rest"
                )
            continue
        is_several = isinstance(stated[operand.name], (Sequence, Every))
        if is_several != (operand.arity == "variadic"):
            wanted = "a list of patterns, or every(...)" if operand.arity == "variadic" else "one pattern"
            raise RelaxError(f"pattern {pattern}: {name}'s '{operand.name}' is {wanted}")
    return {key: _stated_values(operand) for key, operand in stated.items()}


def _stated_values(operand: Operand) -> tuple[GraphPattern, ...]:
    return () if operand is None else (operand,) if isinstance(operand, GraphPattern) else tuple(operand)


class Reader:
    """Reader of an operation's operands by a pattern's statements."""

    def __init__(self, pattern: Op, name: str):
        self._row = row = _row(name)
        self._operands = operands = pattern.by_operator.get(name, pattern.operands or {})
        self._is_open = pattern.is_open
        are_two = len({each for operand in operands.values() for each in operand}) == 2
        self.is_commutative = row is not None and row.commutative and are_two and not pattern.is_ordered
        #: True if the operator always has exactly one result.
        self.gives_one = row is not None and [result.arity for result in row.results] == ["single"]
        #: Patterns by operand number, if each operand is one value.
        self.in_order: list[tuple[int, GraphPattern]] | None = None
        if row is None:
            self.in_order = [(index, operands[index][0]) for index in range(len(operands))]
        elif row.varying is None:
            numbers = {operand.name: index for index, operand in enumerate(row.operands)}
            stated = {numbers[str(key)]: patterns[0] for key, patterns in operands.items()}
            self.in_order = sorted(stated.items())

    @property
    def parts(self) -> list[GraphPattern]:
        """The stated patterns of operands, in the operator's order."""
        if self._row is None or self.in_order is not None:
            return [pattern for _, pattern in self.in_order or ()]
        return [each for operand in self._row.operands for each in self._operands.get(operand.name, ())]

    def fits(self, count: int) -> bool:
        """Check whether an operation with this number of operands can match, if each operand is one value."""
        stated = len(self._operands)
        return count == stated or (count > stated and self._is_open)

    def attribute(self, op: Operation, name: str) -> Any:
        assert self._row is not None, name
        kind = self._row.attrs[name]
        return kind.decode(op.attributes[name]) if name in op.attributes else kind.default

    def unstated(self, op: Operation) -> list[int]:
        """Return the numbers of an operation's operands that the pattern does not state."""
        numbers = list(range(len(op.operands)))
        if not self._is_open:
            return []
        if self._row is None or self.in_order is not None:
            stated = {index for index, _ in self.in_order or ()}
            return [number for number in numbers if number not in stated]
        groups = self._segments(op, numbers).items()
        rest = (group for name, group in groups if name not in self._operands and group is not None)
        return [number for group in rest for number in (group if isinstance(group, tuple) else (group,))]

    def _segments(self, op: Operation, values: list[Any]) -> dict[str, Any]:
        """Group values by the operands that they belong to, by name."""
        assert self._row is not None
        sizes = list(op.attributes["operandSegmentSizes"]) if self._row.segmented else None
        return self._row.segment(values, sizes)

    def ways(self, op: Operation) -> Ways:
        values = op.operands
        if self.in_order is None:
            return self._ways_of_groups(op)
        if not self.fits(len(values)):
            return f"reads {counted(len(values), 'value')}, not {len(self._operands)}"
        goals = tuple((pattern, values[index]) for index, pattern in self.in_order)
        if not self.is_commutative:
            return (goals,)
        (one, x), (other, y) = goals
        return (goals, ((one, y), (other, x)))

    def _ways_of_groups(self, op: Operation) -> Ways:
        goals: list[tuple[GraphPattern, Subject]] = []
        for name, group in self._segments(op, list(op.operands)).items():
            if name not in self._operands and self._is_open:
                continue
            found = () if group is None else (group,) if isinstance(group, Value) else group
            patterns = self._operands.get(name, ())
            if len(patterns) == 1 and isinstance(patterns[0], Every):
                if len(found) < patterns[0].least:
                    return f"reads {counted(len(found), 'value')} as '{name}', fewer than {patterns[0].least}"
                patterns = tuple(patterns[0].make() for _ in found)
            if len(patterns) != len(found):
                return f"reads {counted(len(found), 'value')} as '{name}', not {len(patterns)}"
            goals += zip(patterns, found, strict=True)
        return (goals,)


def _operand_text(operand: tuple[GraphPattern, ...]) -> str:
    return operand[0].text if len(operand) == 1 else f"[{', '.join(pattern.text for pattern in operand)}]"


def is_op(*names: str) -> Op:
    """Return the pattern of a result of the named operators. Call it with patterns of the operands."""
    return Op(names)


def is_filled(number: float | NumberTest | None = None) -> GraphPattern:
    """Return the pattern of a tensor with one number everywhere, any or this one.

    The tensor is a constant, made by `full`, `zeros` or `ones`, or a broadcast of such. A function gets the number and
    the element type.
    """
    if number is None:
        return Filled(lambda *_: True, "filled")
    if callable(number):
        return Filled(number, f"filled with {function_name(number)}")
    return Filled(lambda found, _: found == number, f"filled with {number}")


def every(make: Callable[[], GraphPattern], least: int = 0) -> GraphPattern:
    """Return the pattern of a variadic operand: `make` returns a new pattern for each of its values."""
    return Every(make, least)
