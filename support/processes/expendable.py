# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a crash in what is called here ends no process but one that somebody watches: a tool's, a worker."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from ..context import holding

_expendable: ContextVar[bool] = ContextVar("expendable", default=False)


def expendable() -> AbstractContextManager[None]:
    """What runs inside may crash: who watches the process makes an error of it."""
    return holding(_expendable, True)


def is_expendable() -> bool:
    return _expendable.get()
