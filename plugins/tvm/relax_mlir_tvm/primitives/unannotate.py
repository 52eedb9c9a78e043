# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive unannotate: removes annotations of loops and blocks."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.primitives.annotate import annotatable_node
from relax_mlir.schedules import register_primitive
from relax_mlir.support.suggest import suggest


@register_primitive
def unannotate(edit: Edit, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
    """Remove an annotation from a loop or block."""
    node = annotatable_node(edit, block_or_loop, ann_key)
    if ann_key not in node.annotations:
        known = ", ".join(node.annotations) or "none"
        hint = suggest(str(ann_key), node.annotations)
        edit.refuse(f"'{node.name}' has no annotation '{ann_key}'{hint} (it has {known})")
    kept = {key: value for key, value in node.annotations.items() if key != ann_key}
    edit.replace(node.name, [replace(node, annotations=kept)])
