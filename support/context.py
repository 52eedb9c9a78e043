# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The value of a context variable inside of a `with` statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .callbacks import fragile

X = TypeVar("X")


@contextmanager
@fragile
def holding(variable: ContextVar[X], value: X) -> Iterator[None]:
    """Inside, the variable has this value; behind it the one from before."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
