# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates in place that the importer converts directly: updates of tensors that nodes create, whole or through views.

Torch makes all other updates functional: updates of arguments, of buffers, and through aliases that may be copies.
"""

from __future__ import annotations

import operator
from collections.abc import Container
from typing import TYPE_CHECKING, Any, NamedTuple

from .operator_names import name_of
from .view_names import RETAKEN, WRITABLE

if TYPE_CHECKING:
    from torch.fx import Graph
    from torch.fx import Node as FxNode

# Operators that return their input in inference, which their schemas do not say.
_DROPOUTS = ("aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout")

# Operators that update statistics in training, which their schemas do not say.
_NORMS = ("aten::batch_norm", "aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::instance_norm")


def is_updating(fx: FxNode) -> bool:
    """Check whether a node updates an argument."""
    if fx.op != "call_function":
        return False
    if (schema := getattr(fx.target, "_schema", None)) is not None and schema.name in _NORMS:
        statistics, is_training = fx.args[3], fx.args[5]
        return statistics is not None and is_training is not False
    if schema is not None and schema.name.removesuffix("_") in _DROPOUTS and not _is_training(fx):
        return False
    return is_mutable(fx.target)


def is_mutable(target: object) -> bool:
    """Check whether an operator updates an argument."""
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.is_mutable


def updated_argument(target: Any) -> str | None:
    """Return the name of the only argument that an operator updates and returns, or None."""
    if not is_mutable(target):
        return None
    names, returns = updated_arguments(target), target._schema.returns
    return names[0] if len(names) == 1 and len(returns) == 1 and returns[0].alias_info is not None else None


def updated_arguments(target: Any) -> list[str]:
    """Return the names of the arguments that an operator updates."""
    own = target._schema.arguments
    return [each.name for each in own if each.alias_info is not None and each.alias_info.is_write]


class Update(NamedTuple):
    """Effects of an update on the tensor that it changes."""

    #: The updated view, its source, and so on to the tensor that owns the memory.
    chain: list[FxNode]
    #: Other aliases in the order of the graph, which are recomputed.
    others: list[FxNode]


class Updates:
    """Updates in place of a graph."""

    def __init__(self, graph: Graph):
        self._places = {fx: place for place, fx in enumerate(graph.nodes)}
        #: The source of each node's memory, and the node that owns the memory.
        self._sources: dict[FxNode, FxNode | None] = {}
        self._roots: dict[FxNode, FxNode] = {}
        self._aliases: dict[FxNode, list[FxNode]] = {}
        #: Nodes with a result that is all of their source, such as an update or a dropout.
        self.whole: set[FxNode] = set()
        #: Updates by their node.
        self.simple: dict[FxNode, Update] = {}
        self.are_all_simple = True
        for fx in graph.nodes:
            self._follow(fx)
        for fx in graph.nodes:
            if is_updating(fx):
                self._judge(fx)

    def source_of(self, fx: FxNode) -> FxNode | None:
        return self._sources[fx]

    def _follow(self, fx: FxNode) -> None:
        source, is_whole = _source(fx)
        self._sources[fx] = source
        if source is not None and is_whole:
            self.whole.add(fx)
        root = self._roots[fx] = fx if source is None else self._roots[source]
        self._aliases.setdefault(root, []).append(fx)

    def _judge(self, fx: FxNode) -> None:
        name = updated_argument(fx.target)
        updated = fx.args[0] if name is not None and fx.args and name == _first_name(fx.target) else None
        found = None if updated is None or updated not in self._roots else self._update(fx, updated)
        if found is None:
            self.are_all_simple = False
        else:
            self.simple[fx] = found

    def _update(self, fx: FxNode, updated: FxNode) -> Update | None:
        """Return the effects of an update, or None if torch must make the update functional."""
        chain = self._chain(updated)
        root = chain[-1]
        if root.op != "call_function" or not all(self._is_view(each, WRITABLE) for each in chain[:-1]):
            return None
        place = self._places[fx]
        earlier = [fx_node for fx_node in self._aliases[root] if self._places[fx_node] < place and fx_node not in chain]
        read = {each for alias in earlier if self._is_read_behind(alias, place) for each in self._chain(alias)[:-1]}
        if not all(self._is_view(each, RETAKEN) for each in read):
            return None
        return Update(chain, [node for node in earlier if node in read])

    def _chain(self, fx: FxNode) -> list[FxNode]:
        chain, source = [fx], self._sources[fx]
        while source is not None:
            chain.append(source)
            source = self._sources[source]
        return chain

    def _is_view(self, fx: FxNode, known: Container[str]) -> bool:
        return fx in self.whole or name_of(fx.target) in known

    def _is_read_behind(self, alias: FxNode, place: int) -> bool:
        return any(self._places[user] > place for user in alias.users)


def _first_name(target: Any) -> str:
    return str(target._schema.arguments[0].name)


def _is_training(dropout: FxNode) -> bool:
    return bool(dropout.kwargs.get("train", dropout.args[-1]))


def _is_own_result(item: FxNode, operator_call: FxNode) -> bool:
    """Check whether an item is a new tensor of an operator with several results, and no other node takes it."""
    schema = getattr(operator_call.target, "_schema", None)
    if schema is None or any(each.alias_info is not None for each in schema.returns):
        return False
    return not any(user is not item and user.args[1:] == item.args[1:] for user in operator_call.users)


def _source(fx: FxNode) -> tuple[FxNode | None, bool]:
    """Return the source of a result's memory, and True if the result is the whole source, not a view."""
    if fx.op != "call_function" or not fx.all_input_nodes:
        return None, True
    first = fx.all_input_nodes[0]
    if fx.target is operator.getitem:
        return (None, True) if _is_own_result(fx, first) else (first, False)
    if (schema := getattr(fx.target, "_schema", None)) is None:
        return first, False  # A subgraph may return its input.
    if schema.name in _DROPOUTS:
        return (None, True) if _is_training(fx) else (first, True)
    if schema.is_mutable:
        return (fx.args[0], True) if fx.args and hasattr(fx.args[0], "op") else (None, True)
    is_view = any(each.alias_info is not None for each in schema.returns)
    return (first, False) if is_view else (None, True)
