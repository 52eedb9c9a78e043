# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs of a torch graph with eager mode's strides, storage offsets and aliasing.

A program returns contiguous tensors, each in memory of its own. The outputs of a graph may share memory with each other
or with arguments, and may have other strides. So the program computes one tensor for each storage, and the outputs are
views of these tensors and of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fx_operators import is_scalar
from ..memory_layouts import are_same, contiguous_strides, is_dense, may_overlap, memory_order
from .torch_sizes import SizeGroup, SymbolReadings, node_of_symbol
from .torch_storages import TensorPlace, places_of

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode


class _View(NamedTuple):
    """Output that is a view of an argument's or a result's memory."""

    output: int
    dtype: Any
    conjugates: bool
    negates: bool

    def of(self, shown: Any, size: Sequence[int], stride: Sequence[int], start: Sequence[int]) -> Any:
        """Return the view of a tensor. `start` counts elements from the tensor's first element."""
        import torch

        if shown.dtype == self.dtype:
            found = shown.as_strided(size, stride, shown.storage_offset() + start[0])
        else:
            first = shown.storage_offset() * shown.element_size() // self.dtype.itemsize
            empty = torch.empty(0, dtype=self.dtype, device=shown.device)
            found = empty.set_(shown.untyped_storage(), first + start[0], size, stride)
        found = found.conj() if self.conjugates else found
        return torch._neg_view(found) if self.negates else found


class _Spread(NamedTuple):
    """Result with gaps in memory, or an offset, in eager mode."""

    place: int

    def of(self, result: Any, size: Sequence[int], stride: Sequence[int], start: Sequence[int]) -> Any:
        """Return a copy of a result with the gaps. `start` also has the length of the memory."""
        import torch

        memory = torch.empty(start[1], dtype=result.dtype, device=result.device)
        return memory.as_strided(size, stride, start[0]).copy_(result)


