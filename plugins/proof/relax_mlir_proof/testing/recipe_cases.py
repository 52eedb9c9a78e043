# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a recipe: small float models of its layers, which rx.quantize quantizes with their own inputs as samples.

Layers are built from the patterns of the recipe, with and without bias and activation (composites.py). The rows of
products and convolutions add strides, groups and other attributes, with constant weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, last_of, operations_in, symbol_name
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.partition.codegen import Composite
from relax_mlir.passes.graph.recipes.forms import is_quantized_form, quantized_form
from relax_mlir.passes.graph.recipes.recipe import Op as RecipeOp
from relax_mlir.passes.graph.recipes.stated_types import has_stated_types
from relax_mlir.passes.patterns.operator_patterns import Op
from relax_mlir.passes.patterns.tree import GraphPattern, walk
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir_quantize.placement import float_form_of
from relax_mlir_quantize.quantize import quantize
from relax_mlir_quantize.recipes.recipe_registry import find_recipe

from .composites import cases_of_pattern
from .core.cases import Case, Setup, Unmade, seeded
from .core.rows import case_with_constants
from .core.variants import EDGES, PLAIN, VARIANTS, Variant
from .edge_numbers import has_layers, with_edge
from .every_model import all_models
from .fitting import rows_of
from .trial import Subject

#: Variants of layers. Samples have to be finite, and sizes have to be known.
_VARIANTS = tuple(variant for variant in VARIANTS if variant.name in ("many", "far"))
#: Small models with several layers of each kind.
_MODELS = ("resnet", "mobilenet", "unet", "squeeze_excite", "channels_last", "autoencoder", "video", "sentence")


def _names_with_recipe(subject: Subject) -> Iterator[str]:
    for name in subject.codegens or (subject.target,):
        with suppress(OptionError):
            find_recipe(name)
            yield name


def cases_of_recipe(subject: Subject) -> Iterator[Case]:
    """Yield the cases of the recipes of a codegen or a target, if there are any."""
    for name in _names_with_recipe(subject):
        recipe = find_recipe(name)
        entries = recipe.recipe.patterns(recipe.rows())
        forms, preferred = (
            [Composite(op.name, float_form_of(op, pattern).pattern) for op, pattern in patterns]
            for patterns in (entries, recipe.recipe.patterns(recipe.checked_rows()))
        )
        taken = (
            [Composite(op.name, _quantized_pattern(op, pattern)) for op, pattern in entries]
            if recipe.codegen is None
            else recipe.codegen.composites()
        )
        for case, edge in _cases(forms, preferred):
            yield _quantize(case, name, edge, taken)


def models_of_recipe(subject: Subject) -> Iterator[Case]:
    """Yield some models, quantized by the recipes of a codegen or a target, in the recipe's layout."""
    for name in _names_with_recipe(subject):
        for case in (model.case for model in all_models() if model.case.name in _MODELS):
            yield Case(f"{case.name} quantized", "models", partial(_quantized_model, case, name))


def _quantized_model(case: Case, name: str, seed: int) -> Setup:
    made = case.make(seed)
    with _naming_bugs():
        return _setup(made.module, made, name)


@contextmanager
def _naming_bugs() -> Iterator[None]:
    """Report exceptions of rx.quantize as cases that should exist."""
    try:
        yield
    except RelaxError:
        raise
    except Exception as error:  # a bug, of whatever kind
        raise Unmade(f"{type(error).__name__} in rx.quantize: {error}") from error


def _quantized_pattern(op: RecipeOp, pattern: GraphPattern) -> GraphPattern:
    """Return the pattern of an entry's quantized layers, which have the types that the entry states."""
    return pattern.where(has_stated_types(op)) if is_quantized_form(pattern) else quantized_form(pattern, op)


def _cases(composites: Sequence[Composite], preferred: Sequence[Composite]) -> Iterator[tuple[Case, Variant]]:
    """Yield cases of float layers, each with the numbers that its quantized layers get.

    Layers that a codegen's check takes are `preferred`. The check may ask for integers, which float layers lack.
    """
    edges = {edge.name: edge for edge in EDGES}
    variants = [PLAIN, *(edge._replace(edge=None) for edge in EDGES), *_VARIANTS]
    for composite, checked in zip(composites, preferred, strict=True):
        for case, variant in cases_of_pattern(composite, variants, checked):
            yield case, edges.get(variant.name, variant)
    inner = (part for each in composites for part in walk(each.pattern) if isinstance(part, Op))
    for name in dict.fromkeys(name for part in inner for name in part.names if _has_weights(name)):
        for row in rows_of(name):
            case = case_with_constants(row)
            for variant in (PLAIN, *EDGES[:2]):
                yield case._replace(name=" ".join(filter(None, (case.name, variant.name)))), variant


def _has_weights(operator: str) -> bool:
    return operator == "relax.matmul" or operator.startswith("relax.nn.conv")


def _quantize(case: Case, name: str, variant: Variant, taken: Sequence[Composite]) -> Case:
    """Return the case of a quantized model. A model without a layer that the recipe quantizes is no case."""

    def is_taken(module: Module) -> bool:
        operations = [operation for operation in operations_in(module.operation) if operation.name in heads]
        return any(_is_matched(each, operation) for each in taken for operation in operations)

    def make(seed: int) -> Setup:
        made = case.make(seed)
        with _naming_bugs():
            setup = _setup(made.module, made, name)
            if variant.edge is None:
                return setup
            if not has_layers(setup.module):  # a result that may be real has to be read as integers
                setup = _setup(_with_reader(made.module), made, name)
            if not has_layers(setup.module):
                raise RelaxError("there is no quantized result")
            return with_edge(setup, variant.edge, seeded(case.name, seed), is_taken)

    heads = {head for composite in taken for head in composite.heads}
    return Case(f"{case.name} quantized", "recipes", make, variant.name)


def _setup(module: Module, setup: Setup, name: str) -> Setup:
    with warnings.catch_warnings():  # of few samples
        warnings.simplefilter("ignore")
        return Setup(quantize(module, setup.calls, name, calibrate="minmax").module, setup.calls)


def _is_matched(composite: Composite, operation: Operation) -> bool:
    try:
        return next(composite.matches(operation), None) is not None
    except RelaxError:  # checks may raise for constants of other shapes
        return False


def _with_reader(module: Module) -> Module:
    """Return a copy of a module with one more dimension of the results, by an operator that reads any integers."""
    copy = module.copy()
    main = next(function for function in functions_in(copy.operation) if symbol_name(function) == "main")
    end = last_of(body_of(main))
    with end.location, ir.InsertionPoint(end):
        results = [find_op("relax.expand_dims")(value, axis=0) for value in end.operands]
        types = [[value.type for value in values] for values in (body_of(main).arguments, results)]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    for place, value in enumerate(results):
        end.operands[place] = value
    return copy
