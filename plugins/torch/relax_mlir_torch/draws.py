# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and seeds of the random numbers in a graph of torch."""

from __future__ import annotations

import zlib
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from relax_mlir.frontends.core import random_numbers
from relax_mlir.frontends.core.tensors import cast, relax
from relax_mlir.frontends.core.values import Tensor

if TYPE_CHECKING:
    from torch.fx import GraphModule


class Draws:
    """Source of the key and the seed of each random draw.

    A program counts its draws, and a draw's seed is the name of its node. If each call passes a key, the numbers depend
    only on the key. The seed is then the index of the node among the graph's draws.
    """

    def __init__(self) -> None:
        self._key: Tensor | None = None
        self._start: Tensor | None = None
        self.count = 0

    def bring(self, key: Tensor, *, is_repeated: bool) -> None:
        """Use the key of a call. With `is_repeated`, some draws are in loops, and each iteration needs its own key."""
        self._key = cast(key, "ui64")
        self._start = random_numbers.draw() if is_repeated else None

    def key(self, *, is_inside: bool) -> Tensor:
        """Return the key of the next draw.

        With `is_inside`, the draw is in a subgraph, which may run several times per call.
        """
        self.count += 1
        if self._key is None:
            return random_numbers.draw()
        if not is_inside:
            return self._key
        assert self._start is not None
        return relax.add(self._key, relax.subtract(random_numbers.draw(), self._start))

    def seed(self, name: str) -> int:
        """Return the seed of the draw of the last returned key."""
        return zlib.crc32(name.encode()) if self._key is None else self.count


def draws_in(graph: GraphModule) -> list[bool]:
    """Return, for each graph of a module that may draw random numbers, whether it is the graph of a node."""
    return [
        name != ""
        for name, module in graph.named_modules()
        if hasattr(module, "graph") and any(map(_may_draw, module.graph.nodes))
    ]


def save_drawn(joint: GraphModule) -> None:
    """Save the results of regions that draw, in a graph of both directions: torch's checkpoints would draw anew."""
    import torch

    for fx in joint.graph.find_nodes(op="call_function", target=torch.ops.higher_order.invoke_subgraph):
        if draws_in(attrgetter(str(fx.args[0].target))(joint)):
            for user in (fx, *fx.users):
                user.meta["recompute"] = torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE


def _may_draw(fx: Any) -> bool:
    """Check whether a node draws random numbers. A node that repeats draws has the drawing operator as an argument."""
    import torch

    targets = [fx.target, *(arg for arg in fx.args if hasattr(arg, "tags"))] if fx.op == "call_function" else []
    return any(torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) for target in targets)
