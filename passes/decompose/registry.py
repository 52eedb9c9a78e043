# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an operator is in terms of others, by its name.

    rx.register_decomposition("mynpu.scaled_relu")(lambda op, x: relax.multiply(relax.nn.relu(x), op.scale))

A definition is given the operation, of which it reads the attributes, and its operands (None for an absent one, a
tuple for a variadic one), and returns what takes the place of its results. It raises `rx.Decline` with the reason where
it is right for some uses only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ...bindings.ir import OpView, Value
from ...bindings.mlir import as_list
from ...dialects.core.dialect import find_op
from ...support.registry import Registry, names_of

#: `definition(op, *operands)` returns a value, or one for each result.
Definition = Callable[..., Any]
Function = TypeVar("Function", bound=Definition)


class Decomposition(NamedTuple):
    """An operator's definition. `place` says where it is written."""

    op: str
    function: Definition
    place: str

    def __str__(self) -> str:
        return f"{self.op} ({self.place})"


_DECOMPOSITIONS = Registry[Decomposition](
    lambda entry: (entry.op,),
    lambda entry, taken: f"'{entry.op}' has a decomposition already: {taken.place}",
    families=f"{__package__}.definitions",
)


def register_decomposition(op: str | Sequence[str]) -> Callable[[Function], Function]:
    """Registers a function as what an operator (or several) is in terms of others; use it as a decorator.

    Refuses unknown operators, and a second decomposition of the same one.
    """

    def entries(function: Function, place: str) -> list[Decomposition]:
        _DECOMPOSITIONS.load()
        return [Decomposition(find_op(name).full_name, function, place) for name in names_of(op)]

    return _DECOMPOSITIONS.registering(entries)


def find_decomposition(op: str) -> Decomposition | None:
    """The decomposition of an operator, if there is one."""
    _DECOMPOSITIONS.load()
    return next(iter(_DECOMPOSITIONS.tried(op)), None)


def all_decompositions() -> list[Decomposition]:
    """Every decomposition, sorted by operator."""
    _DECOMPOSITIONS.load()
    return _DECOMPOSITIONS.all()


def decomposed(found: Decomposition, op: OpView) -> list[Value]:
    """What takes the place of an operation's results, not yet of their types. Raises Decline."""
    sizes = list(op.operation.attributes["operandSegmentSizes"]) if op.definition.segmented else None
    operands = op.definition.segment(list(op.operation.operands), sizes)
    return list(as_list(found.function(op, *operands.values())))
