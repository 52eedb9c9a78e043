# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets of functions and regions with the attribute relax.target."""

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
    """Map each target to the operations in which its rules apply.

    An operation that states a target is left out of the operations around it. The root belongs to `target`, and
    `operations` are its contents. Raise RelaxError before any change if an attribute names no target, or if an
    operation cannot have one.
    """
    roots = {target: [root]}
    for operation in (root, *operations):
        if RELAX_TARGET in operation.attributes:
            if is_opaque(operation) or not len(operation.regions):
                hint = "only graph functions, and operations with regions in them, can have it"
                what = f"'{operation.name}' op cannot have the attribute '{RELAX_TARGET}': {hint}"
                raise located_error(what, operation.location)
            roots.setdefault(_target_of(operation), []).append(operation)
    return roots


def _target_of(operation: Operation) -> str:
    attribute: Attribute = operation.attributes[RELAX_TARGET]
    if not isinstance(attribute, ir.StringAttr):
        raise located_error(
            f"attribute '{RELAX_TARGET}' must be the name of a target, got {attribute}", operation.location
        )
    try:
        return find_target(attribute.value).name
    except RelaxError as error:
        raise located_error(f"attribute '{RELAX_TARGET}': {error.message}", operation.location) from None
