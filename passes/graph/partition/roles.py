# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roles of a composite function's values in its pattern: their names, and their places in the pattern's order.

The attribute `relax.pattern` of the function stores the roles for later passes and codegens:

    {operations = ["relax.matmul", "relax.add"], reads = ["%0", "0.1", "1.1"], names = {x = ["%0"], sum = ["1#0"]}}

`%0` is argument 0 of the function, `0.1` is operand 1 of its operation 0, and `1#0` is result 0 of its operation 1.
Arguments stay valid after changes to the body. The other places are valid as long as the operations are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ....bindings.ir import Attribute, Operation, Value
from ....bindings.mlir import ir, string_array
from ....bindings.rewriting import located_error
from ....dialects.core.ir_attributes import PATTERN_ROLES
from ....dialects.relax.known_constants import is_constant
from ...patterns.matched import Match
from ...patterns.operator_patterns import Op
from ...patterns.tree import Named, maker_of

_PLACE = re.compile(r"%(?P<argument>\d+)|(?P<reader>\d+)\.(?P<operand>\d+)|(?P<maker>\d+)#(?P<result>\d+)")


class ValueSite(NamedTuple):
    """Place of a value: an operand or a result of an operation."""

    operation: Operation
    number: int
    is_made: bool = False

    @property
    def value(self) -> Value:
        return (self.operation.results if self.is_made else self.operation.operands)[self.number]


class Roles(NamedTuple):
    """Roles of the values that matched operations read and make."""

    #: Values from outside, in the pattern's order, depth first.
    reads: Sequence[ValueSite]
    names: Mapping[str, Sequence[ValueSite]]


def roles_of(match: Match) -> Roles:
    """Map matched values to their roles in the pattern."""
    operations = {
        part: maker
        for part, subject in match.bound.items()
        if isinstance(part, Op) and (maker := maker_of(subject)) is not None
    }
    readers: dict[Value, ValueSite] = {}
    makers: dict[Value, ValueSite] = {}
    for op in dict.fromkeys(operations.values()):
        makers.update({value: ValueSite(op, number, is_made=True) for number, value in enumerate(op.results)})
        for number, value in enumerate(op.operands):
            readers.setdefault(value, ValueSite(op, number))
    reads: list[ValueSite] = []
    rest: list[ValueSite] = []
    names: dict[str, list[ValueSite]] = {}
    for part, subject in match.bound.items():
        if isinstance(part, Op):
            op = operations[part]
            (rest if part.operands else reads).extend(ValueSite(op, number) for number in part.unstated(op))
        elif not isinstance(subject, Value):
            continue
        elif isinstance(part, Named):
            site = makers.get(subject) or readers.get(subject)
            names.setdefault(part.name, []).extend([site] if site is not None else [])
        elif subject in readers and not part.parts:
            reads.append(readers[subject])
    # A constant may be an operation of the pattern, too.
    outer = [
        value_site for value_site in (*reads, *rest) if (value := value_site.value) not in makers or is_constant(value)
    ]
    return Roles(outer, names)


def roles_attribute(roles: Roles, operations: Sequence[Operation], arguments: Sequence[Value]) -> Attribute:
    """Return the attribute for a function with these arguments and, at its end, these operations. Needs a context."""
    numbers = {op: number for number, op in enumerate(operations)}
    argument_numbers = {value: number for number, value in enumerate(arguments)}

    def place(site: ValueSite) -> str:
        number = numbers[site.operation]
        if site.is_made:
            return f"{number}#{site.number}"
        argument = argument_numbers.get(site.value)
        return f"{number}.{site.number}" if argument is None else f"%{argument}"

    names = {name: string_array(map(place, sites)) for name, sites in roles.names.items()}
    return ir.DictAttr.get(
        {
            "operations": string_array(op.name for op in operations),
            "reads": string_array(map(place, roles.reads)),
            "names": ir.DictAttr.get(names),
        }
    )


class Passage(NamedTuple):
    """Operation, with the numbers of its operands and results."""

    operation: Operation
    reads: Sequence[int]
    makes: Sequence[int]


class NumberedRoles(NamedTuple):
    """Roles of numbered values."""

    reads: Sequence[int]
    names: Mapping[str, tuple[int, ...]]
    #: Operations that define named values.
    makers: Mapping[str, Operation]
    #: True if passes have replaced operations that the pattern matched.
    is_changed: bool


def numbered_roles(function: Operation, arguments: Sequence[int], passages: Sequence[Passage]) -> NumberedRoles | None:
    """Return the roles of a composite function's values by number, or None if the function states none.

    Raises RelaxError for an invalid attribute.
    """
    if PATTERN_ROLES not in function.attributes:
        return None
    stated = function.attributes[PATTERN_ROLES]
    try:
        return _numbers(ir.DictAttr(stated), arguments, passages)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        problem = f"{PATTERN_ROLES} = {stated} does not describe the values of a pattern"
        raise located_error(problem, function.location) from error


def _numbers(stated: Mapping[str, Attribute], arguments: Sequence[int], passages: Sequence[Passage]) -> NumberedRoles:
    operations = _texts_in(stated["operations"])
    own = passages[max(len(passages) - len(operations), 0) :]
    is_changed = [each.operation.name for each in own] != operations

    def found(places: Attribute) -> Iterable[tuple[int, Operation | None]]:
        for text in _texts_in(places):
            if (place := _PLACE.fullmatch(text)) is None:
                raise ValueError(text)
            if place["argument"]:
                yield arguments[int(place["argument"])], None
            elif not is_changed and place["reader"]:
                yield own[int(place["reader"])].reads[int(place["operand"])], None
            elif not is_changed:
                passage = own[int(place["maker"])]
                yield passage.makes[int(place["result"])], passage.operation

    named = {each.name: list(found(each.attr)) for each in ir.DictAttr(stated["names"])}
    makers = {name: made[0][1] for name, made in named.items() if made and made[0][1] is not None}
    names = {name: tuple(number for number, _ in each) for name, each in named.items() if each}
    return NumberedRoles([number for number, _ in found(stated["reads"])], names, makers, is_changed)


def _texts_in(attribute: Attribute) -> list[str]:
    return [ir.StringAttr(each).value for each in ir.ArrayAttr(attribute)]
