# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time evaluation: runs a program while another one is compiled.

Passes know neither code nor how it is run, so who does hands it in: targets/core/evaluation.py, everywhere; others for
a while, by `evaluating_by`.
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
    """Runs programs."""

    #: Whose code it runs: what has no rule for this target cannot be computed.
    target: str
    #: Runs the function @main of a module, which takes nothing, gives tensors of static shapes, and may be taken apart:
    #: the bytes of each. Raises NotComputed.
    run: Callable[[Module], list[ndarray]]


class NotComputed(Exception):
    """A program that cannot be compiled, or that fails when it runs: the message says why."""


#: Empty where none is chosen.
_chosen: ContextVar[tuple[Evaluator | None, ...]] = ContextVar("evaluator", default=())
_usual: list[Callable[[], Evaluator]] = []


def usual_evaluator(make: Callable[[], Evaluator]) -> None:
    """Sets the default evaluator."""
    _usual[:] = [make]


def evaluator() -> Evaluator | None:
    """The evaluator in effect here, or None."""
    chosen = _chosen.get()
    if chosen:
        return chosen[0]
    return _usual[0]() if _usual else None


@contextmanager
def evaluating_by(evaluator: Evaluator | None) -> Iterator[None]:
    """The evaluator in effect inside; none with None."""
    token = _chosen.set((evaluator,))
    try:
        yield
    finally:
        _chosen.reset(token)
