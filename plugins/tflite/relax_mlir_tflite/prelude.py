# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that converters import: relax's operators, nodes, values, and helpers for tensors of the graph.

`from ..prelude import Node, Outputs, register_tflite, relax` replaces one import line per module in each file.
"""

from __future__ import annotations

from relax_mlir import graph_sizes as sizes
from relax_mlir import relax
from relax_mlir.front_ends import (
    Number,
    Outputs,
    Tensor,
    Value,
    along_axis,
    cast,
    const,
    elementwise,
    info_of,
    joined,
    known,
    like,
    part,
)

from .registry import Convert, register_rows, register_tflite
from .tflite_node import Node

__all__ = [
    "Convert", "Node", "Number", "Outputs", "Tensor", "Value", "along_axis", "cast", "const", "elementwise", "info_of",
    "joined", "known", "like", "part", "register_rows", "register_tflite", "relax", "sizes",
]  # fmt: skip
