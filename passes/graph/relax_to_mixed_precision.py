# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed precision: f32 programs compute in f16 or bf16 where that is fast and does little harm.

Callers see the original types. Products accumulate in f32, whatever type they give. Constants are rounded here, once.
passes/graph/mixed_precision/registry.py has the precisions of operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...bindings.ir import Operation
from ...dialects.core.dialect import find_op
from ...dialects.core.opdef import OpDef
from ...dialects.script.value_names import location_name
from ..core.base import Pass
from ..core.registry import register_pass
from .mixed_precision.registry import Precision, precision_of
from .mixed_precision.two_precisions import TwoPrecisions
from .quantization.kept import multiplies_quantized


@register_pass
@dataclass(frozen=True)
class ToMixedPrecision(Pass):
    """Compute products, and operators that can follow them, in 16-bit floats, with casts at the borders."""

    name: ClassVar[str] = "relax-to-mixed-precision"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: The 16-bit element type for computations.
    dtype: Literal["f16", "bf16"] = "f16"
    #: Result type of products that can give f32, too. With f32, operators behind a product stay f32 up to the next one.
    results: Literal["low", "f32"] = "low"
    #: Operators that stay f32, by name, with or without `relax.`, and nodes of the model, by their names.
    keep: tuple[str, ...] = ()
    #: Keep products of dequantized numbers in f32. A later stage rewrites them to integer products.
    keep_quantized: bool = False

    def __post_init__(self) -> None:
        for name in self.keep:
            if name.startswith("relax."):
                find_op(name)  # other names are names of nodes

    def run(self, op: Operation) -> None:
        kept = {*self.keep, *(f"relax.{name}" for name in self.keep)}
        known: dict[OpDef, Precision] = {}

        def precision(operation: Operation, row: OpDef) -> Precision:
            if self.keep_quantized and multiplies_quantized(operation):
                return "never"
            if row not in known:
                known[row] = "never" if row.full_name in kept else precision_of(row)
            return "never" if kept and location_name(operation.location) in kept else known[row]

        TwoPrecisions(self.dtype, precision, wide_results=self.results == "f32").run(op)
