# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What converters are written with: relax's operators, nodes, values, and what is often done with tensors of the graph.

`from ..prelude import Node, Outputs, register_tflite, relax` in place of a line for each of them in each file.
"""

from __future__ import annotations

from ...dialects import relax
from ...emit.numbers import Number
from ..core import sizes
from ..core.elementwise import elementwise
from ..core.tensors import along_axis, cast, const, info_of, joined, like, part
from ..core.values import Outputs, Tensor, Value, known
from .registry import Convert, register_rows, register_tflite
from .tflite_node import Node

__all__ = [
    "Convert", "Node", "Number", "Outputs", "Tensor", "Value", "along_axis", "cast", "const", "elementwise", "info_of",
    "joined", "known", "like", "part", "register_rows", "register_tflite", "relax", "sizes",
]  # fmt: skip
