# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a crash in what is called here ends no process but one that somebody watches: a tool's, a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_expendable: ContextVar[bool] = ContextVar("expendable", default=False)


@contextmanager
def expendable() -> Iterator[None]:
    """What runs inside may crash: who watches the process makes an error of it."""
    token = _expendable.set(True)
    try:
        yield
    finally:
        _expendable.reset(token)


def is_expendable() -> bool:
    return _expendable.get()
