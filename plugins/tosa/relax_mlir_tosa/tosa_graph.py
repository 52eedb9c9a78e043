# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of relax graphs from the blocks of a TOSA module."""

from __future__ import annotations

from relax_mlir.frontends.core.dialect_graph import DialectGraph

from .registry import CONVERTERS
from .tosa_node import TosaNode


class TosaGraph(DialectGraph):
    """Block of a TOSA module during import."""

    node_class = TosaNode
    converters = CONVERTERS
    terminators = ("func.return", "tosa.yield")
