# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Suppression of Python's warnings and log records, whose filters and handlers are global to the process."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from .callbacks import fragile
from .errors import message_of


class _Ignoring:
    """Warning filters of the process, saved while threads are inside `ignoring_warnings`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._threads = 0
        self._kept = warnings.catch_warnings()

    @fragile
    def begin(self) -> None:
        with self._lock:
            if not self._threads:
                self._kept = warnings.catch_warnings()
                self._kept.__enter__()
                warnings.simplefilter("ignore")
            self._threads += 1

    @fragile
    def end(self) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                self._kept.__exit__(None, None, None)


_ignoring = _Ignoring()


@contextmanager
def ignoring_warnings() -> Iterator[None]:
    """Ignore warnings inside the `with` statement.

    `warnings.catch_warnings` restores the filters that it has found. If two threads overlap, the second thread finds
    the first thread's filters and leaves them behind for good. Here the last thread restores the original filters.
    """
    _ignoring.begin()
    try:
        yield
    finally:
        _ignoring.end()


class HeldLogs(logging.Handler):
    """Handler that holds back this thread's log records from the handlers that would show them."""

    def __init__(self, packages: Sequence[str]) -> None:
        super().__init__(logging.WARNING)
        self._thread = threading.get_ident()
        self._packages = tuple(f"{package}." for package in packages)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Hold a record once. The loggers of a package and of its parent may both have this handler."""
        if self.holds(record) and record not in self.records:
            self.records.append(record)

    def holds(self, record: logging.LogRecord) -> bool:
        """Return True for a warning or error of this thread and of one of the packages."""
        is_own = record.thread == self._thread and f"{record.name}.".startswith(self._packages)
        return is_own and record.levelno >= self.level

    def is_shown(self, record: logging.LogRecord) -> bool:
        """Return False for a record that other handlers must not show."""
        return not self.holds(record)

    def texts(self) -> list[str]:
        """Return the messages on one line each, with their exceptions."""
        return [_text_of(record) for record in self.records]

    def show(self) -> None:
        """Pass the records on to the handlers that did not get them."""
        for record in self.records:
            logging.getLogger(record.name).handle(record)


@contextmanager
def holding_logs(*packages: str) -> Iterator[HeldLogs]:
    """Hold back log records of the packages. `texts()` returns them for messages, and `show()` logs them."""
    held_logs = HeldLogs(packages)
    with ExitStack() as stack:
        for logger in _loggers_of(packages):
            logger.addHandler(held_logs)
            stack.callback(logger.removeHandler, held_logs)
            for handler in _handlers_above(logger, held_logs):
                handler.addFilter(held_logs.is_shown)
                stack.callback(handler.removeFilter, held_logs.is_shown)
        yield held_logs


def _loggers_of(packages: Sequence[str]) -> list[logging.Logger]:
    """Return the loggers of the packages, and of their submodules with handlers of their own."""
    below = tuple(f"{package}." for package in packages)
    found = [each for each in list(logging.root.manager.loggerDict.values()) if isinstance(each, logging.Logger)]
    own = [each for each in found if each.name.startswith(below) and each.handlers]
    return [*map(logging.getLogger, packages), *own]


def _handlers_above(logger: logging.Logger, held: logging.Handler) -> Iterator[logging.Handler]:
    above: logging.Logger | None = logger
    while above is not None:
        yield from (handler for handler in above.handlers if handler is not held)
        above = above.parent if above.propagate else None


def _text_of(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except Exception:  # the arguments do not match the format
        text = str(record.msg)
    error = record.exc_info[1] if record.exc_info else None
    return " ".join((text if error is None else f"{text}: {message_of(error)}").split())
