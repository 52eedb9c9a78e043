# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates in place that are imported as they are: of a whole tensor that a node has made, of which no view is read
later. All others, through views, of arguments and of buffers, are made functional by torch.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.fx import Graph
    from torch.fx import Node as FxNode

# Operators that give what they get, unless the model trains: their schemas do not say so.
_DROPOUTS = ("aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout")

# Operators that update the statistics of a model that trains: their schemas do not say that, either.
_NORMS = ("aten::batch_norm", "aten::instance_norm")


def is_updating(fx: FxNode) -> bool:
    """Whether a node updates an argument."""
    if fx.op != "call_function":
        return False
    schema = getattr(fx.target, "_schema", None)
    if schema is not None and schema.name in _NORMS:
        statistics, is_training = fx.args[3], fx.args[5]
        return statistics is not None and is_training is not False
    return is_mutable(fx.target)


def is_mutable(target: Any) -> bool:
    """Whether an operator updates an argument."""
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.is_mutable


def updated_argument(target: Any) -> str | None:
    """The name of the only argument that an operator updates and gives; None where there is no such one."""
    if not is_mutable(target):
        return None
    names, returns = updated_arguments(target), target._schema.returns
    return names[0] if len(names) == 1 and len(returns) == 1 and returns[0].alias_info is not None else None


def updated_arguments(target: Any) -> list[str]:
    """The names of arguments that an operator updates."""
    own = target._schema.arguments
    return [each.name for each in own if each.alias_info is not None and each.alias_info.is_write]


class Updates:
    """The updates in place of a graph."""

    def __init__(self, graph: Graph):
        self._places = {fx: place for place, fx in enumerate(graph.nodes)}
        #: The node that made the tensor that a node gives, and whether it gives the whole of it.
        self._roots: dict[FxNode, tuple[FxNode, bool]] = {}
        self._aliases: dict[FxNode, list[FxNode]] = {}
        #: The nodes that update: what stands for the updated tensor afterwards.
        self.simple: dict[FxNode, list[FxNode]] = {}
        self.are_all_simple = True
        for fx in graph.nodes:
            self._follow(fx)
        for fx in graph.nodes:
            if is_updating(fx):
                self._judge(fx)

    def _follow(self, fx: FxNode) -> None:
        source, is_whole = _source(fx)
        if source is None:
            root, whole = fx, True
        else:
            root, whole = self._roots[source]
            whole = whole and is_whole
        self._roots[fx] = root, whole
        self._aliases.setdefault(root, []).append(fx)

    def _judge(self, fx: FxNode) -> None:
        name = updated_argument(fx.target)
        updated = fx.args[0] if name is not None and fx.args and name == _first_name(fx.target) else None
        if updated is None or updated not in self._roots:
            self.are_all_simple = False
            return
        root, is_whole = self._roots[updated]
        aliases = self._aliases[root]
        views = [each for each in aliases if not self._roots[each][1]]
        is_read_later = any(self._places[user] > self._places[fx] for each in views for user in each.users)
        if root.op != "call_function" or not is_whole or is_read_later:
            self.are_all_simple = False
        else:
            self.simple[fx] = [each for each in aliases if self._roots[each][1] and each is not fx]


def _first_name(target: Any) -> str:
    return str(target._schema.arguments[0].name)


def _source(fx: FxNode) -> tuple[FxNode | None, bool]:
    """The node whose memory a node's result is in, and whether it is all of it: of an update, not of a view."""
    if fx.op != "call_function" or not fx.all_input_nodes:
        return None, True
    first = fx.all_input_nodes[0]
    if fx.target is operator.getitem:
        return first, False
    schema = getattr(fx.target, "_schema", None)
    if schema is None:
        return first, False  # a graph in a node may give what it gets
    if schema.name in _DROPOUTS:
        return (None, True) if fx.kwargs.get("train", fx.args[-1]) else (first, True)
    if schema.is_mutable:
        return (fx.args[0], True) if fx.args and hasattr(fx.args[0], "op") else (None, True)
    is_view = any(each.alias_info is not None for each in schema.returns)
    return (first, False) if is_view else (None, True)
