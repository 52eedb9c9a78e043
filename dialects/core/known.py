# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding during graph construction: tensors with known elements, and the evaluator of operators.

Builders accept such a tensor in place of a value. A folder may compute the operator's result. Otherwise the operator
receives the tensor as a value of the graph, mostly a constant.
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
    """Tensor with known elements, accepted in place of a value of the graph."""

    @property
    @abstractmethod
    def type(self) -> Type:
        """Type of the tensor as a value of the graph."""

    @property
    def context(self) -> Context:
        return self.type.context

    @abstractmethod
    def in_graph(self) -> Value:
        """Return the tensor as a value of the graph."""


#: Folder: takes an operator and its arguments by name, defaults included. It returns the result, or None to build an
#: operation.
Folding = Callable[["OpDef", "dict[str, object]"], Any]

folding: ContextVar[Folding | None] = ContextVar("folding", default=None)


def folding_by(evaluate: Folding | None) -> AbstractContextManager[None]:
    """Set the folder of the operators' builders while the context manager is active; None disables folding."""
    return holding(folding, evaluate)
