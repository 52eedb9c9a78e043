# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time evaluation: running a program while another program is compiled.

Passes cannot generate or run code themselves, so an evaluator is injected. targets/core/evaluation.py provides the
default, and `evaluating_by` sets another one temporarily.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from ...bindings.ir import Module

if TYPE_CHECKING:
    from numpy import ndarray


class Evaluator(NamedTuple):
    """Evaluator of programs."""

    #: Target of the evaluator's code. An operator without a rule for the target cannot be evaluated.
    target: str
    #: Runs the function @main of a module, which takes no arguments, returns tensors of static shapes, and may be
    #: modified. Returns the arrays, or raises NotComputed.
    run: Callable[[Module], list[ndarray]]


class NotComputed(Exception):
    """Program that cannot be compiled or that fails when it runs. The message states the reason."""


#: Empty if no evaluator was chosen explicitly.
_chosen: ContextVar[tuple[Evaluator | None, ...]] = ContextVar("evaluator", default=())
_usual: list[Callable[[], Evaluator]] = []


def usual_evaluator(make: Callable[[], Evaluator]) -> None:
    """Set the default evaluator."""
    _usual[:] = [make]


def evaluator() -> Evaluator | None:
    """Return the current evaluator, or None."""
    if chosen := _chosen.get():
        return chosen[0]
    return _usual[0]() if _usual else None


@contextmanager
def evaluating_by(evaluator: Evaluator | None) -> Iterator[None]:
    """Set the evaluator inside the `with` statement. None disables evaluation."""
    token = _chosen.set((evaluator,))
    try:
        yield
    finally:
        _chosen.reset(token)
