# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses affine maps that use dimensions or symbols which they do not have: MLIR reads them from bytecode unasked."""

from __future__ import annotations

from ..bindings.affine import unknown_names
from ..bindings.ir import AffineMap, Attribute, Operation
from ..bindings.mlir import ir
from ..bindings.navigation import operations_in
from .resource_sizes import attributes_of, nested_in


def check_affine_maps(module: Operation) -> bool:
    """Reports the malformed maps, at the operations that have them."""
    problems: dict[Attribute, str | None] = {}
    is_right = True
    for op in (module, *operations_in(module)):
        for attribute in nested_in(attributes_of(op)):
            if not isinstance(attribute, ir.AffineMapAttr):
                continue
            if attribute not in problems:
                problems[attribute] = _problem(attribute.value)
            if problems[attribute]:
                op.location.emit_error(f"'{op.name}' op {problems[attribute]}")
                is_right = False
    return is_right


def _problem(map_: AffineMap) -> str | None:
    foreign = unknown_names(map_)
    return f"{map_} uses {foreign[0]}, which it does not have" if foreign else None
