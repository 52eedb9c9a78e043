# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's diagnostics as plain data: collected while something runs, printed as mlir-opt prints them."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ..support.callbacks import callback, fragile
from ..support.context import holding
from ..support.errors import RelaxError
from .ir import Context, Location, MlirDiagnostic
from .mlir import ir, is_not_utf8, readable

_WIDEST_LINE = 200
#: This project, and what is between functions of it.
_INSIDE = frozenset({__name__.partition(".")[0], "contextlib", "functools", "threading"})


class Diagnostic(NamedTuple):
    """One message. `line` and `column` count from 1; 0 where the location does not say."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    name: str = ""
    notes: tuple[Diagnostic, ...] = ()

    @property
    def place(self) -> str:
        """`file:line:column`, with the name (an ONNX node's, say) where the location has one."""
        place = place_text(self.file, self.line, self.column) if self.file else ""
        name = f'"{self.name}"' if self.name else ""
        return f"{name} at {place}" if name and place else name or place or "<unknown>:0"


def place_text(file: str, line: int, column: int) -> str:
    """A line of a program has no column."""
    return f"{file}:{line}:{column}" if column or not line else f"{file}:{line}"


def made_at(what: str, location: Location) -> str:
    """`relax.take "node" at model.onnx:3:1`, as much of it as is known."""
    file, line, column, node = locate(location)
    place = f"at {place_text(file, line, column)}" if line else ""
    return " ".join(part for part in (what, f'"{node}"' if node else "", place) if part)


def from_mlir(diagnostic: MlirDiagnostic) -> Diagnostic:
    """Copies what a handler gets, which MLIR frees after the handler returns."""
    file, line, column, name = locate(diagnostic.location)
    return Diagnostic(
        diagnostic.severity.name.lower(),
        readable(lambda: diagnostic.message),
        file,
        line,
        column,
        name,
        tuple(from_mlir(note) for note in diagnostic.notes),
    )


def error_at(location: Location, message: str, notes: Iterable[str] = ()) -> Diagnostic:
    """An error at a location, with notes that stand there too."""
    file, line, column, name = locate(location)
    as_notes = tuple(Diagnostic("note", note, file, line, column) for note in notes)
    return Diagnostic("error", message, file, line, column, name, as_notes)


def locate(location: Location) -> tuple[str, int, int, str]:
    """File, line, column and name of a location; empty and 0 for what it does not tell."""
    name = ""
    # Bounded, because fused and call-site locations nest as deep as whoever made them liked.
    for _ in range(64):
        if isinstance(location, ir.FileLineColLoc):
            return _quoted_name(location), location.start_line, location.start_col, name
        if isinstance(location, ir.NameLoc):
            name = name or _quoted_name(location)
            location = location.child_loc
        elif isinstance(location, ir.CallSiteLoc):
            location = location.callee
        elif isinstance(location, ir.FusedLoc) and location.locations:
            location = next((part for part in location.locations if locate(part)[0]), location.locations[0])
        else:
            break
    return "", 0, 0, name


class Origin(NamedTuple):
    """Where an operation comes from: a model's node with its operator, where the location says, or `file:1:2`."""

    name: str
    operator: str = ""


def origins(location: Location, depth: int = 64) -> list[Origin]:
    """What a location names, in its order; a fused one names several."""
    if depth == 0:
        return []
    if isinstance(location, ir.FusedLoc):
        parts = [origin for part in location.locations for origin in origins(part, depth - 1)]
        return list(dict.fromkeys(parts))
    if isinstance(location, ir.CallSiteLoc):
        return origins(location.callee, depth - 1)
    if isinstance(location, ir.NameLoc):
        child = location.child_loc
        return [Origin(_quoted_name(location), _quoted_name(child) if isinstance(child, ir.NameLoc) else "")]
    if isinstance(location, ir.FileLineColLoc):
        return [Origin(place_text(_quoted_name(location), location.start_line, location.start_col))]
    return []


_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(rb"\\([0-9A-F]{2}|\\)")


def _quoted_name(location: Location) -> str:
    """The file or name of a location, out of its text: the bindings' own properties abort when it is not UTF-8."""
    match = _QUOTED.search(str(location))
    if match is None:
        return ""
    # A letter's code is two digits, a backslash is two backslashes.
    name = _ESCAPED.sub(lambda code: b"\\" if code[1] == b"\\" else bytes.fromhex(code[1].decode()), match[1].encode())
    return name.decode("utf-8", "backslashreplace")


_reporter: ContextVar[Callable[[Diagnostic], None] | None] = ContextVar("reporter", default=None)


def reporting(report: Callable[[Diagnostic], None]) -> AbstractContextManager[None]:
    """Contexts created inside give `report` what is not handled otherwise: warnings and remarks, mostly."""
    return holding(_reporter, report)


class PassWarning(RuntimeWarning):
    """What a pass warns of, where diagnostics are not collected."""


_noted: ContextVar[list[Diagnostic] | None] = ContextVar("noted", default=None)


def noting_warnings(warnings: list[Diagnostic]) -> AbstractContextManager[None]:
    """Append the warnings that passes give inside to a list; they are given all the same."""
    return holding(_noted, warnings)


def warn(message: str, location: Location) -> None:
    """A warning: for the `reporting` around, else Python's own."""
    warn_again(error_at(location, message)._replace(severity="warning"))


def warn_again(diagnostic: Diagnostic) -> None:
    """Give a warning that was given before, as `warn` gave it."""
    report, noted = _reporter.get(), _noted.get()
    if noted is not None:
        noted.append(diagnostic)
    if report is not None:
        report(diagnostic)
    else:
        warnings.warn(f"{diagnostic.place}: {diagnostic.message}", PassWarning, stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """Of who called this project, for `stacklevel` of the function that asks: its own line is of no use to users."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _INSIDE:
        frame, depth = frame.f_back, depth + 1
    return depth


def attach_reporter(context: Context) -> None:
    """Connects a new context to the `reporting` around, if there is one; else MLIR prints to stderr."""
    report = _reporter.get()
    if report is not None:
        context.attach_diagnostic_handler(
            callback(failed=True)(lambda diagnostic: report(from_mlir(diagnostic)) or True)
        )


@contextmanager
@fragile
def errors_as_relax_error(
    context: Context, what: str, kind: type[RelaxError] = RelaxError
) -> Iterator[list[Diagnostic]]:
    """Turns MLIR's exceptions into a RelaxError, of a kind, that carries every error reported on the way.

    Yields the list of errors so far. Warnings and remarks go on to whoever else listens.
    """
    errors: list[Diagnostic] = []

    @callback(failed=True)
    def handle(diagnostic: MlirDiagnostic) -> bool:
        if diagnostic.severity != ir.DiagnosticSeverity.ERROR:
            return False
        errors.append(from_mlir(diagnostic))
        return True

    previous = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(handle)
    try:
        yield errors
    except ir.MLIRError as error:
        found = errors or [from_mlir(info) for info in error.error_diagnostics]
        raise failure(what, found or [Diagnostic("error", error.message)], kind) from None
    except (RuntimeError, UnicodeDecodeError) as error:
        if not is_not_utf8(error):
            raise
        reason = Diagnostic("error", "a string that is needed as text is not UTF-8")
        raise failure(what, errors or [reason], kind) from None
    finally:
        handler.detach()
        context.emit_error_diagnostics = previous


@contextmanager
@fragile
def silenced(context: Context) -> Iterator[None]:
    """What is reported inside is dropped: a check whose failure is an answer."""
    handler = context.attach_diagnostic_handler(lambda diagnostic: True)
    try:
        yield
    finally:
        handler.detach()


def failure(what: str, errors: list[Diagnostic], kind: type[RelaxError] = RelaxError) -> RelaxError:
    """An exception for a failed step, whose text is the first error."""
    if not errors:
        return kind(what)
    more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
    return kind(f"{what}: {errors[0].message}{more}", location=errors[0].place, diagnostics=errors)


def render(diagnostic: Diagnostic, sources: Mapping[str, str], *, colored: bool = False) -> str:
    """As mlir-opt prints it: `file:line:col: error: message`, the source line, a caret."""
    named = f' ["{diagnostic.name}"]' if diagnostic.name else ""
    place = place_text(diagnostic.file, diagnostic.line, diagnostic.column) if diagnostic.line else diagnostic.file
    severity = f"{diagnostic.severity}:"
    shown = _colored(severity, _COLORS.get(diagnostic.severity, _BOLD)) if colored else severity
    first = f"{place or '<unknown>:0'}: {shown} {diagnostic.message}{named}"
    lines = _source_lines(diagnostic, sources)
    if colored and lines:
        lines[-1] = _colored(lines[-1], _GREEN)
    return "\n".join([first, *lines, *(render(note, sources, colored=colored) for note in diagnostic.notes)])


_BOLD, _GREEN = "1", "1;32"
_COLORS = {"error": "1;31", "warning": "1;35", "remark": "1;34", "note": "1;36"}


def _colored(text: str, code: str) -> str:
    """As terminals know colors."""
    return f"\033[{code}m{text}\033[0m"


def with_file_name(diagnostic: Diagnostic, name: str) -> Diagnostic:
    """The diagnostic with `name` where MLIR wrote "-", its name for text that it knows no file of."""
    file = name if diagnostic.file == "-" else diagnostic.file
    return diagnostic._replace(file=file, notes=tuple(with_file_name(note, name) for note in diagnostic.notes))


def _source_lines(diagnostic: Diagnostic, sources: Mapping[str, str]) -> list[str]:
    source = sources.get(diagnostic.file)
    if source is None or diagnostic.line < 1:
        return []
    text = source.split("\n")
    if diagnostic.line > len(text):
        return []
    line = text[diagnostic.line - 1]
    start = max(diagnostic.column - 1, 0)
    if len(line) > _WIDEST_LINE:
        # Constants and one-line modules run to megabytes: show what is around the column.
        first = max(min(start, len(line)) - _WIDEST_LINE // 2, 0)
        line, start = line[first : first + _WIDEST_LINE], start - first
    # Tabs stay, so that the caret stands below its column whatever a terminal makes of them.
    padding = "".join("\t" if char == "\t" else " " for char in line[:start])
    return [line, padding + "^"]
