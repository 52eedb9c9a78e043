# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's diagnostics as plain data: collection, and printing in mlir-opt's format."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NamedTuple

from ..support.callbacks import callback, fragile
from ..support.context import holding
from ..support.errors import RelaxError
from ..support.importing import is_own_module
from .ir import Context, Location, MlirDiagnostic
from .mlir import ir, is_not_utf8, readable

_WIDEST_LINE = 200
#: Standard library modules that can appear between this project's frames.
_BETWEEN = frozenset({"contextlib", "functools", "threading"})


class Diagnostic(NamedTuple):
    """Diagnostic message. `line` and `column` count from 1, and are 0 if the location has none."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    name: str = ""
    notes: tuple[Diagnostic, ...] = ()

    @property
    def place(self) -> str:
        """Return `file:line:column`, preceded by the location's name (such as an ONNX node's) if it has one."""
        place = place_text(self.file, self.line, self.column) if self.file else ""
        name = f'"{self.name}"' if self.name else ""
        return f"{name} at {place}" if name and place else name or place or "<unknown>:0"


def place_text(file: str, line: int, column: int) -> str:
    """Format a location. A line of a user's program has no column."""
    return f"{file}:{line}:{column}" if column or not line else f"{file}:{line}"


def made_at(what: str, location: Location) -> str:
    """Return as much as is known of `relax.take "node" at model.onnx:3:1`."""
    file, line, column, node = locate(location)
    place = f"at {place_text(file, line, column)}" if line else ""
    return " ".join(part for part in (what, f'"{node}"' if node else "", place) if part)


def from_mlir(diagnostic: MlirDiagnostic) -> Diagnostic:
    """Copy a diagnostic, which MLIR frees after the handler has returned."""
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
    """Return an error diagnostic at a location, with notes at the same location."""
    file, line, column, name = locate(location)
    as_notes = tuple(Diagnostic("note", note, file, line, column) for note in notes)
    return Diagnostic("error", message, file, line, column, name, as_notes)


def locate(location: Location) -> tuple[str, int, int, str]:
    """Return file, line, column and name of a location. Unknown parts are empty or 0."""
    name = ""
    # The limit bounds the nesting of fused and call-site locations, which can be arbitrarily deep.
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
    """Origin of an operation: a model's node with its operator if known, or `file:1:2`."""

    name: str
    operator: str = ""


def origins(location: Location, depth: int = 64) -> list[Origin]:
    """Return all origins that a location names, in order. A fused location can name several."""
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
    """Extract the file or name from a location's text. The bindings' own properties abort if the name is not UTF-8."""
    if (match := _QUOTED.search(str(location))) is None:
        return ""
    # An escaped byte has two hexadecimal digits, and an escaped backslash is two backslashes.
    name = _ESCAPED.sub(lambda code: b"\\" if code[1] == b"\\" else bytes.fromhex(code[1].decode()), match[1].encode())
    return name.decode("utf-8", "backslashreplace")


_reporter: ContextVar[Callable[[Diagnostic], None] | None] = ContextVar("reporter", default=None)


def reporting(report: Callable[[Diagnostic], None]) -> AbstractContextManager[None]:
    """Send unhandled diagnostics, mostly warnings and remarks, of contexts created inside to `report`."""
    return holding(_reporter, report)


class PassWarning(RuntimeWarning):
    """Warning of a pass, issued if diagnostics are not collected."""


_noted: ContextVar[list[Diagnostic] | None] = ContextVar("noted", default=None)


def noting_warnings(warnings: list[Diagnostic]) -> AbstractContextManager[None]:
    """Append the warnings of passes to a list inside the `with` statement. The warnings are also issued as usual."""
    return holding(_noted, warnings)


def warn(message: str, location: Location) -> None:
    """Issue a warning to the enclosing `reporting`, or as a Python warning."""
    warn_again(error_at(location, message)._replace(severity="warning"))


def warn_at(place: str, message: str) -> None:
    """Issue a warning at a place, `file:line:column`. A text of another form is the name of a file."""
    file, *position = place.rsplit(":", 2)
    if len(position) == 2 and all(map(str.isdecimal, position)):
        warn_again(Diagnostic("warning", message, file, line=int(position[0]), column=int(position[1])))
    else:
        warn_again(Diagnostic("warning", message, place))


