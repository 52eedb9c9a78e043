# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operator names, arguments and source lines of torch.fx nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Location
from relax_mlir.bindings.mlir import ir

from .in_place import updated_argument
from .operator_names import name_of

if TYPE_CHECKING:
    from torch.fx import Node as FxNode

_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


def functional_name(target: object) -> str:
    """Return the name of an operator. An operator that updates its argument has the name of its functional form."""
    name = name_of(target)
    if updated_argument(target) is None:
        return name
    operator_name, _, overload = name.rpartition(".")
    return f"{operator_name.removesuffix('_')}.{overload}"


def arguments_of(fx: FxNode) -> dict[str, Any]:
    """Return the arguments of a node by name in the operator's schema, or by position without a schema."""
    schema = getattr(fx.target, "_schema", None)
    names = map(str, range(len(fx.args))) if schema is None else (argument.name for argument in schema.arguments)
    return {**dict(zip(names, fx.args, strict=False)), **fx.kwargs}


def defaults_of(fx: FxNode) -> Mapping[str, object]:
    """Return the default values of an operator's arguments, in the order of the schema."""
    schema = getattr(fx.target, "_schema", None)
    return {} if schema is None else {argument.name: argument.default_value for argument in schema.arguments}


def listed(held: object) -> Sequence[Any]:
    """Return a list unchanged, and any other value as a list of one item."""
    return held if isinstance(held, (list, tuple)) else [held]


def is_scalar(value: object) -> bool:
    """Check whether a value is a number or a size, not a tensor."""
    return isinstance(value, (bool, int, float)) or type(value).__name__ in ("SymInt", "SymFloat", "SymBool")


def place_of(fx: FxNode) -> tuple[str, int] | None:
    """Return the user's file and line from which a node originates."""
    found = _PLACE.findall(fx.meta.get("stack_trace") or "")
    return (found[-1][0], int(found[-1][1])) if found else None


def location_of(fx: FxNode) -> Location:
    """Return a location with the node's name and the user's line."""
    if (place := place_of(fx)) is None:
        return ir.Location.name(fx.name)
    return ir.Location.name(fx.name, ir.Location.file(place[0], place[1], 0))
