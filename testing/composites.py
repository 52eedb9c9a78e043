# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a codegen's own patterns: modules that they match, made from the patterns themselves.

pattern_trees.py writes a pattern out, each alternative once. Its values are made one after the other: inputs and
constants get shapes and element types from the rows of the operator that reads them (fitting.py), until each
operator accepts what it reads, and the pattern with its check matches the module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from ..bindings.ir import Operation
from ..bindings.navigation import functions_in, operations_in
from ..frontends.module import Module
from ..passes.partition.codegen import Codegen, Composite
from ..support.errors import RelaxError
from .building import Building, Search
from .core.cases import Case, Setup, Unmade, seeded
from .core.trees import Tree
from .fitting import rows_of
from .pattern_trees import names_an_operator, trees

#: How much is tried for a tree: operators that are built, and modules that are held against the pattern.
_MOST_STEPS, _MOST_MODULES = 1500, 40
#: The same for others of a pattern's trees, where it is asked whether there is any module.
_FEW_STEPS = 200


def cases_of(codegen: type[Codegen]) -> Iterator[Case]:
    """Of a codegen's patterns. Those that are one operator, whatever it reads, are among the cases of operators."""
    for composite in codegen.composites():
        if names_an_operator(composite.pattern) and all(rows_of(name) for name in composite.heads):
            continue
        found = list(trees(composite.pattern))
        if not found:
            yield _case(composite, Tree([], []), ())
        for number, tree in enumerate(found):
            yield _case(composite, tree, found if number == 0 else ())


def _case(composite: Composite, tree: Tree, all_trees: Sequence[Tree]) -> Case:
    """The first one says so where there is no module for any of them."""
    name = f"{composite.name} {tree.name}".rstrip()

    def make(seed: int) -> Setup:
        found = _made(composite, tree, seeded(name, seed)) if tree.operators else _unmade(composite)
        if (
            found is None
            and all_trees
            and not any(_made(composite, each, seeded(name, seed), _FEW_STEPS) for each in all_trees[1:])
        ):
            _unmade(composite)
        if found is None:
            raise RelaxError(f"no module could be made of {name}")
        return found

    return Case(name, "composites", make)


def _unmade(composite: Composite) -> Setup:
    raise Unmade(f"no module could be made that the pattern '{composite.name}' matches")


def _made(
    composite: Composite, tree: Tree, random: numpy.random.Generator, most_steps: int = _MOST_STEPS
) -> Setup | None:
    for count, called in enumerate(Search(tree, most_steps).found()):
        if count == _MOST_MODULES:
            return None
        setup = Building(tree, called, random).setup()
        if _is_matched(composite, _last(setup.module, tree)):
            return setup
    return None


def _is_matched(composite: Composite, operation: Operation) -> bool:
    try:
        return next(composite.matches(operation), None) is not None
    except RelaxError as error:  # its check's own
        raise Unmade(error.message) from None


def _last(module: Module, tree: Tree) -> Operation:
    """The operation that gives the root."""
    wanted = tree.operators[-1].op
    (main,) = functions_in(module.operation)
    return [each for each in operations_in(main) if each.name == wanted][-1]
