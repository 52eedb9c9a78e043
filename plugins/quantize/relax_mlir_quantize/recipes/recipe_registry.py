# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes by the name of a codegen or a target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from relax_mlir.passes.core.external import CODEGENS
from relax_mlir.passes.graph.partition.codegen import Codegen, PatternRow, all_codegens, find_codegen
from relax_mlir.passes.graph.recipes.recipe import Recipe
from relax_mlir.passes.patterns.tree import GraphPattern
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.suggest import suggest
from relax_mlir.targets.core.backend import ChosenTarget
from relax_mlir.targets.core.code import find_backend
from relax_mlir.targets.core.registry import all_targets, parse_target


class FoundRecipe(NamedTuple):
    """Recipe of a codegen, or of a target, which has no codegen."""

    recipe: Recipe
    codegen: type[Codegen] | None

    def rows(self) -> dict[str, GraphPattern]:
        """Return the patterns of the codegen by name. Their checks are left out: they may ask for integers."""
        return {row.name: row.pattern for row in self._rows()}

    def checked_rows(self) -> dict[str, GraphPattern]:
        """Return the patterns of the codegen by name, with their checks, for quantized layers."""
        return {row.name: row.pattern if row.check is None else row.pattern.where(row.check) for row in self._rows()}

    def _rows(self) -> Iterator[PatternRow]:
        return (PatternRow(*pattern) for pattern in (() if self.codegen is None else self.codegen.patterns))


def find_recipe(text: str) -> FoundRecipe:
    """Return the recipe of a codegen, or of a target with its options, such as `llvm{cpu=haswell}`.

    A name of both, such as `c`, is the codegen's if that has a recipe.
    """
    name = text.partition("{")[0].strip()
    codegen = find_codegen(name) if CODEGENS.find(name) is not None else None
    if codegen is not None and codegen.recipe is not None:
        return FoundRecipe(codegen.recipe, codegen)
    if codegen is not None and not _has_recipe(name):
        raise OptionError(
            f"codegen '{name}' has no recipe: set {codegen.__name__}.recipe = rx.Recipe(...), or pass a recipe"
        )
    target = _target(text, name)
    if not isinstance(recipe := find_backend(target.name).recipe(target), Recipe):
        raise OptionError(f"target '{target}' has no recipe: return one from its backend's recipe(), or pass a recipe")
    return FoundRecipe(recipe, None)


def names_with_recipe() -> list[str]:
    """Return the names of codegens and targets that have a recipe."""
    codegens = [codegen.name for codegen in all_codegens() if codegen.recipe is not None]
    targets = [target.name for target in all_targets() if _has_recipe(target.name)]
    return [*codegens, *(target for target in targets if target not in codegens)]


def _has_recipe(target: str) -> bool:
    try:
        return isinstance(find_backend(target).recipe(parse_target(target)), Recipe)
    except RelaxError:
        return False  # such as a target without a backend


def _target(text: str, name: str) -> ChosenTarget:
    known = [target.name for target in all_targets()]
    if name not in known:
        names = [*CODEGENS.names(), *known]
        raise OptionError(f"'{name}' is neither a codegen nor a target{suggest(name, names)}")
    return parse_target(text)
