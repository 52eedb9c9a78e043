# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and regions for which a target of their own is said, by the attribute relax.target."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import ir
from ...bindings.rewriting import located_error
from ...dialects.core.ir_attributes import RELAX_TARGET
from ...support.errors import RelaxError
from ...targets.core.registry import find_target


def roots_by_target(
    root: Operation, operations: Sequence[Operation], target: str, is_opaque: Callable[[Operation], bool]
) -> dict[str, list[Operation]]:
    """For each target the operations in which its rules hold, up to others of these inside. The root is `target`'s.

    `operations` are those in the root. Raises RelaxError, before anything is changed, where the attribute names no
    target or stands where it says nothing.
    """
    found = {target: [root]}
    for operation in (root, *operations):
        if RELAX_TARGET in operation.attributes:
            if is_opaque(operation) or not len(operation.regions):
                hint = "a graph's function and what holds a region in one can, for all that is inside"
                what = f"'{operation.name}' op cannot have the attribute '{RELAX_TARGET}': {hint}"
                raise located_error(what, operation.location)
            found.setdefault(_target_of(operation), []).append(operation)
    return found


def _target_of(operation: Operation) -> str:
    held: Attribute = operation.attributes[RELAX_TARGET]
    if not isinstance(held, ir.StringAttr):
        raise located_error(f"attribute '{RELAX_TARGET}' must be the name of a target, got {held}", operation.location)
    try:
        return find_target(held.value).name
    except RelaxError as error:
        raise located_error(f"attribute '{RELAX_TARGET}': {error.message}", operation.location) from None