def warn_again(diagnostic: Diagnostic) -> None:
    """Repeat a warning in the way `warn` has issued it."""
    report, noted = _reporter.get(), _noted.get()
    if noted is not None:
        noted.append(diagnostic)
    if report is not None:
        report(diagnostic)
    else:
        warnings.warn(f"{diagnostic.place}: {diagnostic.message}", PassWarning, stacklevel=_depth_of_caller())


def _depth_of_caller() -> int:
    """Return the `stacklevel` of the first caller outside this project: internal lines do not help users."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and (is_own_module(name := _module_of(frame)) or name in _BETWEEN):
        frame, depth = frame.f_back, depth + 1
    return depth


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def attach_reporter(context: Context) -> None:
    """Connect a new context to the enclosing `reporting`. Without one, MLIR prints to stderr."""
    if (report := _reporter.get()) is not None:
        context.attach_diagnostic_handler(
            callback(failed=True)(lambda diagnostic: report(from_mlir(diagnostic)) or True)
        )


@contextmanager
@fragile
def errors_as_relax_error(
    context: Context, what: str, kind: type[RelaxError] = RelaxError
) -> Iterator[list[Diagnostic]]:
    """Turn MLIR's exceptions into a RelaxError of a kind, with all errors reported inside.

    Yields the list of errors so far. Warnings and remarks pass on to other handlers.
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
        diagnostics = errors or [from_mlir(info) for info in error.error_diagnostics]
        raise failure(what, diagnostics or [Diagnostic("error", error.message)], kind) from None
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
    """Discard diagnostics inside, for checks that may fail."""
    handler = context.attach_diagnostic_handler(lambda diagnostic: True)
    try:
        yield
    finally:
        handler.detach()


def failure(what: str, errors: list[Diagnostic], kind: type[RelaxError] = RelaxError) -> RelaxError:
    """Return an exception for a failed step, with the first error as its message."""
    if not errors:
        return kind(what)
    more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
    return kind(f"{what}: {errors[0].message}{more}", location=errors[0].place, diagnostics=errors)


def render(diagnostic: Diagnostic, sources: Mapping[str, str], *, colored: bool = False) -> str:
    """Format a diagnostic like mlir-opt: `file:line:col: error: message`, the source line, a caret."""
    named = f' ["{diagnostic.name}"]' if diagnostic.name else ""
    place = place_text(diagnostic.file, diagnostic.line, diagnostic.column) if diagnostic.line else diagnostic.file
    severity = f"{diagnostic.severity}:"
    shown = _color(severity, _COLORS.get(diagnostic.severity, _BOLD)) if colored else severity
    first = f"{place or '<unknown>:0'}: {shown} {diagnostic.message}{named}"
    lines = _source_lines(diagnostic, sources)
    if colored and lines:
        lines[-1] = _color(lines[-1], _GREEN)
    return "\n".join([first, *lines, *(render(note, sources, colored=colored) for note in diagnostic.notes)])


_BOLD, _GREEN = "1", "1;32"
_COLORS = {"error": "1;31", "warning": "1;35", "remark": "1;34", "note": "1;36"}


def _color(text: str, code: str) -> str:
    """Add terminal escape codes for a color."""
    return f"\033[{code}m{text}\033[0m"


def with_file_name(diagnostic: Diagnostic, name: str) -> Diagnostic:
    """Replace the file name "-", which MLIR uses for text without a file, by `name`."""
    file = name if diagnostic.file == "-" else diagnostic.file
    return diagnostic._replace(file=file, notes=tuple(with_file_name(note, name) for note in diagnostic.notes))


def _source_lines(diagnostic: Diagnostic, sources: Mapping[str, str]) -> list[str]:
    if (source := sources.get(diagnostic.file)) is None or diagnostic.line < 1:
        return []
    text = source.split("\n")
    if diagnostic.line > len(text):
        return []
    line = text[diagnostic.line - 1]
    start = max(diagnostic.column - 1, 0)
    if len(line) > _WIDEST_LINE:
        # Constants and one-line modules can have megabytes: show only the part around the column.
        first = max(min(start, len(line)) - _WIDEST_LINE // 2, 0)
        line, start = line[first : first + _WIDEST_LINE], start - first
    # Tabs are kept so that the caret is below its column for any tab width.
    padding = "".join("\t" if char == "\t" else " " for char in line[:start])
    return [line, padding + "^"]
