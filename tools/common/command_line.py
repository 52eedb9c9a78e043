# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines by tables of options, help texts, and error reports, alike in all tools. Needs no MLIR."""

from __future__ import annotations

import os
import re
import textwrap
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO, TypeAlias, TypeVar

from ...support.errors import OptionError, RelaxError
from ...support.plugins import plugin_problems
from ...support.suggest import nearest, suggest
from .guard import doing

_COLUMN = 34
_NARROWEST = 40  # smaller widths are ignored, because no table would be legible
_WIDTH = 100
_LARGEST_NUMBER = 2**31 - 1
_Shape = TypeVar("_Shape")


class Option(NamedTuple):
    """An option. `kind` is one of these:

    - "flag": true or false
    - "text", "number", "decimal"
    - "list": may be given several times
    - "names": a list that commas separate
    - "level": a letter and a digit (-O3)
    """

    kind: str
    group: str
    help: str
    value: str = "value"
    default: object = None
    #: Allowed values of a text. Empty for any.
    choices: tuple[str, ...] = ()
    #: Value of an option that is given without one. None if a value is required.
    bare: str | None = None


SHELLS = ("bash", "zsh", "fish")
#: Other spellings of options.
_SHORT = {"h": "help"}
#: Names that other compilers use for the optimization level, for hints.
_LEVELS = {"opt-level": "O", "optimization-level": "O", "optimize": "O"}
#: Options of every tool.
COMMON_OPTIONS = {
    "print-completion": Option(
        "text", "Information", "print a script for a shell to evaluate, for completion of options by the tab key",
        "|".join(SHELLS), choices=SHELLS,
    ),
    "traceback": Option("flag", "Information", "print Python's traceback behind an error", default=False),
    "version": Option("flag", "Information", "print the versions of this project and of MLIR", default=False),
    "help": Option("flag", "Information", "print this text", default=False),
}  # fmt: skip


def plugin_option(group: str, registered: str) -> Option:
    """Return the option --load-plugin for plug-ins that register these things."""
    doc = f"import this Python module or file first, to register {registered}; repeatable"
    return Option("list", group, doc, "module")


#: Options of all tools that only print information.
INFORMATION = ("help", "version", "print-completion")


