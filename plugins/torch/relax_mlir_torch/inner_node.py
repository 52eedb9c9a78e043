# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that converters create to call another operator's converter."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.frontends.core.sizes import Size, sizes_of
from relax_mlir.frontends.core.values import Value

from .fx_node import TorchNode


class InnerNode(TorchNode):
    """Use of an operator within another node.

    `like` has a value or torch's metadata of the type of each result, or None for unused results. `metas` has torch's
    metadata of the arguments.
    """

    def __init__(
        self,
        of: TorchNode,
        op: str,
        arguments: Mapping[str, object],
        like: Sequence[Any],
        metas: Mapping[str, Any] | None = None,
    ):
        super().__init__(of.fx, of.name, op, arguments, of.graph)
        self.metas = dict(metas or {})
        self._like = like

    def part(self, of: Callable[[Any], Any]) -> InnerNode:
        changed = super().part(of).arguments
        return InnerNode(self, self.op, changed, self._like, self.metas)

    @property
    def results(self) -> list[TensorInfo | None]:
        return [each.info if isinstance(each, Value) else self.graph.info_of(each) for each in self._like]

    def result_sizes(self, index: builtins.int) -> list[Size]:
        like = self._like[index]
        return sizes_of(like) if isinstance(like, Value) else self._sizes_of(like.shape)

    @property
    def is_wanted(self) -> list[bool]:
        return [each is not None for each in self._like]
