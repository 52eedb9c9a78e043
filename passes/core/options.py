# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of passes: conversion between `{opt=1 names=a,b flag}` and dataclass fields."""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from ...support.errors import OptionError
from ...support.suggest import suggest

#: Metadata key of fields whose values are Python objects without a textual form.
PYTHON_ONLY = "python only"

_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


def split_options(text: str) -> list[tuple[str, str | None]]:
    """Split `a=1 b={x y} c="d e" flag` into pairs of name and value, with None for a name without a value.

    Values may be quoted or in braces, like upstream's pass options. Raises RelaxError for unbalanced quotes or
    brackets.
    """
    pairs: list[tuple[str, str | None]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        end = _end_of_word(text, position)
        name, equals, value = text[position:end].partition("=")
        if not name:
            raise OptionError(f"expected an option's name at '{text[position:end]}'")
        pairs.append((name, _unquote(value) if equals else None))
        position = end
    return pairs


#: List item between commas. Commas in braces behind a word do not separate items.
_ITEM = re.compile(r"(?:\w\{[^{}]*\}|[^,])+")


def split_list(text: str) -> list[str]:
    """Return the items of `a,b{c=1,2}` without surrounding space."""
    return [item for item in map(str.strip, _ITEM.findall(text)) if item]


def _end_of_word(text: str, position: int) -> int:
    depth, quote = 0, ""
    for index in range(position, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "{[(":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char.isspace() and depth <= 0:
            return index
    if quote or depth > 0:
        raise OptionError(f"unbalanced {'quote' if quote else 'brackets'} in options '{text}'")
    return len(text)


def _unquote(value: str) -> str:
    is_enclosed = len(value) >= 2 and value[0] + value[-1] in ('""', "''", "{}")
    return value[1:-1] if is_enclosed else value


def option_name(field_name: str) -> str:
    return field_name.replace("_", "-")


def option_fields(pass_class: type) -> dict[str, dataclasses.Field[Any]]:
    """Return the option fields of a pass class by pipeline name, without fields that have no textual form."""
    fields = [field for field in dataclasses.fields(pass_class) if field.init and not field.metadata.get(PYTHON_ONLY)]
    return {option_name(field.name): field for field in fields}


def make_pass(pass_class: type, options: Iterable[tuple[str, str | None]]) -> Any:
    """Create a pass from option texts. Raise RelaxError that names the invalid option."""
    fields = option_fields(pass_class)
    name = getattr(pass_class, "name", pass_class.__name__)
    values: dict[str, Any] = {}
    for key, text in options:
        if (field := fields.get(option_name(key))) is None:
            known = f"it takes {', '.join(fields)}" if fields else "it takes none"
            raise OptionError(f"pass '{name}' has no option '{key}'{suggest(option_name(key), fields)} ({known})")
        if field.name in values:
            raise OptionError(f"pass '{name}': option '{key}' is given twice")
        try:
            values[field.name] = parse_value(text, _type_hints(pass_class)[field.name])
        except ValueError as error:
            raise OptionError(f"pass '{name}': option '{key}' {error}") from None
    missing = [key for key, field in fields.items() if _is_required(field) and field.name not in values]
    if missing:
        raise OptionError(f"pass '{name}' needs option '{missing[0]}'")
    try:
        return pass_class(**values)
    except ValueError as error:
        raise OptionError(f"pass '{name}': {error}") from None


def take_text(pass_class: type) -> None:
    """Make a pass's constructor accept option texts like a pipeline: `function="main"`, and lists for tuples."""
    made = pass_class.__init__  # type: ignore[misc]  # the one that dataclasses write

    @functools.wraps(made)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not args and not kwargs:
            made(self)
            return
        hints, taken = _type_hints(pass_class), {field.name for field in option_fields(pass_class).values()}
        names = [field.name for field in dataclasses.fields(pass_class) if field.init]

        def read(name: str, value: Any) -> Any:
            try:
                return _as_option(value, hints[name]) if name in taken else value
            except ValueError as error:
                key = option_name(name)
                raise OptionError(f"pass '{getattr(pass_class, 'name', '')}': option '{key}' {error}") from None

        by_place = [read(*pair) for pair in zip(names, args, strict=False)]
        made(self, *by_place, *args[len(by_place) :], **{name: read(name, kwarg) for name, kwarg in kwargs.items()})

    pass_class.__init__ = __init__  # type: ignore[misc]


def _as_option(value: object, hint: object) -> Any:
    """Convert an argument for a field: lists to tuples, and text unless the field is text."""
    kind = hint
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        kind = kinds[0] if len(kinds) == 1 else str
    if (is_tuple := typing.get_origin(kind) is tuple) and isinstance(value, list):
        return tuple(value)
    return parse_value(value, hint) if isinstance(value, str) and (is_tuple or kind in (bool, int, float)) else value


@functools.cache
def _type_hints(pass_class: type) -> dict[str, object]:
    return typing.get_type_hints(pass_class)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def parse_value(text: str | None, hint: object) -> Any:
    """Parse an option's text for its field's type. Raise ValueError with the expected form."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        return None if text == "none" and len(inner) < len(args) else parse_value(text, inner[0])
    if hint is bool:
        return _parse_bool(text)
    if text is None:
        raise ValueError(f"needs a value: {describe_type(hint)}")
    if origin is typing.Literal:
        if text not in args:
            raise ValueError(f"expects {describe_type(hint)}, got '{text}'{suggest(text, args)}")
        return text
    if origin is tuple:
        return tuple(parse_value(item, args[0]) for item in split_list(text))
    if origin in (dict, Mapping) or hint is dict:
        return _parse_mapping(text, hint)
    return _parse_number(text, hint) if hint in (int, float) else text


def _parse_bool(text: str | None) -> bool:
    if text is None or text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(f"expects true or false, got '{text}'")


def _parse_number(text: str, hint: object) -> int | float:
    try:
        return int(text, 0) if hint is int else float(text)
    except ValueError:
        raise ValueError(f"expects {describe_type(hint)}, got '{text}'") from None


def _parse_mapping(text: str, hint: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in text.split(","):
        key, colon, value = (part.strip() for part in item.partition(":"))
        if key in found and colon:
            raise ValueError(f"names '{key}' twice")
        if colon:
            found[key] = value
        elif key and found:
            # A value may be a list: a:b,c.
            last = next(reversed(found))
            found[last] += f",{key}"
        elif key:
            raise ValueError(f"expects {describe_type(hint)}, got '{text}'")
    return found


def describe_type(hint: Any) -> str:
    """Return a description of an option's type, for help and errors."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join("none" if arg is type(None) else describe_type(arg) for arg in args)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, args))
    if origin is tuple:
        return f"a list of {describe_type(args[0]).removeprefix('an ').removeprefix('a ')}s"
    if origin in (dict, Mapping) or hint is dict:
        return "pairs like a:b,c:d"
    return {int: "an integer", float: "a number", bool: "true or false", str: "text"}.get(hint, str(hint))


def format_value(value: object) -> str:
    return quoted(_plain_text(value))


def _plain_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(_plain_text, value))
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{item}" for key, item in value.items())
    return "none" if value is None else str(value)


def quoted(text: str) -> str:
    """Quote a text if it would not be read as a single option word."""
    if not any(char.isspace() or char in "\"'{}[]()" for char in text):
        return text
    quote = "'" if '"' in text else '"'
    return quote + text + quote


def format_options(instance: object) -> str:
    """Return `{opt=1}` with the options that differ from their defaults, or an empty string."""
    shown = []
    for key, field in option_fields(type(instance)).items():
        value = getattr(instance, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if value != default:
            shown.append(f"{key}={format_value(value)}")
    return "{" + " ".join(shown) + "}" if shown else ""