class Arguments:
    """A parsed command line: values of options by name, and positional arguments."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        self.values: dict[str, Any] = {name: option.default for name, option in options.items()}
        self.files: list[str] = []
        #: Passes given as flags, with their options: `a`, `a{b=1}`.
        self.passes: list[str] = []
        #: True if the tool itself chose the output's name.
        self.is_output_chosen = False

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def asks(self) -> bool:
        """Check whether the tool only has to print information."""
        return any(self.values[name] for name in INFORMATION)


def parse_arguments(
    argv: Sequence[str],
    options: Mapping[str, Option],
    *,
    is_pass: Callable[[str], bool] = lambda name: False,
    pass_names: Callable[[], Iterable[str]] = tuple,
    tool_with: Callable[[str], str] = lambda name: "",
) -> Arguments:
    """Parse a command line. Options may be written with one or two dashes. Raise RelaxError that names the wrong
    argument.

    If a tool runs passes, passes are flags that take their options as value. `tool_with` names another tool that has an
    option, for the error.
    """
    parsed = Arguments(options)
    rest = list(argv)
    while rest:
        if (argument := rest.pop(0)) == "--":
            parsed.files += rest
            break
        if argument == "-" or not argument.startswith("-"):
            parsed.files.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        name = _SHORT.get(name, name)
        given = value if equals else None
        if name not in options and name[:1] in options and options[name[:1]].kind == "level" and not equals:
            name, given = name[0], name[1:]
        if name in options:
            parsed.values[name] = _value(name, options[name], given, rest, parsed.values[name])
        elif is_pass(name):
            # The wheel's own tools take a pass's options as the flag's value, too.
            parsed.passes.append(f"{name}{{{given}}}" if given else name)
        else:
            hint = _hint(name, value, options, pass_names, tool_with(name))
            raise OptionError(f"unknown option '{argument}'{hint} (--help lists them)", notes=plugin_problems())
    return parsed


def _hint(
    name: str, value: str, options: Mapping[str, Option], pass_names: Callable[[], Iterable[str]], tool: str
) -> str:
    """Return the end of the error about an unknown option."""
    if tool:
        return f"; {tool} has it"
    levels = {key: short for key, short in _LEVELS.items() if short in options}
    level = levels.get(nearest(name, [*options, *levels]) or "")
    return f"; did you mean '-{level}{value}'?" if level else suggest(name, [*options, *pass_names()])


def parse_one(
    argv: Sequence[str],
    options: Mapping[str, Option],
    expected: str,
    check: Callable[[Arguments], None] = lambda arguments: None,
) -> Arguments:
    """Parse the command line of a tool for one file.

    `check` raises RelaxError, and is skipped for information options.
    """
    arguments = parse_arguments(argv, options)
    if arguments.asks:
        return arguments
    if len(arguments.files) != 1:
        raise OptionError(f"expected {expected}, got {', '.join(arguments.files) or 'none'}")
    check(arguments)
    return arguments


def refuse_together(arguments: Arguments, *names: str) -> None:
    """Raise RelaxError if more than one of these options is given."""
    given = [spelling(name) for name in names if arguments[name]]
    if len(given) > 1:
        raise OptionError(f"{given[0]} and {given[1]} exclude each other")


def spelling(name: str) -> str:
    """Return an option as it is typed."""
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _value(name: str, option: Option, value: str | None, rest: list[str], previous: list[str] | None) -> object:
    if option.kind == "flag":
        if value not in (None, "true", "false", "1", "0"):
            raise OptionError(f"option {spelling(name)} expects true or false, got '{value}'")
        return value in (None, "true", "1")
    if value is None and option.bare is not None:
        return option.bare
    if value is None:
        if not rest:
            raise OptionError(f"option {spelling(name)} needs a value: {_usage(name, option)}")
        value = rest.pop(0)
    if option.choices and value not in option.choices:
        hint = suggest(value, option.choices)
        raise OptionError(f"option {spelling(name)} expects one of {', '.join(option.choices)}, got '{value}'{hint}")
    if option.kind == "list":
        return [*(previous or ()), value]
    if option.kind == "names":
        return [*(previous or ()), *filter(None, value.split(","))]
    if option.kind in ("number", "level"):
        return _number(name, value)
    return _decimal(name, value) if option.kind == "decimal" else value


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > _LARGEST_NUMBER:
        raise OptionError(f"option {spelling(name)} expects a number from 0 to {_LARGEST_NUMBER}, got '{text}'")
    return int(text)


def _decimal(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise OptionError(f"option {spelling(name)} expects a number that is not negative, got '{text}'")
    return value


def _usage(name: str, option: Option) -> str:
    if option.kind == "flag":
        short = "".join(f"-{letter}, " for letter, long in _SHORT.items() if long == name)
        return f"{short}{spelling(name)}{'=false' if option.default else ''}"
    if option.kind == "level":
        return f"-{name}<{option.value}>"
    if option.bare is not None:
        return f"{spelling(name)}[=<{option.value}>]"
    return f"{spelling(name)}{' ' if len(name) == 1 else '='}<{option.value}>"


def help_text(head: Sequence[str], options: Mapping[str, Option], column: int = _COLUMN) -> str:
    """Return the text of --help: its first lines, then the options by groups."""
    lines = list(head)
    for group in dict.fromkeys(option.group for option in options.values()):
        lines += ["", f"{group}:"]
        for name, option in options.items():
            if option.group == group:
                lines += option_rows(name, option, column)
    return "\n".join(lines) + "\n"


def option_rows(name: str, option: Option, column: int) -> list[str]:
    """Return the rows of an option in the help text."""
    return help_row(f"  {_usage(name, option)}", option.help, column)


def help_row(left: str, right: str, column: int) -> list[str]:
    """Return the lines of a help row. The right side begins at a column."""
    wrapped = textwrap.wrap(right, _WIDTH - column, break_on_hyphens=False)
    rows = [" " * column + line for line in wrapped]
    return [left.ljust(column) + wrapped[0], *rows[1:]] if len(left) < column and wrapped else [left, *rows]


def reporting_errors(name: str, work: Callable[[], int], stderr: TextIO, show_traceback: bool) -> int:
    """Run a tool's work and return the exit code.

    Work raises RelaxError. Any other exception is a bug, reported in one line.
    """
    try:
        try:
            return work()
        except RelaxError as error:
            failure: BaseException = error
            text = error_text(name, error)
        except MemoryError as error:
            failure, text = error, f"{name}: error: out of memory{doing()}\n"
        except BrokenPipeError:
            return 1  # the reader is gone
        # a bug of this project or a plug-in: users see one line instead of a traceback
        except (Exception, SystemExit) as error:
            hint = "" if show_traceback else " (--traceback shows where)"
            what = f"{type(error).__name__}: {error}{hint}"
            failure, text = error, f"{name}: error: internal error{doing()}: {what}\n"
        stderr.write(text)
        if show_traceback:
            stderr.write("".join(traceback.format_exception(failure)))
    except OSError:
        pass  # the error could not be written
    return 1


def error_text(name: str, error: RelaxError) -> str:
    """Return the error on one line, with notes on further lines."""
    place = f"{error.location}: " if error.location else ""
    lines = [f"{name}: error: {place}{error.message}", *(f"{name}: note: {note}" for note in error.notes)]
    return "\n".join(lines) + "\n"


def write_text(stream: TextIO, text: str) -> None:
    """Write to standard output. A closed pipe is no error. Raise RelaxError."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        raise OptionError(f"cannot write to standard output: {error.strerror}") from None


