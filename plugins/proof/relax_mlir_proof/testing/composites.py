# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a codegen's own patterns: modules that match the patterns, built from the patterns.

pattern_trees.py expands a pattern into trees, each alternative once. Values are created one after the other. Inputs and
constants take shapes and element types from rows of the operators that read them (fitting.py). The search ends when
each operator accepts its operands, and the pattern with its check matches the module.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import functions_in, operations_in
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.partition.codegen import Codegen, Composite, PatternRow
from relax_mlir.passes.graph.recipes.forms import is_quantized_form
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.suggest import counted, shortened

from .building import Building, Search
from .core.cases import Case, Setup, Unmade, seeded
from .core.trees import Leaf, Made, Node, Tree
from .core.variants import EDGES, PLAIN, VARIANTS, WINDOWS, EdgeNumbers, Variant
from .edge_numbers import has_layers, with_edge
from .fitting import Reading, has_window, rows_of
from .pattern_trees import names_an_operator, trees

#: Limits per tree: operators built, and modules compared with the pattern.
_MOST_STEPS, _MOST_MODULES = 1500, 40
#: Limit for the other trees of a pattern, when any module would do.
_FEW_STEPS = 200
#: Limit of modules for each choice of element types, and the choices: of activations and of weights.
_FEW_MODULES = 8
#: The same limit for choices that another tree of the pattern does not have.
_FEWEST_MODULES = 2
_TYPES = (("i8", "i8"), ("ui8", "i8"), ("ui8", "ui8"), ("i16", "i8"), ("i16", "i16"))


class _Found(NamedTuple):
    """Operator calls of a module that the pattern matches, and the kind of its constants."""

    called: Mapping[Made, Reading]
    has_zero_points: bool
    #: Element types of activations and of weights, or () if any are right.
    types: tuple[str, ...] = ()
    #: False if the check refuses the scales and zero points of the rows, and accepts others (edge_numbers.py).
    has_numbers: bool = True

    @property
    def rows(self) -> dict[str, str]:
        """Return the names of the rows that operators are called by."""
        return {operator.op: reading.row for operator, reading in self.called.items()}

    def building(self, tree: Tree, variant: Variant, random: numpy.random.Generator) -> Building:
        """Return the module of a variant with operators called in the same way."""
        return Building(tree, self.called, random, variant._replace(has_zero_points=self.has_zero_points))


def cases_of(codegen: type[Codegen]) -> Iterator[Case]:
    """Yield the cases of a codegen's patterns, each alternative in all variants.

    A pattern of one operator with any operands is left to the cases of operators, if that operator has rows. A pattern
    of floats that a recipe quantizes is left to the cases of recipes, which have the types that the recipe states.
    """
    for composite in codegen.composites():
        if _is_quantized(codegen, composite.name):
            continue
        if names_an_operator(composite.pattern) and all(rows_of(name) for name in composite.heads):
            continue
        yield from (case for case, _ in cases_of_pattern(composite))


def _is_quantized(codegen: type[Codegen], name: str) -> bool:
    """Check whether a recipe quantizes what a pattern of floats matches."""
    pattern = next(row.pattern for row in (PatternRow(*each) for each in codegen.patterns) if row.name == name)
    recipe = codegen.recipe
    return recipe is not None and recipe.entry(name) is not None and not is_quantized_form(pattern)


def cases_of_pattern(
    composite: Composite, variants: Sequence[Variant] = VARIANTS, preferred: Composite | None = None
) -> Iterator[tuple[Case, Variant]]:
    """Yield the cases of one pattern, each alternative in all variants, with the variant.

    Modules that `preferred` matches, too, are taken first. Windows vary in trees with a convolution or a pool.
    """
    found = list(trees(composite.pattern)) or [Tree([], [])]
    first = _TreeModules(composite, found[0], found[1:], None, preferred)
    for tree in found:
        modules = first if tree is found[0] else _TreeModules(composite, tree, None, first, preferred)
        operators = {operator.op for operator in tree.operators}
        windows = WINDOWS if any(map(has_window, operators)) else ()
        edges = EDGES if {"relax.dequantize", "relax.quantize"} <= operators else ()
        for variant in (*variants[:1], *edges, *windows, *variants[1:]) if operators else (PLAIN,):
            yield _case(modules, variant), variant


def _case(modules: _TreeModules, variant: Variant) -> Case:
    name = " ".join(filter(None, (modules.composite.name, modules.tree.name, variant.name)))
    return Case(name, "composites", lambda seed: modules.made(variant, name, seed), variant.name)


