# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic of quantized layers as a recipe describes it, equal to the chip in each bit.

The real numbers of a layer become integer sums and a `relax.requantize` with the recipe's multiplier and rounding, or
tables. The module then computes on any target what the chip computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.support.errors import OptionError


@register_pass
@dataclass(frozen=True)
class Requantize(Pass):
    """Replace quantized layers by integers and requantizations, by the recipe of a codegen or a target."""

    name: ClassVar[str] = "relax-requantize"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Codegen or target that states the recipe.
    recipe: str = ""

    def run(self, op: Operation) -> None:
        from .integers.layers import requantize_layers
        from .recipes.recipe_registry import find_recipe

        if not self.recipe:
            raise OptionError(f"{self.name}: option recipe is missing: the name of a codegen or a target")
        recipe = find_recipe(self.recipe)
        if all(entry.out is None for entry in recipe.recipe.ops):
            raise OptionError(f"{self.name}: the recipe of '{self.recipe}' has no entry with out=rx.Requantize(...)")
        requantize_layers(op, recipe.recipe.patterns(recipe.checked_rows()))
