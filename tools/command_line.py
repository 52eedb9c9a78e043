# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines against tables of options, for the tools that have no passes as flags. Needs no MLIR."""

from __future__ import annotations

import os
import re
import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from ..bindings.errors import RelaxError
from ..bindings.suggest import suggest

_COLUMN = 34
_NARROWEST = 40  # of a terminal that says something else, nobody can read a table
_WIDTH = 66
_LARGEST_NUMBER = 2**31 - 1


class Option(NamedTuple):
    """`kind`: "flag", "text", "number", "decimal", "list" (may be given several times), "level" (-O3: a letter and a
    digit)."""

    kind: str
    group: str
    help: str
    value: str = "value"
    default: Any = None
    #: The values that a text may have; all if there are none.
    choices: tuple[str, ...] = ()


#: What every tool has.
COMMON_OPTIONS = {
    "traceback": Option("flag", "Information", "print Python's traceback with an error", default=False),
    "version": Option("flag", "Information", "print the versions", default=False),
    "help": Option("flag", "Information", "print this help", default=False),
}


class Arguments:
    """A parsed command line: each option's value by its name, and what is no option."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        self.values: dict[str, Any] = {name: option.default for name, option in options.items()}
        self.files: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def parse_arguments(argv: Sequence[str], options: Mapping[str, Option]) -> Arguments:
    """Raises RelaxError that names the argument at fault. Options may be written with one or two dashes."""
    parsed = Arguments(options)
    rest = list(argv)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            parsed.files += rest
            break
        if argument == "-" or not argument.startswith("-"):
            parsed.files.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        given = value if equals else None
        if name not in options and name[:1] in options and options[name[:1]].kind == "level" and not equals:
            name, given = name[0], name[1:]
        if name not in options:
            raise RelaxError(f"unknown option '{argument}'{suggest(name, options)} (--help lists them)")
        parsed.values[name] = _value(name, options[name], given, rest, parsed.values[name])
    return parsed


def spelling(name: str) -> str:
    """How an option is written."""
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _value(name: str, option: Option, value: str | None, rest: list[str], previous: Any) -> Any:
    if option.kind == "flag":
        if value not in (None, "true", "false", "1", "0"):
            raise RelaxError(f"option {spelling(name)} expects true or false, got '{value}'")
        return value in (None, "true", "1")
    if value is None:
        if not rest:
            raise RelaxError(f"option {spelling(name)} needs a value: {_usage(name, option)}")
        value = rest.pop(0)
    if option.choices and value not in option.choices:
        hint = suggest(value, option.choices)
        raise RelaxError(f"option {spelling(name)} expects one of {', '.join(option.choices)}, got '{value}'{hint}")
    if option.kind == "list":
        return [*(previous or ()), value]
    if option.kind in ("number", "level"):
        return _number(name, value)
    return _decimal(name, value) if option.kind == "decimal" else value


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > _LARGEST_NUMBER:
        raise RelaxError(f"option {spelling(name)} expects a number from 0 to {_LARGEST_NUMBER}, got '{text}'")
    return int(text)


def _decimal(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise RelaxError(f"option {spelling(name)} expects a number that is not negative, got '{text}'")
    return value


def _usage(name: str, option: Option) -> str:
    if option.kind == "flag":
        return spelling(name)
    if option.kind == "level":
        return f"-{name}<{option.value}>"
    return f"{spelling(name)}{' ' if len(name) == 1 else '='}<{option.value}>"


def help_text(head: Sequence[str], options: Mapping[str, Option]) -> str:
    """The text of --help: its first lines, then the options by groups."""
    lines = list(head)
    for group in dict.fromkeys(option.group for option in options.values()):
        lines += ["", f"{group}:"]
        for name, option in options.items():
            if option.group == group:
                lines += _row(f"  {_usage(name, option)}", option.help)
    return "\n".join(lines) + "\n"


def _row(left: str, right: str) -> list[str]:
    wrapped = textwrap.wrap(right, _WIDTH)
    rows = [" " * _COLUMN + line for line in wrapped]
    if len(left) < _COLUMN - 1:
        return [left.ljust(_COLUMN) + wrapped[0], *rows[1:]]
    return [left, *rows]


def reporting_errors(
    name: str, work: Callable[[], int], stderr: TextIO, expected: Sequence[type[Exception]], show_traceback: bool
) -> int:
    """The exit code of a tool's work. `expected` exceptions are errors of one line; so are others, which are bugs."""
    try:
        try:
            return work()
        except tuple(expected) as error:
            failure: BaseException = error
            told = error_text(name, error)
        except MemoryError as error:
            failure, told = error, f"{name}: error: out of memory\n"
        except (Exception, SystemExit) as error:  # a bug of ours: users get a line, not a traceback
            hint = "" if show_traceback else " (--traceback shows where)"
            failure, told = error, f"{name}: error: internal error: {type(error).__name__}: {error}{hint}\n"
        stderr.write(told)
        if show_traceback:
            stderr.write("".join(traceback.format_exception(failure)))
    except OSError:
        pass  # the error could not be written
    return 1


