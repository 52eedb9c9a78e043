# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of f32 computed in f16 or bf16 where that is fast and does little harm: passes/mixed_precision/registry.py.

What callers see keeps its type. Products sum in f32 whatever they give; constants are rounded here, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..bindings.ir import Operation
from ..dialects.core.dialect import find_op
from ..dialects.core.opdef import OpDef
from ..dialects.script.value_names import location_name
from .core.base import Pass
from .core.registry import register_pass
from .mixed_precision.registry import Precision, precision_of
from .mixed_precision.two_precisions import TwoPrecisions
from .quantization.kept import multiplies_quantized


@register_pass
@dataclass(frozen=True)
class ToMixedPrecision(Pass):
    """Computes products in floats of 16 bits, and what can follow them, with casts where the two meet."""

    name: ClassVar[str] = "relax-to-mixed-precision"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: The element type of 16 bits that operators compute in.
    dtype: Literal["f16", "bf16"] = "f16"
    #: What products give that can give f32 too: then what follows them stays f32 up to the next product.
    results: Literal["low", "f32"] = "low"
    #: What stays f32: operators by their names, with or without `relax.`, and nodes of the model by theirs.
    keep: tuple[str, ...] = ()
    #: Whether products of dequantized numbers stay f32: a stage behind makes products of whole numbers of them.
    keep_quantized: bool = False

    def __post_init__(self) -> None:
        for name in self.keep:
            if name.startswith("relax."):
                find_op(name)  # nodes are called otherwise

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