class TorchResults:
    """Recipe that builds a graph's outputs from its arguments and its program's results.

    The constructor changes the graph: afterwards its outputs are the results of the program.
    """

    def __init__(self, graph: GraphModule) -> None:
        output = graph.graph.output_node()
        outputs: Sequence[Any] = output.args[0]
        placeholders = list(graph.graph.find_nodes(op="placeholder"))
        self._constants = [each for each in outputs if not hasattr(each, "meta")]
        #: Position of each node in a list of the constants, the arguments and the results.
        self._places = {fx: len(self._constants) + place for place, fx in enumerate(placeholders)}
        self._first = len(self._constants) + len(placeholders)
        self._tensors = places_of(graph)
        self._owners = _owners(graph, self._tensors)
        self._readings = SymbolReadings()
        for fx, place in self._places.items():
            self._readings.add(fx.meta.get("val"), place)
        #: Nodes that the program computes, with the order of their dimensions in the results.
        self._computed: list[tuple[FxNode, Sequence[int]]] = []
        #: Positions of results that are numbers.
        self._numbers: list[int] = []
        self._spreads: list[_Spread] = []
        self._views: list[_View] = []
        spread_sizes: list[SizeGroup] = []
        view_sizes: list[SizeGroup] = []
        sources = self._sources(outputs, spread_sizes, view_sizes)
        self._take = taking(sources)
        self._sizes = self._size_function(graph, [*spread_sizes, *view_sizes])
        results = [_permute_to_memory_order(graph, output, fx, order) for fx, order in self._computed]
        output.args = (tuple(results),)
        _erase_unused_views(graph, outputs, self._tensors)
        self.count = len(results)
        is_changed = self._numbers or self._sizes
        #: True if the outputs are the results of the program, in order.
        self.are_outputs = not is_changed and sources == list(range(self._first, self._first + self.count))

    # ---- the recipe ----

    def _sources(self, outputs: Sequence[Any], spread_sizes: list[SizeGroup], view_sizes: list[SizeGroup]) -> list[int]:
        """Return the position of each output's source, and collect the sizes of views and of results with gaps."""
        sources: list[int] = []
        constants = iter(range(len(self._constants)))
        for index, fx in enumerate(outputs):
            if not hasattr(fx, "meta"):
                sources.append(next(constants))
                continue
            meta = fx.meta.get("val")
            owner = self._owner(fx)
            sources.append(self._place(owner, spread_sizes))
            if fx is owner and (fx.op == "placeholder" or not self._has_strides_of_its_own(fx)):
                continue
            shown = owner.meta["val"]
            changes = (meta.is_conj() != shown.is_conj(), meta.is_neg() != shown.is_neg())
            self._views.append(_View(index, meta.dtype, *changes))
            first = shown.storage_offset() * shown.element_size() // meta.element_size()
            shift = (self._tensors[fx].shift - self._tensors[owner].shift) // meta.element_size()
            view_sizes.append((meta.shape, meta.stride(), (meta.storage_offset() - first + shift,)))
        return sources

    def _owner(self, fx: FxNode) -> FxNode:
        """Return the node with the tensor of which a node is a view, or the node itself."""
        return self._owners.get(self._tensors[fx].storage, fx) if fx in self._tensors else fx

    def _has_strides_of_its_own(self, fx: FxNode) -> bool:
        """Check whether a tensor's strides differ from a contiguous tensor's strides."""
        meta = fx.meta.get("val")
        return fx in self._tensors and not (is_dense(meta) and are_same(meta.stride(), contiguous_strides(meta.shape)))

    def _place(self, fx: FxNode, spread_sizes: list[SizeGroup]) -> int:
        """Return the position of a node's value, which becomes a result of the program unless it is an argument."""
        if fx in self._places:
            return self._places[fx]
        meta = fx.meta.get("val")
        place = self._places[fx] = self._first + len(self._computed)
        order = memory_order(meta) if hasattr(meta, "shape") else ()
        self._computed.append((fx, order if order is not None else range(meta.dim())))
        self._readings.add(meta, place, order)
        if is_scalar(meta):
            self._numbers.append(place)
        elif fx in self._tensors and self._tensors[fx].storage in self._owners and not is_dense(meta):
            self._spreads.append(_Spread(place))
            length = meta.untyped_storage().nbytes() // meta.element_size()
            spread_sizes.append((meta.shape, meta.stride(), (meta.storage_offset(), length)))
        return place

    def _size_function(
        self, graph: GraphModule, groups: Sequence[SizeGroup]
    ) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
        """Return the function that computes the sizes of a call. Numbers that the function needs become results."""
        if not groups:
            return None
        for symbol in self._readings.missing(groups):
            self._place(node_of_symbol(graph, symbol), [])
        return self._readings.function(groups)

    # ---- a call ----

    def outputs(self, given: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Return the outputs of a call."""
        values = [*self._constants, *given, *results]
        for place in self._numbers:
            values[place] = values[place].item()
        if self._sizes is None:
            return list(self._take(values))
        groups = self._sizes(values)
        count = len(self._spreads)
        for spread, sizes in zip(self._spreads, groups[:count], strict=True):
            values[spread.place] = spread.of(values[spread.place], *sizes)
        found = list(self._take(values))
        for view, sizes in zip(self._views, groups[count:], strict=True):
            found[view.output] = view.of(found[view.output], *sizes)
        return found


def taking(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that takes elements of a list by their positions."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


# ---- storages ----


def _owners(graph: GraphModule, places: Mapping[FxNode, TensorPlace]) -> Mapping[Hashable, FxNode]:
    """Return the first node of each storage. All other nodes with the storage are views of its tensor."""
    fx_nodes: dict[Hashable, FxNode] = {}
    for fx in graph.graph.nodes:
        if fx in places:
            fx_nodes.setdefault(places[fx].storage, fx)
    # A result cannot be copied into memory with overlapping elements.
    return {
        storage: fx
        for storage, fx in fx_nodes.items()
        if fx.op == "placeholder" or is_dense(fx.meta["val"]) or not may_overlap(fx.meta["val"])
    }


def _permute_to_memory_order(graph: GraphModule, output: FxNode, fx: FxNode, order: Sequence[int]) -> FxNode:
    """Return a node with a contiguous result in the memory order of a tensor with other strides."""
    return fx if list(order) == sorted(order) else _insert_permute(graph, output, fx, order)


def _insert_permute(graph: GraphModule, before: FxNode, fx: FxNode, order: Sequence[int]) -> FxNode:
    import torch

    with graph.graph.inserting_before(before):
        made = graph.graph.call_function(torch.ops.aten.permute.default, (fx, list(order)))
    made.meta = {**fx.meta, "val": fx.meta["val"].permute(list(order))}
    return made


def permute_arguments(graph: GraphModule) -> Mapping[int, Sequence[int]]:
    """Let a graph take arguments in memory order. Return the orders of arguments to permute or copy, by position."""
    orders: dict[int, Sequence[int]] = {}
    tensors = places_of(graph)
    placeholders = list(graph.graph.find_nodes(op="placeholder"))
    for place, fx in enumerate(placeholders):
        if fx not in tensors:
            continue
        original = fx.meta["val"]
        order = memory_order(original)
        if order is None:
            orders[place] = list(range(original.dim()))  # has gaps or overlaps: a copy
        if order is None or list(order) == sorted(order):
            continue
        orders[place] = order
        fx.meta = {**fx.meta, "val": original.permute(list(order))}
        made = _insert_permute(graph, placeholders[-1].next, fx, sorted(range(len(order)), key=order.__getitem__))
        made.meta = {**made.meta, "val": original}
        fx.replace_all_uses_with(made, delete_user_cb=lambda user, made=made: user is not made)
    return orders


def _erase_unused_views(graph: GraphModule, outputs: Sequence[Any], places: Mapping[FxNode, TensorPlace]) -> None:
    """Erase view nodes that only the outputs needed."""
    pending = [fx for fx in outputs if hasattr(fx, "meta")]
    erased: set[FxNode] = set()
    while pending:
        fx = pending.pop()
        storages = [places[node].storage for node in fx.all_input_nodes if node in places]
        is_view = fx in places and places[fx].storage in storages
        if is_view and fx.op == "call_function" and not fx.users and fx not in erased:
            erased.add(fx)
            pending += fx.all_input_nodes
            graph.graph.erase_node(fx)
