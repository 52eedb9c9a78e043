# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Common imports of converters: relax's operators, nodes, values, and frequent operations on tensors of the graph.

`from ..prelude import HloNode, Outputs, register_stablehlo, relax` replaces one import line per module in each file.
"""

from __future__ import annotations

from relax_mlir.dialects import relax
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.elementwise import elementwise, intrinsic_of
from relax_mlir.frontends.core.tensors import (
    along_axis,
    cast,
    const,
    from_front,
    info_of,
    joined,
    like,
    part,
    wide_float,
)
from relax_mlir.frontends.core.values import ComplexValue, Outputs, Tensor, Value, known

from .hlo_node import HloNode
from .registry import Convert, register_rows, register_stablehlo

__all__ = [
    "ComplexValue", "Convert", "HloNode", "Outputs", "Pair", "Tensor", "Value", "along_axis", "cast", "const",
    "elementwise", "from_front", "info_of", "intrinsic_of", "joined", "known", "like", "part", "register_rows",
    "register_stablehlo", "relax", "sizes", "wide_float",
]  # fmt: skip
