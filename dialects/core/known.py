# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding while a graph is built: tensors whose elements are known, and the evaluator of operators.

Such a tensor stands where builders take a value. An operator gets it as a value of the graph, a constant mostly, unless
a folder says what the operator makes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ...bindings.ir import Context, Type, Value
from ...support.context import holding

if TYPE_CHECKING:
    from .opdef import OpDef


class KnownTensor(ABC):
    """In the place of a value of the graph."""

    @property
    @abstractmethod
    def type(self) -> Type:
        """As a value of the graph has it."""

    @property
    def context(self) -> Context:
        return self.type.context

    @abstractmethod
    def in_graph(self) -> Value:
        """The tensor as a value of the graph."""


#: Given an operator and its arguments by their names, defaults among them: what is built; None where that is an
#: operation.
Folding = Callable[["OpDef", "dict[str, object]"], Any]

folding: ContextVar[Folding | None] = ContextVar("folding", default=None)


def folding_by(evaluate: Folding | None) -> AbstractContextManager[None]:
    """The folder that builders of operators ask inside; none with None."""
    return holding(folding, evaluate)
