# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of external codegens, recognized by their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....bindings.ir import Block, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import blocks_of, functions_in, has_body, operations_in, symbol_name, text_in
from ....dialects.core.ir_attributes import CODEGEN, COMPOSITE, PART_NUMBER, PART_REFUSED
from ....dialects.tir.prim_func import is_prim_func
from ....support.errors import RelaxError
from ....support.suggest import suggest


def codegen_of(composite: Operation) -> str:
    """Return the codegen that has the pattern of a composite function, or "" for other functions."""
    return text_in(composite, COMPOSITE).partition(".")[0]


def refuse(operations: Iterable[Operation], reason: str) -> None:
    """Note on matched operations the reason why they stay, if a report wants it."""
    for op in operations:
        if PART_NUMBER in op.attributes:
            op.attributes[PART_REFUSED] = ir.StringAttr.get(reason, op.context)


def functions_to_part(module: Operation, named: Sequence[str], what: str) -> list[Operation]:
    """Return the graph functions of these names. Default: all that belong to no codegen."""
    graphs = {
        symbol_name(function): function
        for function in functions_in(module)
        if has_body(function) and not is_prim_func(function)
    }
    for name in named:
        if name not in graphs:
            raise RelaxError(f"{what}: there is no graph function @{name}{suggest(name, graphs)}")
    if named:
        return [graphs[name] for name in named]
    return [graph for graph in graphs.values() if not any(name in graph.attributes for name in (CODEGEN, COMPOSITE))]


def blocks_in(function: Operation) -> list[Block]:
    """Return the blocks of a function, and of all regions in it."""
    holders = [function, *(operation for operation in operations_in(function) if len(operation.regions))]
    return [block for holder in holders for block in blocks_of(holder)]