def plugin_warnings(name: str) -> str:
    """Return warnings about installed packages that a listing lacks."""
    return "".join(f"{name}: warning: {problem}\n" for problem in plugin_problems())


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of a terminal, or None for a pipe or a file, where tables are not cut."""
    if not stream.isatty():
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(columns, _NARROWEST) if columns else None


def make_folder(option: str, folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{option}: cannot make folder '{folder}': {error.strerror}") from None


def parse_shapes(texts: Sequence[str] | None, read: Callable[[str, str], _Shape]) -> dict[str, _Shape]:
    """Parse --shape x:1,3,224,224 into sizes by input. `read` is known_shape or model_shape."""
    shapes: dict[str, _Shape] = {}
    for text in texts or ():
        name, colon, sizes = text.rpartition(":")
        if not colon or not name:
            raise OptionError(f"option --shape expects input:size,size,..., got '{text}'")
        if name in shapes:
            raise OptionError(f"option --shape: input '{name}' is given twice")
        shapes[name] = read(sizes.strip(), text)
    return shapes


def known_shape(text: str, whole: str) -> tuple[int, ...]:
    """Parse static sizes. `whole` is the option's value."""
    if text.startswith("["):
        raise OptionError(f"option --shape: '{whole}': the tensors of a list are named x.0, x.1 and so on")
    return tuple(_number_of(word, whole, "a number") for word in _words(text))


_LISTED = r"\(([^()]*)\)|\?"  # a shape in a list, or `?` for the model's own
_Sizes: TypeAlias = "tuple[int | str | None, ...]"


def model_shape(text: str, whole: str) -> _Sizes | list[_Sizes | None] | None:
    """Parse static or dynamic sizes: numbers, `?` and names.

    A list of shapes [(2,3),(?,3)] describes the tensors of a sequence. `-` is an absent optional value: None.
    """
    if text == "-":
        return None
    if not text.startswith("["):
        return _sizes(text, whole)
    if not re.fullmatch(rf"\[((?:{_LISTED})(,\s*(?:{_LISTED}))*)?\]", text):
        raise OptionError(f"option --shape: expected a list of shapes as xs:[(2,3),(?,3)], got '{whole}'")
    return [None if match[0] == "?" else _sizes(match[1], whole) for match in re.finditer(_LISTED, text)]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")] if text.strip() else []


def _sizes(text: str, whole: str) -> _Sizes:
    return tuple(_size(word, whole) for word in _words(text))


def _size(word: str, whole: str) -> int | str | None:
    if word == "?":
        return None
    return word if word.isascii() and word.isidentifier() else _number_of(word, whole, "a number, ? or a name")


def _number_of(word: str, whole: str, expected: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 19):
        raise OptionError(f"option --shape: '{word}' in '{whole}' is no size: expected {expected}")
    return int(word)
