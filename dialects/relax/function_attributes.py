# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of graph functions: names, and groups of arguments or results that callers see as one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Attribute, Operation, Type
from ...bindings.mlir import i64_attribute, ir, string_array, string_value
from ...bindings.navigation import body_of
from ..core.ir_attributes import ARGUMENT_NAME, GROWN, RESULT_LABELS

#: Visibility of a function; upstream's attribute, absent for public functions.
VISIBILITY = "sym_visibility"


VALUE, LIST, NOTHING = "value", "list", "nothing"


def function_attributes(
    name: str, inputs: Sequence[Type], results: Sequence[Type], names: Sequence[str] = (), private: bool = False
) -> dict[str, Attribute]:
    """Return the attributes of a graph function, in the current context.

    `names` are the names of its arguments, if any.
    """
    attributes: dict[str, Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(inputs), list(results))),
    }
    if names:
        named = [ir.DictAttr.get({ARGUMENT_NAME: ir.StringAttr.get(text)}) for text in names]
        attributes["arg_attrs"] = ir.ArrayAttr.get(named)
    if private:
        attributes[VISIBILITY] = ir.StringAttr.get("private")
    return attributes


class Group(NamedTuple):
    """One argument or result of the callers, and the number of the function's arguments or results for it."""

    kind: str
    size: int
    name: str = ""
    #: For results: True if the first value, a 0-D bool, says whether the result is present. An absent result becomes
    #: None.
    is_optional: bool = False
    #: True if the last two values encode any number of further tensors of a list: their concatenated elements, and a
    #: row of integers per tensor with its element count and its shape.
    has_rest: bool = False


def encode_groups(groups: Sequence[Group]) -> Attribute:
    """Return the attribute, in the current context."""
    return ir.ArrayAttr.get([ir.DictAttr.get(_encode(group)) for group in groups])


def _encode(group: Group) -> dict[str, Attribute]:
    flags = {"optional": group.is_optional, "rest": group.has_rest}
    return {
        "kind": ir.StringAttr.get(group.kind),
        "size": i64_attribute(group.size),
        "name": ir.StringAttr.get(group.name),
        **{name: ir.UnitAttr.get() for name, is_set in flags.items() if is_set},
    }


def decode_groups(attribute: Attribute, count: int) -> list[Group]:
    """Return the groups for `count` arguments or results. Raise ValueError for an invalid attribute."""
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError("must be an array")
    groups = [_decode(each) for each in attribute]
    if (total := sum(group.size for group in groups)) != count:
        raise ValueError(f"is of {total} values, the function has {count}")
    return groups


def _decode(attribute: Attribute) -> Group:
    held = attribute if isinstance(attribute, ir.DictAttr) else {}
    if not all(name in held for name in ("kind", "size", "name")):
        raise ValueError("must hold dictionaries of kind, size and name")
    kind, size, name = held["kind"], held["size"], held["name"]
    if not (isinstance(kind, ir.StringAttr) and isinstance(size, ir.IntegerAttr) and isinstance(name, ir.StringAttr)):
        raise ValueError("must hold dictionaries of kind (text), size (an integer) and name (text)")
    group = Group(string_value(kind), size.value, string_value(name), "optional" in held, "rest" in held)
    # Number of values besides the flag and the encoded rest.
    plain = group.size - int(group.is_optional) - 2 * int(group.has_rest)
    possible = {
        VALUE: plain == 1 and not group.has_rest,
        LIST: plain >= 0,
        NOTHING: group.size == 0 and not group.is_optional and not group.has_rest,
    }
    if not possible.get(group.kind, False):
        raise ValueError(f"holds a group of kind '{group.kind}' with {group.size} values")
    return group


def encode_labels(labels: Mapping[str, Sequence[str]]) -> Attribute:
    """Return the attribute, in the current context."""
    return ir.DictAttr.get({name: string_array(words) for name, words in labels.items()})


def decode_labels(function: Operation) -> dict[str, tuple[str, ...]]:
    """Return the strings behind a function's results, by result name. Raise ValueError for an invalid attribute."""
    if RESULT_LABELS not in function.attributes:
        return {}
    held = function.attributes[RESULT_LABELS]
    try:
        return {each.name: tuple(map(string_value, each.attr)) for each in ir.DictAttr(held)}
    except (AttributeError, TypeError, ValueError):
        raise ValueError("must hold an array of strings for each name of a result") from None


def argument_names(function: Operation) -> list[str]:
    """Return the names of a function's arguments. Unnamed arguments get their index."""
    names = [f"arg{index}" for index in range(len(body_of(function).arguments))]
    if "arg_attrs" in function.attributes:
        for index, held in enumerate(function.attributes["arg_attrs"]):
            if ARGUMENT_NAME in held:
                names[index] = string_value(held[ARGUMENT_NAME])
    return names


class Grown(NamedTuple):
    """Buffer with spare room that a call appends rows to."""

    #: Names of the argument for the buffer, and of the argument for its number of rows.
    input: str
    length: str
    axis: int
    #: Number of new rows: a number, or the name of a symbol.
    added: str
    #: Index and name of the result that the buffer would be if the function returned it; -1 for none.
    result: int
    name: str


def encode_grown(grown: Sequence[Grown]) -> Attribute:
    """Return the attribute, in the current context."""
    i64 = ir.IntegerType.get_signless(64)

    def encoded(value: int | str) -> Attribute:
        return ir.StringAttr.get(value) if isinstance(value, str) else ir.IntegerAttr.get(i64, value)

    held = [{name: encoded(value) for name, value in each._asdict().items()} for each in grown]
    return ir.ArrayAttr.get([ir.DictAttr.get(each) for each in held])


def decode_grown(function: Operation) -> list[Grown]:
    """Return the buffers that a function grows. Raise ValueError for an invalid attribute."""
    if GROWN not in function.attributes:
        return []
    try:
        return [
            Grown(*(_number_or_text(each[name]) for name in Grown._fields))  # type: ignore[arg-type]
            for each in function.attributes[GROWN]
        ]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"must hold dictionaries of {', '.join(Grown._fields)}") from None


def _number_or_text(attribute: Attribute) -> int | str:
    return string_value(attribute) if isinstance(attribute, ir.StringAttr) else ir.IntegerAttr(attribute).value
