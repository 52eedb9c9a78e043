# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that others wrote and this project calls: where they stand, and what becomes of their exceptions.

    with blaming("the rule of 'mynpu.gemm' for target 'mynpu'", function):
        function(...)

A rule, an inference, a converter, a check may raise anything. Where others have written it, that becomes a RelaxError
that says what was called, and the line in their file. A function of this project that does so has a bug, and its
exception stays what it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import NamedTuple

from .errors import RelaxError, message_of

_PACKAGE = __name__.partition(".")[0]
#: The place of all that stands in cells.
CELL = "__main__"
#: Of a message: callers of the line that raised.
_MOST_CALLS = 3


def is_ours(function: object) -> bool:
    """Whether this project has written a function, a method or a class."""
    return _module_of(function).partition(".")[0] == _PACKAGE


def _module_of(function: object) -> str:
    while hasattr(function, "func"):  # a functools.partial's own module says nothing
        function = function.func
    return str(getattr(function, "__module__", None) or type(function).__module__)


def place_of(function: object) -> str:
    """`folder/file.py:line` of a function, without its decorators; what has no code of its own by module and name.

    So is what stands in a notebook's cell: a cell that is run again is elsewhere, and declares the same things.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not hasattr(function, "__qualname__") and hasattr(type(function).__call__, "__code__"):
        function = type(function).__call__  # an object that can be called
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None or _is_cell(str(function.__module__), code.co_filename):
        return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"
    return shown_place(code.co_filename, code.co_firstlineno)


def place_of_caller(depth: int) -> str:
    """The same of the line that is running now: of who called the function that asks (1), of its caller (2)."""
    frame = sys._getframe(depth + 1)
    if _is_cell(frame.f_globals.get("__name__", ""), frame.f_code.co_filename):
        return CELL
    return shown_place(frame.f_code.co_filename, frame.f_lineno)


def _is_cell(module: str, file: str) -> bool:
    """Whether code was typed in, or is a notebook's: it has no file, or one that the notebook's kernel has made up."""
    return module == "__main__" and ("ipykernel_" in file or not os.path.isfile(file))


def can_be_declared_again(first: str, second: str) -> bool:
    """Whether what was declared at a place may be declared anew at another one: where both are cells of a notebook."""
    return first == second == CELL


def shown_place(file: str, line: int) -> str:
    """`folder/file.py:line`."""
    folder, name = os.path.split(file)
    return f"{os.path.basename(folder)}/{name}:{line}"


def message_at(error: BaseException, function: object) -> str:
    """What an exception says, with its kind, the line of a user's file that it comes from, and those that called it:
    where native code hands on the text alone, there is no traceback."""
    *outer, inner = _lines_of_theirs(error, function) or [place_of(function)]
    calls = "".join(f", called at {place}" for place in outer[: -_MOST_CALLS - 1 : -1])
    text = error.message if isinstance(error, RelaxError) else message_of(error)
    return f"{text} (at {inner}{calls})"


def called_from(error: BaseException, function: object) -> str:
    """The line of a user's that called what raised an exception in this project; empty where no such line did."""
    place, inside = _where(error, function)
    return place if inside and not is_ours(function) else ""


class blaming:  # read as a word: with blaming(...)
    """Inside, what a function of somebody else's raises becomes a RelaxError; see the module's docstring.

    `what` may be a function that says it, where it is called often. `make` makes the error: one with a location, say.
    `answers` mean something to who calls, that a rule does not apply, and go through; to a RelaxError a note is added.
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
        # It may mean to end the program.
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
    """The innermost function is the one to blame."""
    if error.is_blamed:
        return
    error.is_blamed = True
    error.notes = (*error.notes, note)
    if not error.location and not error.diagnostics:
        located = make(error.message)
        error.location, error.diagnostics = located.location, located.diagnostics


def _where(error: BaseException, function: object) -> tuple[str, str]:
    """The last line of a user's that an exception went through, and the one in this project that it called, if any."""
    theirs = _lines_of_theirs(error, function)
    if not theirs:
        return place_of(function), ""
    last = list(_lines(error.__traceback__))[-1]
    return theirs[-1], last.place if last.package == _PACKAGE and not _is_asked_for_a_name(error) else ""


def _lines_of_theirs(error: BaseException, function: object) -> list[str]:
    """The lines of a user's that an exception went through, the outermost first."""
    whose = _module_of(function).partition(".")[0]
    return [line.place for line in _lines(error.__traceback__) if line.package == whose or not line.is_library]


def _is_asked_for_a_name(error: BaseException) -> bool:
    """Whether an object of ours says that it has no attribute of a name."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_code.co_name == "__getattr__"


class _Line(NamedTuple):
    """One that an exception went through."""

    package: str
    place: str
    #: Whether it is in this project, Python's own library or an installed package.
    is_library: bool


def _lines(traceback: TracebackType | None) -> Iterator[_Line]:
    """The outermost first."""
    while traceback is not None:
        frame = traceback.tb_frame
        file, package = frame.f_code.co_filename, str(frame.f_globals.get("__name__", "")).partition(".")[0]
        is_library = package in (_PACKAGE, *sys.stdlib_module_names) or "site-packages" in file
        yield _Line(package, shown_place(file, traceback.tb_lineno), is_library)
        traceback = traceback.tb_next
