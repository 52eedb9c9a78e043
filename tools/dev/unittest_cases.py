# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outcomes of unittest's cases, each limited in processor time."""

from __future__ import annotations

import contextlib
import os
import signal
import unittest
from collections.abc import Iterator
from types import ModuleType

_LONGEST = 200


class _Late(BaseException):
    """Time limit of a test."""


def _late(*_: object) -> None:
    raise _Late


def hide_output() -> None:
    """Discard the output of this process, including that of native code, which would hide the report of a suite."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def cases_of(module: ModuleType) -> dict[str, unittest.TestCase]:
    """Return the cases of a module by name."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    return {each.id().split(" (")[0]: each for each in _cases(suite)}


def _cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _cases(each)
        else:
            yield each


def outcome(test: unittest.TestCase, seconds: float) -> tuple[str, str]:
    """Return the status of one test: passed, failed or, where the test skips itself, left out; and the reason."""
    result = unittest.TestResult()
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # unittest, which catches nearly all exceptions, records most of these in the result
    with contextlib.suppress(_Late):
        test.run(result)
    if signal.setitimer(signal.ITIMER_PROF, 0)[0] == 0:
        return "failed", f"takes longer than {seconds:g} seconds of processor time"
    if result.skipped:
        return "left out", result.skipped[0][1]
    if problems := result.errors + result.failures:
        return "failed", _last_line(problems[0][1])
    return ("failed", "passes, and a failure is expected") if result.unexpectedSuccesses else ("passed", "")


def _last_line(text: str) -> str:
    """Return the line of a traceback that names the error."""
    lines = [each for each in text.splitlines() if each.strip()]
    at = [each for each in lines if not each.startswith(" ") and ": " in each]
    return (at[-1] if at else lines[-1])[:_LONGEST]
