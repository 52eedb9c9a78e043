# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed execution of torch graphs: refused nodes run in eager mode, the parts between them as programs."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import TYPE_CHECKING, Any

from relax_mlir.support.errors import RelaxError
from relax_mlir.support.suggest import counted

from .torch_sizes import symbol_of, symbols_of

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode

#: The node's name in the location of an error.
_NODE = re.compile(r'^"([^"]+)"')


class PartlyEager:
    """Split graph: refused nodes run in eager mode, and the other nodes are programs."""

    #: Never compiled again: the programs detect changed parameters themselves.
    frozen = None

    def __init__(
        self,
        graph: GraphModule,
        refused: AbstractSet[str],
        error: RelaxError,
        program: Callable[[GraphModule], Callable[[list[Any]], list[Any]]],
    ) -> None:
        """Split a graph. `refused` has the names of eager nodes; without names the whole graph runs in eager mode."""
        calls = [fx for fx in graph.graph.nodes if fx.op == "call_function"]
        eager = _with_their_parts(calls, refused) if refused else set(calls)
        _warn(error, [fx for fx in calls if fx.name in refused] or calls, calls)
        self._run = _split(graph, eager, program)

    def call(self, given: Sequence[Any]) -> list[Any]:
        """Return the outputs of the graph."""
        return list(self._run(*given))


def refused_by(error: RelaxError, graph: GraphModule) -> set[str]:
    """Return the node's name from the location of an error, if the graph has such a node."""
    match = _NODE.match(error.location)
    name = match[1] if match else ""
    return {name} & {fx.name for fx in graph.graph.nodes}


def _warn(error: RelaxError, eager: Sequence[FxNode], calls: Sequence[FxNode]) -> None:
    where = f"{len(eager)} of {counted(len(calls), 'node')} run in eager mode"
    hint = "torch.compile(..., options={'fallback': 'error'}) makes this an error"
    warnings.warn(f"torch.compile(backend='relax_mlir'): {where}: {error}\nnote: {hint}", stacklevel=2)


# ---- parts ----


def _with_their_parts(calls: Sequence[FxNode], names: AbstractSet[str]) -> set[FxNode]:
    """Return the named nodes, and the nodes that extract elements of their results."""
    fx_nodes: set[FxNode] = set()
    for fx in calls:
        if fx.name in names or (fx.target is operator.getitem and fx.args[0] in fx_nodes):
            fx_nodes.add(fx)
    return fx_nodes


def _split(
    graph: GraphModule, eager: AbstractSet[FxNode], program: Callable[[GraphModule], Callable[[list[Any]], list[Any]]]
) -> Callable[..., Sequence[Any]]:
    """Return a function with the graph's arguments and outputs that calls programs and eager operators."""
    from torch import fx

    outer = fx.Graph()
    copies: dict[FxNode, FxNode] = {}
    for is_eager, nodes in groupby(_yield_ordered(graph), key=lambda node: node in eager or not _computes(node)):
        part = list(nodes)
        if is_eager:
            copies.update((node, outer.node_copy(node, copies.__getitem__)) for node in part)
        else:
            _add_program(graph, part, program, outer, copies)
    outer.output([copies.get(each, each) for each in graph.graph.output_node().args[0]])
    return fx.GraphModule(graph, outer)


def _yield_ordered(graph: GraphModule) -> Iterator[FxNode]:
    """Yield the nodes in an order in which extractions of list elements follow the list's node."""
    for fx in graph.graph.nodes:
        if fx.op == "output" or fx.target is operator.getitem:
            continue
        yield fx
        pending = list(fx.users)
        while pending:
            user = pending.pop(0)
            if user.target is operator.getitem:
                yield user
                pending = [*user.users, *pending]


def _computes(fx: FxNode) -> bool:
    """Check whether a node computes tensors. Other nodes (arguments, attributes, numbers) are passed to programs.

    Elements of a list, which may be numbers, come from the node of the list.
    """
    if fx.target is operator.getitem:
        return _computes(fx.args[0])
    metas = fx.meta.get("val")
    listed = metas if isinstance(metas, (list, tuple)) else [metas]
    return fx.op == "call_function" and any(hasattr(each, "shape") for each in listed)


def _add_program(
    graph: GraphModule,
    part: Sequence[FxNode],
    program: Callable[[GraphModule], Callable[[list[Any]], list[Any]]],
    outer: Any,
    copies: dict[FxNode, FxNode],
) -> None:
    """Add a call of a program that computes some nodes to the outer graph."""
    from torch import fx

    inside = set(part)
    inputs = _inputs(graph, part, copies)
    outputs = [
        node for node in part if not isinstance(node.meta.get("val"), (list, tuple)) and node.users.keys() - inside
    ]
    own = fx.Graph()
    inner: dict[FxNode, FxNode] = {}
    for node in inputs:
        inner[node] = own.placeholder(node.name)
        inner[node].meta = dict(node.meta)
    for node in part:
        inner.update(
            (input_node, own.node_copy(input_node))
            for input_node in node.all_input_nodes
            if input_node.op == "get_attr"
        )
        inner[node] = own.node_copy(node, inner.__getitem__)
    own.output(tuple(inner[node] for node in outputs))
    compiled = program(fx.GraphModule(graph, own))

    def relax_program(*given: Any) -> list[Any]:
        return compiled(list(given))

    relax_program.__module__ = __name__
    called = outer.call_function(relax_program, tuple(copies[node] for node in inputs))
    for place, node in enumerate(outputs):
        copies[node] = outer.call_function(operator.getitem, (called, place))


def _inputs(graph: GraphModule, part: Sequence[FxNode], known: dict[FxNode, FxNode]) -> list[FxNode]:
    """Return the outside nodes that a part uses, and the nodes that define the symbols in its sizes.

    Attributes, such as subgraphs, are not among them: programs take only tensors and numbers.
    """
    inside = set(part)
    users = [input_node for node in part for input_node in node.all_input_nodes]
    inputs = dict.fromkeys(user for user in users if user not in inside and user.op != "get_attr")
    metas = [node.meta.get("val") for node in (*inputs, *part)]
    symbols = {symbol_of(size) for node in inputs for size in _sizes(node.meta.get("val"))}
    for symbol in sorted(symbols_of([size for meta in metas for size in _sizes(meta)]) - symbols):
        giving = next((node for node in known if _is_size_of(symbol, node.meta.get("val"))), None)
        if giving is not None:
            inputs.setdefault(giving)
    return list(inputs)


def _is_size_of(symbol: str, meta: Any) -> bool:
    """Check whether a tensor has a size, or a number is one. Programs take no lists of tensors."""
    return not isinstance(meta, (list, tuple)) and symbol in map(symbol_of, _sizes(meta))


def _sizes(meta: Any) -> list[Any]:
    """Return the sizes of tensors and the numbers in a node's metadata."""
    if isinstance(meta, (list, tuple)):
        return [size for each in meta for size in _sizes(each)]
    return list(meta.shape) if hasattr(meta, "shape") else [] if meta is None else [meta]
