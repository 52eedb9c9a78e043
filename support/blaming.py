# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source locations and exceptions of functions that other packages define and this project calls.

    with blaming("the rule of 'mynpu.gemm' for target 'mynpu'", function):
        function(...)

A rule, an inference function, a converter or a check may raise any exception. For a function of another package, the
exception becomes a RelaxError that names the call and the line in the user's file. An exception in a function of this
project is a bug, and passes through unchanged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from .errors import RelaxError, message_of
from .importing import is_own_module

#: Location that is reported for all code typed into notebook cells.
CELL = "__main__"
#: Maximum number of callers of the raising line that a message lists.
_MOST_CALLS = 3
#: Namespace of the module that last ran a location.
_NAMESPACES: dict[str, dict[str, Any]] = {}
#: Locations that ran in a module that failed on import, and run again.
_FAILED: set[str] = set()


def is_ours(function: object) -> bool:
    """Check whether this project or one of its plug-ins defines a function, a method or a class."""
    return is_own_module(_module_of(function))


def _module_of(function: object) -> str:
    while hasattr(function, "func"):  # the module of a functools.partial object itself is functools
        function = function.func
    return str(getattr(function, "__module__", None) or type(function).__module__)


def place_of(function: object) -> str:
    """Return `folder/file.py:line` of a function without its decorators, or module and name if no source file exists.

    Code in notebook cells is also named by module and name: a cell that is run again has another location, but
    declares the same things.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not hasattr(function, "__qualname__") and hasattr(type(function).__call__, "__code__"):
        function = type(function).__call__  # a callable object
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None or _is_cell(str(function.__module__), code.co_filename):
        return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"
    return shown_place(code.co_filename, code.co_firstlineno)


def place_of_caller(depth: int) -> str:
    """Return the location of a running line: of the caller of the calling function for depth 1, of its caller for
    depth 2."""
    frame = sys._getframe(depth + 1)
    if _is_cell(frame.f_globals.get("__name__", ""), frame.f_code.co_filename):
        return CELL
    place = shown_place(frame.f_code.co_filename, frame.f_lineno)
    _note_namespace(place, frame.f_globals)
    return place


def _note_namespace(place: str, namespace: dict[str, Any]) -> None:
    """Note which module runs a location, and whether the module that ran the location before has failed on import.

    Python removes a module that fails from sys.modules.
    """
    if (before := _NAMESPACES.get(place, namespace)) is not namespace:
        living = sys.modules.get(str(before.get("__name__")))
        (_FAILED.discard if getattr(living, "__dict__", None) is before else _FAILED.add)(place)
    elif place in _NAMESPACES:
        _FAILED.discard(place)
    _NAMESPACES[place] = namespace


def _is_cell(module: str, file: str) -> bool:
    """Check whether code was typed in interactively: its file does not exist, or is a notebook kernel's placeholder."""
    return module == "__main__" and ("ipykernel_" in file or not os.path.isfile(file))


def can_be_declared_again(first: str, second: str) -> bool:
    """Check whether a declaration at one location may replace a declaration at another.

    Both are notebook cells, or the module of the first one failed on import and is imported again.
    """
    return first == second and (first == CELL or first in _FAILED)


def shown_place(file: str, line: int) -> str:
    """Return `folder/file.py:line`."""
    folder, name = os.path.split(file)
    return f"{os.path.basename(folder)}/{name}:{line}"


def message_at(error: BaseException, function: object) -> str:
    """Return an exception's type, message, line in the user's file, and the callers of that line.

    Native code passes on only this text, without the traceback.
    """
    *outer, inner = _lines_of_theirs(error, function) or [place_of(function)]
    calls = "".join(f", called at {place}" for place in outer[: -_MOST_CALLS - 1 : -1])
    text = error.message if isinstance(error, RelaxError) else message_of(error)
    return f"{text} (at {inner}{calls})"


def called_from(error: BaseException, function: object) -> str:
    """Return the user's line that called the code of this project that raised, or an empty string."""
    place, inside = _where(error, function)
    return place if inside and not is_ours(function) else ""


class blaming:  # lower case, as the class is used like a function: with blaming(...)
    """Context manager that turns exceptions of foreign functions into RelaxErrors; see the module's docstring.

    `what` names the call. `what` may be a function that returns the text, for calls that are frequent. `make` creates
    the error, for example with a location. Exceptions of the types `answers` have a meaning for the caller (a rule
    that does not apply) and pass through. A RelaxError gets an additional note.
    """

    __slots__ = ("_answers", "_function", "_make", "_what")

    def __init__(
        self,
        what: str | Callable[[], str],
        function: object,
        make: Callable[[str], RelaxError] = RelaxError,
        answers: tuple[type[Exception], ...] = (),
    ) -> None:
        self._what, self._function, self._make, self._answers = what, function, make, answers

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # SystemExit included: a foreign function must not end the program.
        if not isinstance(error, (Exception, SystemExit)) or isinstance(error, (MemoryError, *self._answers)):
            return
        if is_ours(self._function):
            return
        what = self._what if isinstance(self._what, str) else self._what()
        place, inside = _where(error, self._function)
        if isinstance(error, RelaxError):
            _add_place(error, f"in {what}, at {place}", self._make)
            return
        made = self._make(f"{what}: {message_of(error)} (at {place})")
        if inside:
            bug = "if the call is right, this is a bug of relax-mlir: please report it"
            made.notes = (*made.notes, f"{place} called what raised this at {inside}; {bug}")
        made.is_blamed = True
        raise made from error


def _add_place(error: RelaxError, note: str, make: Callable[[str], RelaxError]) -> None:
    """Add the note and location of the innermost foreign function to a RelaxError that has none yet."""
    if error.is_blamed:
        return
    error.is_blamed = True
    error.notes = (*error.notes, note)
    if not error.location and not error.diagnostics:
        located = make(error.message)
        error.location, error.diagnostics = located.location, located.diagnostics


def _where(error: BaseException, function: object) -> tuple[str, str]:
    """Return the last user line that an exception passed, and the line of this project that it called, or ""."""
    if not (theirs := _lines_of_theirs(error, function)):
        return place_of(function), ""
    last = list(_lines(error.__traceback__))[-1]
    return theirs[-1], last.place if is_own_module(last.package) and not _is_asked_for_a_name(error) else ""


def _lines_of_theirs(error: BaseException, function: object) -> list[str]:
    """Return the user's lines that an exception passed, outermost first."""
    whose = _module_of(function).partition(".")[0]
    return [line.place for line in _lines(error.__traceback__) if line.package == whose or not line.is_library]


def _is_asked_for_a_name(error: BaseException) -> bool:
    """Check whether the exception comes from a `__getattr__` method: an object reports an unknown attribute."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_code.co_name == "__getattr__"


class _Line(NamedTuple):
    """Source line that an exception passed through."""

    package: str
    place: str
    #: True for this project and its plug-ins, Python's standard library and installed packages.
    is_library: bool


def _lines(traceback: TracebackType | None) -> Iterator[_Line]:
    """Yield the lines of a traceback, outermost first."""
    while traceback is not None:
        frame = traceback.tb_frame
        file, package = frame.f_code.co_filename, str(frame.f_globals.get("__name__", "")).partition(".")[0]
        is_library = is_own_module(package) or package in sys.stdlib_module_names or "site-packages" in file
        yield _Line(package, shown_place(file, traceback.tb_lineno), is_library)
        traceback = traceback.tb_next
