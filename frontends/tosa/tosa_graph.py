# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a graph of relax operators from the blocks of a TOSA module."""

from __future__ import annotations

from ..core.dialect_graph import DialectGraph
from .registry import CONVERTERS
from .tosa_node import Node


class TosaGraph(DialectGraph):
    """A block of a TOSA module that is imported."""

    node_class = Node
    converters = CONVERTERS
    terminators = ("func.return", "tosa.yield")
