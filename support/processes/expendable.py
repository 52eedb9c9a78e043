# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Marker for code that runs in a supervised process, such as a tool's worker, where a crash is tolerable."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from ..context import holding

_expendable: ContextVar[bool] = ContextVar("expendable", default=False)


def expendable() -> AbstractContextManager[None]:
    """Mark the code inside as expendable: the supervisor of the process reports a crash as an error."""
    return holding(_expendable, True)


def is_expendable() -> bool:
    return _expendable.get()
