# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common imports of converters: relax's operators, nodes, values, and frequent operations on tensors of the graph.

`from ..prelude import TosaNode, Outputs, register_tosa, relax` replaces one import line per module in each file.
"""

from __future__ import annotations

from relax_mlir.dialects import relax
from relax_mlir.emit.numbers import Number
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.elementwise import elementwise, intrinsic_of
from relax_mlir.frontends.core.tensors import along_axis, cast, const, info_of, like, wide_float
from relax_mlir.frontends.core.values import Outputs, Tensor, Value, known

from .registry import Convert, register_rows, register_tosa
from .tosa_node import TosaNode

__all__ = [
    "Convert", "Number", "Outputs", "Tensor", "TosaNode", "Value", "along_axis", "cast", "const", "elementwise",
    "info_of", "intrinsic_of", "known", "like", "register_rows", "register_tosa", "relax", "sizes", "wide_float",
]  # fmt: skip
