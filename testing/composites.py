# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a codegen's own patterns: modules that they match, made from the patterns themselves.

pattern_trees.py writes a pattern out, each alternative once. Its values are made one after the other: inputs and
constants get shapes and element types from the rows of the operator that reads them (fitting.py), until each
operator accepts what it reads, and the pattern with its check matches the module.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy

from ..bindings.ir import Operation
from ..bindings.navigation import functions_in, operations_in
from ..frontends.module import Module
from ..passes.partition.codegen import Codegen, Composite
from ..support.errors import RelaxError
from ..support.suggest import counted, shortened
from .building import Building, Search
from .core.cases import Case, Setup, Unmade, seeded
from .core.trees import Tree
from .core.variants import PLAIN, VARIANTS, Variant
from .fitting import rows_of
from .pattern_trees import names_an_operator, trees

#: How much is tried for a tree: operators that are built, and modules that are held against the pattern.
_MOST_STEPS, _MOST_MODULES = 1500, 40
#: The same for others of a pattern's trees, where it is asked whether there is any module.
_FEW_STEPS = 200


def cases_of(codegen: type[Codegen]) -> Iterator[Case]:
    """Return the cases of a codegen's patterns, each alternative of a pattern in all variants.

    A pattern that is one operator with any operands is left to the cases of operators, if that operator has rows.
    """
    for composite in codegen.composites():
        if names_an_operator(composite.pattern) and all(rows_of(name) for name in composite.heads):
            continue
        found = list(trees(composite.pattern))
        if not found:
            yield _case(composite, Tree([], []), PLAIN, ())
        for number, tree in enumerate(found):
            for variant in VARIANTS:
                yield _case(composite, tree, variant, found if number == 0 and variant is PLAIN else ())


def _case(composite: Composite, tree: Tree, variant: Variant, all_trees: Sequence[Tree]) -> Case:
    """Return a case. With all trees of its pattern, the case says so where there is no module for any of them."""
    name = " ".join(filter(None, (composite.name, tree.name, variant.name)))

    def make(seed: int) -> Setup:
        random = seeded(name, seed)
        found, tried = _made(composite, tree, random, variant)
        if found is not None:
            return found
        if not tree.operators or all_trees and not _is_any_made(composite, all_trees[1:], random):
            what = f"no module could be made that the pattern '{composite.name}' matches"
            raise Unmade(f"{what}: {tried}" if tried else what)
        raise RelaxError(f"no module could be made of {name}")

    return Case(name, "composites", make)


def _is_any_made(composite: Composite, others: Sequence[Tree], random: numpy.random.Generator) -> bool:
    return any(_made(composite, each, random, PLAIN, _FEW_STEPS)[0] is not None for each in others)


def _made(
    composite: Composite, tree: Tree, random: numpy.random.Generator, variant: Variant, most_steps: int = _MOST_STEPS
) -> tuple[Setup | None, str]:
    """Return a module of a tree that the pattern matches, or None and what was tried."""
    if not tree.operators:
        return None, f"modules are made of operators, and the pattern is {shortened(str(composite.pattern))}"
    search, refused = Search(tree, most_steps, variant), (0, "")
    for called in itertools.islice(search.found(), _MOST_MODULES):
        setup = Building(tree, called, random, variant).setup()
        last = _last(setup.module, tree)
        if _is_matched(composite, last):
            return setup, ""
        refused = (refused[0] + 1, str(_refusal(composite, last)))
    return None, _tried(search, *refused)


def _is_matched(composite: Composite, operation: Operation) -> bool:
    try:
        return next(composite.matches(operation), None) is not None
    except RelaxError as error:  # its check's own
        raise Unmade(error.message) from None


def _refusal(composite: Composite, operation: Operation) -> str:
    try:
        return str(composite.why_not(operation) or "")
    except RelaxError as error:
        return error.message


def _tried(search: Search, count: int, refusal: str) -> str:
    """Describe a search that found nothing: what refused the modules, or the calls of which no module was made."""
    if count:
        return f"the pattern or its check refused {counted(count, 'module')}, the last one with: {refusal}"
    lines = (
        f"{op} refused {counted(tried, 'call')}, the last one with: {why}"
        for op, (tried, why) in search.refused.items()
    )
    return "; ".join(lines)


def _last(module: Module, tree: Tree) -> Operation:
    """The operation that gives the root."""
    wanted = tree.operators[-1].op
    (main,) = functions_in(module.operation)
    return [each for each in operations_in(main) if each.name == wanted][-1]
