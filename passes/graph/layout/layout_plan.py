# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout assignment: requested layouts are fixed, and all others are chosen to move the fewest bytes.

Three sweeps visit the operations. The first one follows the layouts of the operands. The other two, backwards and
forwards, choose the cheapest layout for each operation with all others as they are. Candidates are the program's layout
and the layouts of the operands and users. The second sweep propagates layouts that are cheaper further down upwards, so
that no tie hides them. The last sweep sinks conversions of equal cost as far as possible, behind operations that are
fused with their producer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod

from ....bindings.ir import Operation, OperationBase, Type, Value
from ....dialects.core.infos import bit_width
from ....dialects.core.operator import Operator
from ....dialects.relax.infer.layouts import Layout
from .call import Placement
from .node import Kinds, LayoutNode, Wire, Wires, tensor_of
from .order import in_order
from .relations import as_it_is, keeps_order, widened

#: Assumed size of a dynamic dimension.
_UNKNOWN_SIZE = 32

#: Callable that returns the layouts requested for an operation, or None.
Asked = Callable[[Operation, Operator], "Sequence[str] | None"]


class LayoutPlan:
    """Layouts of the values in an operation."""

    def __init__(self, root: OperationBase, asked: Asked):
        kinds = Kinds()
        #: Operations without operands, such as constants, keep their layouts. Users that want another one convert.
        self.nodes = [
            LayoutNode(operation, operands, is_reached, kinds)
            for operation, is_reached in in_order(root)
            if operation.name != "arith.constant" and (operands := list(operation.operands))
        ]
        self._prices: dict[tuple[Type, Layout | None, Layout | None], int] = {}
        fixed = [self._is_asked(node, asked) for node in self.nodes]
        self.is_empty = not any(node.is_changed for node in self.nodes)
        if self.is_empty:
            return
        wires = Wires()
        for node in self.nodes:
            node.connect(wires)
        self._settle_all(is_changed=True)
        pairs = zip(self.nodes, fixed, strict=True)
        free = [node for node, is_fixed in pairs if node.kind.rule is not None and not is_fixed]
        self._follow(free)
        self._settle_all(is_changed=False)
        if self._sweep(free[::-1], upwards=True):
            self._sweep(free, upwards=False)

    @staticmethod
    def _is_asked(node: LayoutNode, asked: Asked) -> bool:
        """Give an operation its requested layouts.

        Return False if there are none, or the operation cannot have them.
        """
        if node.kind.row is None or node.kind.rule is None or not node.kind.row.layouts:
            return False
        if (texts := asked(node.operation, node.kind.row)) is None:
            return False
        if (placement := node.kind.asked(texts)) is None:
            return False
        is_so_already = not any((*placement.operands, *placement.results))
        node.placement = node.plain if is_so_already else placement
        return True

    def _follow(self, nodes: Iterable[LayoutNode]) -> None:
        """Choose layouts by the operands only. Users have not been visited yet."""
        for node in nodes:
            arriving = node.arriving
            if not (options := node.placements(arriving)):
                continue
            best = options[0]
            if best.wanted != arriving or node.kind.moves:
                best = _cheapest([*options, node.plain], partial(self._cost_to_make, node))
            if best is not node.plain:
                self._settle(node, best)

    def _sweep(self, nodes: Iterable[LayoutNode], *, upwards: bool) -> bool:
        """Choose the cheapest layout of each operation. Return True if there was a choice."""
        is_chosen = False
        for node in nodes:
            if not self._is_at_ease(node):
                self._withdraw(node)
                self._settle(node, _cheapest(self._options(node, upwards), partial(self._cost, node)))
                is_chosen = True
        return is_chosen

    def _is_at_ease(self, node: LayoutNode) -> bool:
        """Check whether all neighbours of an operation have its layout."""
        placement = node.placement
        if node.kind.moves and not placement.is_view:
            return False
        for wire, wanted in zip(node.inputs, placement.wanted, strict=True):
            if wire.layout != wanted:
                return False
        for wire in node.outputs:
            for layout, count in wire.needs.items():
                if count and layout != wire.layout:
                    return False
        return True

    def _options(self, node: LayoutNode, upwards: bool) -> list[Placement]:
        """Return the candidate layouts of an operation. The first of equal candidates wins."""
        arriving = node.placements(node.arriving)
        placements = node.placements(layout for wire in node.outputs for layout in wire.wanted)
        if node.kind.moves:
            placements = [*placements, *node.placements([as_it_is(node.kind.rank)])]
        return [*placements, node.plain, *arriving] if upwards else [*arriving, node.plain, *placements]

    def _settle_all(self, *, is_changed: bool) -> None:
        for node in self.nodes:
            if node.is_changed is is_changed:
                self._settle(node, node.placement)

    @staticmethod
    def _settle(node: LayoutNode, placement: Placement) -> None:
        node.placement = placement
        for wire, layout in zip(node.inputs, placement.wanted, strict=True):
            wire.needs[layout] = wire.needs.get(layout, 0) + 1
        for wire, layout in zip(node.outputs, placement.results, strict=True):
            wire.layout = layout

    @staticmethod
    def _withdraw(node: LayoutNode) -> None:
        for wire, layout in zip(node.inputs, node.placement.wanted, strict=True):
            wire.needs[layout] -= 1
        for wire in node.outputs:
            wire.layout = None

    # ---- cost ----

    def _cost(self, node: LayoutNode, placement: Placement) -> int:
        """Return the bytes that conversions of results move, and of operands that no other use wants in this layout."""
        uses = zip(node.inputs, placement.wanted, strict=True)
        cost = self._cost_of(node, placement, ((wire, layout) for wire, layout in uses if not wire.needs.get(layout)))
        for wire, layout in zip(node.outputs, placement.results, strict=True):
            cost += sum(self._price(wire, layout, wanted) for wanted in wire.wanted)
        return cost

    def _cost_to_make(self, node: LayoutNode, placement: Placement) -> int:
        """Return the bytes that conversions of operands move, regardless of other uses."""
        return self._cost_of(node, placement, zip(node.inputs, placement.wanted, strict=True))

    def _cost_of(self, node: LayoutNode, placement: Placement, uses: Iterable[tuple[Wire, Layout | None]]) -> int:
        """Return the bytes that an operation and its conversions move."""
        own = _bytes(node.outputs[0].value) if node.kind.moves and not placement.is_view else 0
        # One conversion serves equal operands.
        moved = {(wire, layout) for wire, layout in uses if wire.layout != layout}
        return own + sum(self._price(wire, wire.layout, wanted) for wire, wanted in moved)

    def _price(self, wire: Wire, layout: Layout | None, wanted: Layout | None) -> int:
        if layout == wanted or layout is None and wire.is_constant:
            return 0
        value = wire.value
        key = (value.type, layout, wanted)
        if (price := self._prices.get(key)) is None:
            price = self._prices[key] = 0 if _is_free(value, layout, wanted) else _bytes(value)
        return price


def _cheapest(options: Sequence[Placement], cost: Callable[[Placement], int]) -> Placement:
    """Return the first of the cheapest options, without pricing options after a free one."""
    best, least = options[0], -1
    for option in options:
        if not (price := cost(option)):
            return option
        if least < 0 or price < least:
            best, least = option, price
    return best


def _bytes(value: Value) -> int:
    info = tensor_of(value)
    assert info is not None and info.shape is not None
    sizes = [size if isinstance(size, int) else _UNKNOWN_SIZE for size in info.shape]
    return prod(sizes) * -(-bit_width(info.dtype) // 8)


def _is_free(value: Value, layout: Layout | None, wanted: Layout | None) -> bool:
    """Check whether a conversion costs nothing at run time."""
    info = tensor_of(value)
    assert info is not None and info.shape is not None
    goal = wanted or as_it_is(len(info.shape))
    return keeps_order(widened(layout, len(info.shape), goal.rank), goal, info.shape)
