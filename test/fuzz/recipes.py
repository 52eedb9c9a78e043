# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes that draw operators, with their frequencies: one register of functions for each kind of graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from drawing import Drawing
from graphs import Undefined

Recipe = Callable[[Any], None]


class Recipes(dict[Recipe, float]):
    """Recipes with their weights. `@recipes(2)` adds one."""

    def __call__(self, weight: float) -> Callable[[Recipe], Recipe]:
        def register(function: Recipe) -> Recipe:
            self[function] = weight
            return function

        return register

    def grow(self, drawing: Drawing, refusals: type[Exception]) -> None:
        """Add operators until there is a random number of them. Refused and undefined ones are skipped."""
        random = drawing.random
        wanted = random.choice((1, 2, 3, 4, 6, 8, 12))
        for recipe in random.choices(list(self), list(self.values()), k=4 * wanted):
            with contextlib.suppress(Undefined, refusals):
                recipe(drawing)
            if len(drawing.nodes) >= wanted:
                break


RELAX, ONNX = Recipes(), Recipes()
