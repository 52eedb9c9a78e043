# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scoped values of context variables."""

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
    """Set a context variable inside the `with` statement, and restore its previous value afterwards."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