class _TreeModules:
    """Modules of one of a pattern's trees. The first tree has the others, and reports if none has a module."""

    def __init__(
        self,
        composite: Composite,
        tree: Tree,
        others: Sequence[Tree] | None,
        first: _TreeModules | None,
        preferred: Composite | None,
    ) -> None:
        self.composite, self.tree, self._others, self._first = composite, tree, others, first
        self._preferred = preferred
        #: Operator calls of the plain module, or None if there is none, and a description of the search.
        self._found_plain: tuple[_Found | None, str] | None = None

    def _plain(self) -> tuple[_Found | None, str]:
        if self._found_plain is None:
            first = None if self._first is None else self._first._plain()[0]
            self._found_plain = self._first_matched(self.tree, PLAIN, known=first)
        return self._found_plain

    def made(self, variant: Variant, name: str, seed: int) -> Setup:
        """Return the module of a variant. Raise RelaxError if there is none, or if none could be built.

        Searches have their own random numbers, so that a case has the same module and arrays in any order of cases.
        """
        found, why = self._plain()
        if found is None and variant is PLAIN and self._is_first_without_module():
            what = f"no module could be made that the pattern '{self.composite.name}' matches"
            raise Unmade(f"{what}: {why}" if why else what)
        if found is not None and (variant.sizes is not PLAIN.sizes or variant.window is not None):
            found, why = self._first_matched(self.tree, variant, known=found)
        if found is None:
            raise RelaxError(f"the pattern takes no such module: {why}" if why else "the pattern takes no such module")
        setup = found.building(self.tree, variant, seeded(name, seed)).setup()
        if variant.edge is not None and not has_layers(setup.module):
            raise RelaxError("there is no quantized result")
        if variant.edge is not None or not found.has_numbers:
            setup = with_edge(setup, variant.edge or EdgeNumbers(), seeded(name, seed), self._is_taken)
        if not self._is_taken(setup.module):
            raise RelaxError("the pattern takes no such module")
        return setup

    def _takes_other_numbers(self, setup: Setup) -> bool:
        """Check whether the check accepts scales of channels and derived biases, but not the numbers of the rows."""
        if not has_layers(setup.module):
            return False
        return self._is_taken(with_edge(setup, EdgeNumbers(), numpy.random.default_rng(0), self._is_taken).module)

    def _is_taken(self, module: Module) -> bool:
        """Check whether the pattern matches, and its check accepts. Checks may raise for constants of other shapes."""
        try:
            return _is_matched(self.composite, _last(module, self.tree))
        except RelaxError:
            return False

    def _is_preferred(self, operation: Operation) -> bool:
        try:
            return self._preferred is None or _is_matched(self._preferred, operation)
        except RelaxError:  # the check reads what only quantized layers have
            return True

    def _is_first_without_module(self) -> bool:
        if self._others is None:
            return False
        return all(self._first_matched(name, PLAIN, known=_Found({}, True))[0] is None for name in self._others)

    def _first_matched(self, tree: Tree, variant: Variant, known: _Found | None) -> tuple[_Found | None, str]:
        """Return the operator calls of a module that the pattern matches, or None and a description of the attempts.

        `known` is another module of the pattern. Its types and rows are tried first, and the search is short.
        """
        if not tree.operators:
            return (
                None,
                f"modules are built from operators, but the pattern is {shortened(str(self.composite.pattern))}",
            )
        random, count, why, fallback = seeded(tree.name, 0), 0, "", None
        rows = {} if known is None else known.rows
        # Checks may want types that the pattern does not state.
        choices = sorted(_quantized_types(tree), key=lambda type_: known is None or type_[0] != known.types)
        for chosen_types, types in (*choices, ((), {})):
            is_short = bool(types) or known is not None
            search = Search(tree, _FEW_STEPS if is_short else _MOST_STEPS, variant, types, rows)
            most = _FEWEST_MODULES if types and known and chosen_types != known.types else _FEW_MODULES
            for called in itertools.islice(search.found(), most if is_short else _MOST_MODULES):
                for has_zero_points in (True, False):
                    chosen = variant._replace(has_zero_points=has_zero_points)
                    setup = Building(tree, called, random, chosen).setup()
                    last = _last(setup.module, tree)
                    if _is_matched(self.composite, last):
                        found = _Found(called, has_zero_points, chosen_types)
                        if self._is_preferred(last):
                            return found, ""
                        fallback = fallback or found
                if types and fallback is None and self._takes_other_numbers(setup):
                    return _Found(called, has_zero_points, chosen_types, has_numbers=False), ""
                count, why = count + 1, why or str(_refusal(self.composite, last))
        return fallback, _describe_search(search, count, why)


def _quantized_types(tree: Tree) -> Iterator[tuple[tuple[str, str], dict[Node, str]]]:
    """Yield element types for the integers of a tree: of activations and results, and of weights. Biases are i32."""
    data = [
        node
        for operator in tree.operators
        if operator.op in ("relax.dequantize", "relax.quantize") and operator.operands
        for node in operator.operands.get("data", ())
    ]
    results = [operator for operator in tree.operators if operator.op == "relax.quantize"]
    activations = [each for each in data if isinstance(each, Leaf) and not each.is_constant]
    constants = [each for each in data if isinstance(each, Leaf) and each.is_constant]
    for activation, weight in _TYPES if data and results else ():
        types: dict[Node, str] = {constant: weight if _is_weight(tree, constant) else "i32" for constant in constants}
        yield (activation, weight), {**dict.fromkeys((*activations, *results), activation), **types}


def _is_weight(tree: Tree, leaf: Leaf) -> bool:
    """Check whether a product reads a constant, through operators that do not add."""
    reader = next(
        operator for operator in tree.operators if any(leaf in nodes for nodes in (operator.operands or {}).values())
    )
    return not any(
        operator.op == "relax.add" and reader in nodes
        for operator in tree.operators
        for nodes in (operator.operands or {}).values()
    )


def _is_matched(composite: Composite, operation: Operation) -> bool:
    try:
        return next(composite.matches(operation), None) is not None
    except RelaxError as error:  # raised by the pattern's check
        raise Unmade(error.message) from None


def _refusal(composite: Composite, operation: Operation) -> str:
    try:
        return str(composite.why_not(operation) or "")
    except RelaxError as error:
        return error.message


def _describe_search(search: Search, count: int, refusal: str) -> str:
    """Describe a failed search: refusals of modules, or refused calls if there was no module."""
    if count:
        return f"the pattern or its check refused {counted(count, 'module')}, the first one with: {refusal}"
    lines = (
        f"{op} refused {counted(tried, 'call')}, the last one with: {why}"
        for op, (tried, why) in search.refused.items()
    )
    return "; ".join(lines)


def _last(module: Module, tree: Tree) -> Operation:
    """Return the operation that computes the root."""
    op = tree.operators[-1].op
    (main,) = functions_in(module.operation)
    return [operation for operation in operations_in(main) if operation.name == op][-1]
