# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has convolutions of f16 with known weights read f32.

Sums of f16 are computed in f32. A convolution reads each element once for each tap and block of results, and would
convert it as often: here data is converted once, where it is written if that can be fused, and weights while compiling.
Weights take twice the memory then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in
from ....dialects.relax import dialect
from ....passes.canonicalize.constants import is_constant
from ....passes.canonicalize.support import dtype_of, with_dtype
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass

relax = dialect.ops

_CONVOLUTIONS = frozenset(f"relax.nn.conv{rank}d" for rank in (1, 2, 3))


@register_pass
@dataclass(frozen=True)
class WidenConvolutions(Pass):
    """Has convolutions of f16 with known weights read f32."""

    name: ClassVar[str] = "llvm-widen-convolutions"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        for each in operations_in(op):
            if each.name in _CONVOLUTIONS and _reads_f16(each):
                _widen(each)


def _reads_f16(convolution: Operation) -> bool:
    data, weight = convolution.operands
    return dtype_of(data) == dtype_of(weight) == "f16" and is_constant(weight)


def _widen(convolution: Operation) -> None:
    result = convolution.result
    dtype = dtype_of(result)
    if dtype not in ("f16", "f32"):
        return
    with ir.InsertionPoint(convolution), convolution.location:
        for at, operand in enumerate(list(convolution.operands)):
            convolution.operands[at] = relax["astype"](operand, dtype="f32")
    if "out_dtype" in convolution.attributes:
        del convolution.attributes["out_dtype"]
    if dtype == "f32":
        return
    result.set_type(with_dtype(result, "f32"))
    with ir.InsertionPoint.after(convolution), convolution.location:
        narrow = relax["astype"](result, dtype=dtype)
    result.replace_all_uses_except(narrow, narrow.owner.operation)
