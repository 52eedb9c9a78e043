# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of torch graphs (sympy expressions), computed in Python from a call's arguments and results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.support.errors import RefusalError

from ..fx_operators import is_scalar
from ..memory_layouts import expression_of

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode

#: Sizes, strides and other numbers of one tensor.
SizeGroup = tuple[Sequence[Any], Sequence[Any], Sequence[Any]]


def symbol_of(size: Any) -> str | None:
    """Return the name of a size's symbol, or None if the size is not a plain symbol."""
    node = getattr(size, "node", None)
    return str(node.expr) if node is not None and node.expr.is_Symbol else None


class SymbolReadings:
    """Python expressions that read the value of each symbol from the list `values` of a call."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def add(self, meta: Any, place: int, order: Sequence[int] | None = None) -> None:
        """Add the symbols of a number, or of a tensor with its dimensions in an order."""
        if is_scalar(meta):
            self._add(meta, f"values[{place}]")
        for at, dim in enumerate(order or range(len(getattr(meta, "shape", ())))):
            self._add(meta.shape[dim], f"values[{place}].shape[{at}]")

    def _add(self, size: Any, reading: str) -> None:
        if (symbol := symbol_of(size)) is not None:
            self._found.setdefault(symbol, reading)

    def missing(self, groups: Sequence[SizeGroup]) -> list[str]:
        """Return the symbols in the groups that no expression reads."""
        return sorted(_symbols_of_groups(groups) - self._found.keys())

    def function(self, groups: Sequence[SizeGroup]) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Return a function from the values of a call to the numeric sizes."""
        lines = [f"    {symbol} = {self._found[symbol]}" for symbol in sorted(_symbols_of_groups(groups))]
        text = "\n".join(["def sizes(values):", *lines, f"    return {_show(groups)}"])
        defined: dict[str, Any] = {"math": math}
        exec(text, defined)  # the text has only torch's expressions and numbers
        found: Callable[[Sequence[Any]], Sequence[Any]] = defined["sizes"]
        return found


def symbols_of(sizes: Sequence[Any]) -> set[str]:
    """Return the names of the symbols in sizes."""
    return {str(symbol) for size in sizes for symbol in getattr(expression_of(size), "free_symbols", ())}


def _symbols_of_groups(groups: Sequence[SizeGroup]) -> set[str]:
    return symbols_of([size for group in groups for part in group for size in part])


def _show(sizes: Any) -> str:
    """Format sizes as nested tuples in Python."""
    from torch.utils._sympy.printers import PythonPrinter

    if isinstance(sizes, Sequence):
        return f"({''.join(f'{_show(size)}, ' for size in sizes)})"
    expression = expression_of(sizes)
    return str(expression if isinstance(expression, int) else PythonPrinter().doprint(expression))


def node_of_symbol(graph: GraphModule, symbol: str) -> FxNode:
    """Return a node that gives the value of a symbol.

    Add a node if only a tensor's size has the symbol.

    Raises RefusalError if no node has the symbol.
    """
    import torch

    for fx in graph.graph.nodes:
        meta = fx.meta.get("val")
        if is_scalar(meta) and symbol_of(meta) == symbol:
            return fx
        dims = [dim for dim, size in enumerate(getattr(meta, "shape", ())) if symbol_of(size) == symbol]
        if dims:
            with graph.graph.inserting_after(fx):
                node = graph.graph.call_function(torch.ops.aten.sym_size.int, (fx, dims[0]))
            node.meta["val"] = meta.shape[dims[0]]
            return node
    raise RefusalError(f"torch.compile(backend='relax_mlir'): no node of the graph gives torch's symbol {symbol}")
