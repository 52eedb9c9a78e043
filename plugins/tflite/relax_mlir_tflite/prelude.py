# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that converters import: relax's operators, nodes, values, and helpers for tensors of the graph.

`from ..prelude import TfliteNode, Outputs, register_tflite, relax` replaces one import line per module in each file.
"""

from __future__ import annotations

from relax_mlir import relax
from relax_mlir.emit.numbers import Number
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.elementwise import elementwise
from relax_mlir.frontends.core.tensors import along_axis, cast, const, info_of, joined, like, part
from relax_mlir.frontends.core.values import Outputs, Tensor, Value, known

from .registry import Convert, register_rows, register_tflite
from .tflite_node import TfliteNode

__all__ = [
    "Convert", "Number", "Outputs", "Tensor", "TfliteNode", "Value", "along_axis", "cast", "const", "elementwise",
    "info_of", "joined", "known", "like", "part", "register_rows", "register_tflite", "relax", "sizes",
]  # fmt: skip
