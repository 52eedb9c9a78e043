# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common imports of converters: relax's operators, nodes, values, and frequent operations on tensors of the graph.

`from ..prelude import Node, Outputs, register_tosa, relax` replaces one import line per module in each file.
"""

from __future__ import annotations

from ...dialects import relax
from ...emit.numbers import Number
from ..core import sizes
from ..core.elementwise import elementwise, intrinsic_of
from ..core.tensors import along_axis, cast, const, info_of, like, wide_float
from ..core.values import Outputs, Tensor, Value, known
from .registry import Convert, register_rows, register_tosa
from .tosa_node import Node

__all__ = [
    "Convert", "Node", "Number", "Outputs", "Tensor", "Value", "along_axis", "cast", "const", "elementwise", "info_of",
    "intrinsic_of", "known", "like", "register_rows", "register_tosa", "relax", "sizes", "wide_float",
]  # fmt: skip
