# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storages of the tensors of a torch graph: the nodes that share memory.

torch's fake tensors tell which node is a view, and where it begins. They do not tell several calls of one subgraph
apart: the results of a later call have the storages and offsets of the first call's. The places of these results follow
from the subgraph.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fx_operators import name_of

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode

_INVOKED = "higher_order::invoke_subgraph"


class TensorPlace(NamedTuple):
    """Place of a tensor in memory: its storage, and the bytes from the offset of the fake tensor to the real one."""

    storage: Hashable
    shift: Any = 0


class _Subgraph(NamedTuple):
    """Subgraph with the places of its nodes, and the first node of each storage."""

    graph: GraphModule
    places: Mapping[FxNode, TensorPlace]
    owners: Mapping[Hashable, FxNode]


class _Result(NamedTuple):
    """Result of a call of a subgraph, which a node selects."""

    call: FxNode
    inner: _Subgraph
    fx: FxNode


def places_of(graph: GraphModule) -> Mapping[FxNode, TensorPlace]:
    """Return the place of each node that has a tensor with strides."""
    places: dict[FxNode, TensorPlace] = {}
    subgraphs: dict[GraphModule, _Subgraph] = {}
    for fx in graph.graph.nodes:
        if (storage := _fake_storage(fx)) is not None:
            result = _invoked_result(graph, fx, subgraphs)
            places[fx] = _find_view(fx, storage, places) if result is None else _find_result(fx, result, places)
    return places


def _fake_storage(fx: FxNode) -> int | None:
    """Return the identity of a fake tensor's storage, or None for other values and tensors without strides."""
    import torch

    meta = fx.meta.get("val")
    if not isinstance(meta, torch.Tensor) or meta.layout != torch.strided:
        return None
    return meta.untyped_storage()._cdata


def _start(fx: FxNode) -> Any:
    """Return the offset of a fake tensor in bytes."""
    meta = fx.meta["val"]
    return meta.storage_offset() * meta.element_size()


def _find_view(fx: FxNode, storage: int, tensor_places: Mapping[FxNode, TensorPlace]) -> TensorPlace:
    """Return the place of a node: that of the operand of which the node is a view, or its own.

    Arguments share memory in the call that torch traces, but not in all later calls.
    """
    if fx.op == "placeholder":
        return TensorPlace(fx)
    return next(
        (tensor_places[tensor] for tensor in _tensors_of(fx) if _fake_storage(tensor) == storage), TensorPlace(storage)
    )


def _tensors_of(fx: FxNode) -> Iterator[FxNode]:
    """Yield the operands of a node. An element of a list has the operands of the list's node."""
    for node in fx.all_input_nodes:
        is_element = fx.target is operator.getitem and isinstance(node.meta.get("val"), (list, tuple))
        yield from node.all_input_nodes if is_element else [node]


def _invoked_result(graph: GraphModule, fx: FxNode, known: dict[GraphModule, _Subgraph]) -> _Result | None:
    """Return the result of a subgraph that a node selects, or None for other nodes. `known` caches the subgraphs."""
    call: Any = fx.args[0] if fx.target is operator.getitem else None
    if not hasattr(call, "target") or call.op != "call_function" or name_of(call.target) != _INVOKED:
        return None
    if (inner := operator.attrgetter(str(call.args[0].target))(graph)) not in known:
        known[inner] = _subgraph(inner)
    return _Result(call, known[inner], inner.graph.output_node().args[0][fx.args[1]])


def _subgraph(graph: GraphModule) -> _Subgraph:
    places = places_of(graph)
    owners: dict[Hashable, FxNode] = {}
    for fx, place in places.items():
        owners.setdefault(place.storage, fx)
    return _Subgraph(graph, places, owners)


def _find_result(fx: FxNode, result: _Result, tensor_places: Mapping[FxNode, TensorPlace]) -> TensorPlace:
    """Return the place of a subgraph's result: in the memory of an operand of the call, or in memory of this call."""
    places = result.inner.places
    own = places.get(result.fx, TensorPlace(result.fx))
    for inner, operand in zip(result.inner.graph.graph.find_nodes(op="placeholder"), result.call.args[2:], strict=True):
        if operand in tensor_places and inner in places and places[inner].storage == own.storage:
            place = tensor_places[operand]
            moved = _start(operand) - _start(inner) + _start(result.fx) - _start(fx)
            return TensorPlace(place.storage, place.shift + own.shift + moved)
    shared = TensorPlace((result.call, own.storage), own.shift)
    if result.inner.owners.get(own.storage, result.fx) is result.fx or any(
        tensor_place.storage == shared.storage for tensor_place in tensor_places.values()
    ):
        return shared
    # Memory of which no earlier node has the whole tensor: the result is a tensor of its own.
    return TensorPlace((result.call, result.fx))
