# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of a graph that torch.export traced, and the graph's nodes by the operations of the imported module."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.diagnostics import origins
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import made_by, users_of
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.frontends.core.problems import Problems
from relax_mlir.frontends.module import Module
from relax_mlir.support.errors import ModelError

from ..decomposition import functional
from ..from_torch import WORDS
from ..fx_operators import arguments_of
from ..program_main import add_main

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    import torch

#: Operators with another meaning in training: the argument that says so.
_TRAINED = {"aten::batch_norm": "training", "aten::dropout": "train", "aten::dropout_": "train"}
Edge = tuple["Node", "Node"]


class ExportedGraph:
    """Graph that torch.export traced, as a module in the form for inference, with the graph's nodes by name."""

    def __init__(self, model: GraphModule):
        self.model = model
        self._order = {node: place for place, node in enumerate(model.graph.nodes)}
        self._inputs = [node for node in model.graph.nodes if node.op == "placeholder" and _is_tensor(node)]
        copied = _strip_training(model)
        program = functional(_export_again(copied))
        by_name = {node.name: node for node in model.graph.nodes}
        #: Node of the graph by the name that operations of the module have.
        self._nodes: dict[str, Node] = {}
        for node in program.graph.nodes:
            name = _original_name(node.meta.get("from_node") or (), id(copied.graph))
            if node.op == "call_function" and name in by_name:
                self._nodes[node.name] = by_name[name]
        self._present = set(self._nodes.values())
        self.module, problems = Module(), Problems(WORDS)
        add_main(self.module.operation, program, problems, (), False)
        problems.check()
        self.module.verify()

    def name_of(self, name: str) -> str:
        """Return the name in the graph of a node of the module."""
        node = self._nodes.get(name)
        return name if node is None else str(node.name)

    def nodes_of(self, operations: Iterable[Operation]) -> list[Node]:
        """Return the nodes that operations compute, in the graph's order."""
        names = [origin.name for operation in operations for origin in origins(operation.location)]
        return self.in_order(self._nodes[name] for name in names if name in self._nodes)

    def in_order(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes once each, in the graph's order."""
        return sorted(set(nodes), key=self._order.__getitem__)

    def producer_of(self, value: Value) -> Node | None:
        """Return the node with this tensor as its result, or None if no single node computes the tensor."""
        if (maker := made_by(value)) is None:
            place = ir.BlockArgument(value).arg_number
            return self._inputs[place] if place < len(self._inputs) else None
        node = self._last_node(maker)
        if node is None or any(self._last_node(user) is node for user in users_of(value)):
            return None
        if _is_tensor(node):
            return node
        place = list(maker.results).index(value)
        parts = [user for user in node.users if user.args[1:] == (place,)]
        return parts[0] if len(maker.results) > 1 and parts else None

    def _last_node(self, operation: Operation) -> Node | None:
        return next(iter(self.nodes_of([operation])[::-1]), None)

    def edge_of(self, value: Value, inside: Sequence[Node]) -> Edge | None:
        """Return the edge by which nodes read a tensor that other nodes compute, or None."""
        source = self.producer_of(value)
        return next((edge for edge in _edges_into(inside) if self._is_same(edge[0], source)), None)

    def _is_same(self, node: Node, source: Node | None) -> bool:
        """Check whether a node returns the tensor of another one, behind nodes without effect such as dropout."""
        while node is not source and node not in self._present and len(node.all_input_nodes) == 1:
            node = node.all_input_nodes[0]
        return node is source

    def constant_edge_of(self, value: Value, inside: Sequence[Node], *, is_bias: bool) -> Edge | None:
        """Return the edge by which nodes read constant weights or a constant bias, or None."""
        shape = shape_of(value)
        for source, node in _edges_into(inside):
            names = [name for name, argument in arguments_of(node).items() if argument is source]
            is_norm = "norm" in str(node.target)
            if is_norm or not _is_constant(source) or ("bias" in names) != is_bias:
                continue
            if shape is not None and _count(shape) == source.meta["val"].numel():
                return source, node
        return None


def _edges_into(inside: Sequence[Node]) -> Iterator[Edge]:
    for node in inside:
        yield from ((input_node, node) for input_node in node.all_input_nodes if input_node not in inside)


def _count(shape: Sequence[Any]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _is_tensor(node: Node) -> bool:
    return hasattr(node.meta.get("val"), "dtype")


def _is_constant(node: Node) -> bool:
    """Check whether a node is a parameter, or is computed from parameters."""
    if node.op == "get_attr":
        return True
    return node.op == "call_function" and bool(node.all_input_nodes) and all(map(_is_constant, node.all_input_nodes))


def _strip_training(model: GraphModule) -> GraphModule:
    """Return the graph without training and without guards. Parameters are shared."""
    import torch

    copied = torch.fx.GraphModule(model, copy.deepcopy(model.graph))
    for node in list(copied.graph.nodes):
        if node.op == "call_module" and node.target == "_guards_fn":
            copied.graph.erase_node(node)
        schema = getattr(node.target, "_schema", None)
        if (name := _TRAINED.get(getattr(schema, "name", ""))) is not None and schema is not None:
            place = [argument.name for argument in schema.arguments].index(name)
            if place < len(node.args):
                node.update_arg(place, False)
    copied.recompile()
    return copied


def _export_again(model: GraphModule) -> Any:
    """Export a graph again, with its sizes. The new nodes name the old ones."""
    from torch.utils import _pytree as pytree

    import torch

    given = [_example(node) for node in model.graph.nodes if node.op == "placeholder"]
    info = getattr(model.graph._codegen, "pytree_info", None)
    args, kwargs = (given, {}) if info is None else pytree.tree_unflatten(given, info.in_spec)
    with torch.no_grad():
        return torch.export.export(model, tuple(args), kwargs)


def _example(node: Node) -> torch.Tensor | int | float | bool | None:
    """Return an argument with the type of a placeholder."""
    import torch

    if "val" not in node.meta:
        raise ModelError(
            f"{node.name}: the input has no type: pass prepare_pt2e the result of torch.export.export(...).module()"
        )
    if isinstance(held := node.meta["val"], torch.Tensor):
        return torch.zeros([_hint(size) for size in held.shape], dtype=held.dtype)
    return _hint(held)


def _hint(size: Any) -> Any:
    return size.node.hint if hasattr(size, "node") else size


def _original_name(sources: Any, graph: int) -> str | None:
    """Return the name that a node had in a graph before exports, or None."""
    for source in sources:
        if source.graph_id == graph:
            return str(source.name)
        if (original_name := _original_name(source.from_node, graph)) is not None:
            return original_name
    return None