def error_text(name: str, error: Exception) -> str:
    """The error on a line, its notes on others."""
    if not isinstance(error, RelaxError):
        return f"{name}: error: {error}\n"
    place = f"{error.location}: " if error.location else ""
    lines = [f"{name}: error: {place}{error.message}", *(f"{name}: note: {note}" for note in error.notes)]
    return "\n".join(lines) + "\n"


def write_text(stream: TextIO, text: str) -> None:
    """Writes to standard output. Raises RelaxError; nothing is wrong where the reader has seen enough."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        raise RelaxError(f"cannot write to standard output: {error.strerror}") from None


def terminal_width(stream: TextIO) -> int | None:
    """The columns that a table may have: a terminal's; None for a pipe or a file, where it is not to be cut."""
    if not stream.isatty():
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(columns, _NARROWEST) if columns else None


def parse_shapes(texts: Sequence[str] | None, *, unknown: bool) -> dict[str, Any]:
    """--shape x:1,3,224,224 as sizes by input; with `unknown`, `?` and names are sizes that only the run tells.

    Then also xs:[(2,3),(?,3)], a list of shapes for the tensors of a sequence, and x:- for an optional that is left
    out: None.
    """
    shapes: dict[str, Any] = {}
    for text in texts or ():
        name, colon, sizes = text.rpartition(":")
        if not colon or not name:
            raise RelaxError(f"option --shape expects input:size,size,..., got '{text}'")
        if name in shapes:
            raise RelaxError(f"option --shape: input '{name}' is given twice")
        shapes[name] = _shape(sizes.strip(), text, unknown)
    return shapes


_LISTED = r"\(([^()]*)\)|\?"  # a shape in a list; `?`: the one that the model tells


def _shape(text: str, whole: str, unknown: bool) -> Any:
    if text == "-" and unknown:
        return None
    if not text.startswith("["):
        return _sizes(text, whole, unknown)
    if not unknown:
        raise RelaxError(f"option --shape: '{whole}': the tensors of a list are named x.0, x.1 and so on")
    if not re.fullmatch(rf"\[((?:{_LISTED})(,\s*(?:{_LISTED}))*)?\]", text):
        raise RelaxError(f"option --shape: expected a list of shapes as xs:[(2,3),(?,3)], got '{whole}'")
    found = re.finditer(_LISTED, text)
    return [None if each[0] == "?" else _sizes(each[1], whole, unknown) for each in found]


def _sizes(text: str, whole: str, unknown: bool) -> tuple[int | str | None, ...]:
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    return tuple(_size(word, whole, unknown) for word in words)


def _size(word: str, text: str, unknown: bool) -> int | str | None:
    if word.isascii() and word.isdecimal() and len(word) < 19:
        return int(word)
    if not unknown:
        raise RelaxError(f"option --shape: '{word}' in '{text}' is no size: expected a number")
    if word == "?":
        return None
    if not (word.isascii() and word.isidentifier()):
        raise RelaxError(f"option --shape: '{word}' in '{text}' is no size: expected a number, ? or a name")
    return word
