# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference of quantized layers: the integers of a recipe's `out=`, and the rounding that decides each result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import body_of, functions_in, last_of, made_by, operations_in, symbol_name
from relax_mlir.dialects.relax.known_constants import elements_of, is_constant
from relax_mlir.dialects.relax.values import dtype_of, shape_of
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.recipes.recipe import Recipe
from relax_mlir.passes.graph.scales.weights import CONVOLUTIONS
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.requantization import FORMS, Multiplier, Requantize
from relax_mlir_quantize.recipes.recipe_registry import find_recipe
from relax_mlir_quantize.relax_requantize import Requantize as RequantizePass

from ..interpreter.execution import Machine
from ..interpreter.held_values import HeldValue, stored
from ..interpreter.sites import Frame, Step
from .building import output_axis

if TYPE_CHECKING:
    from numpy import ndarray

#: Groups of cases that compare layers with the integers of the recipe.
_GROUPS = ("composites", "recipes", "models", "kept")
#: Operators that move numbers, so that results have the scale of operands.
MOVES = frozenset(
    f"relax.{name}" for name in "reshape flatten squeeze expand_dims permute_dims nn.max_pool1d nn.max_pool2d".split()
)
_PERMUTE = "relax.permute_dims"
_VIEWS = frozenset(name for name in MOVES if "pool" not in name)
_REQUANTIZE, _QUANTIZE, _DEQUANTIZE = "relax.requantize", "relax.quantize", "relax.dequantize"


def recipes_of(names: Sequence[str]) -> dict[str, Recipe]:
    """Return the recipes of codegens and targets, by name. Others have no entry."""
    recipes = {}
    for name in names:
        try:
            recipes[name] = find_recipe(name).recipe
        except OptionError:
            continue
    return recipes


class Expected(NamedTuple):
    """Module with the expected results, and the allowed distance."""

    module: Module
    #: Steps that results of a layer may be away, because no `out=` states its integers.
    steps: int = 0


def expected_of(module: Module, group: str, case_subject: str, names: Sequence[str]) -> Expected:
    """Return the module with the layers of recipes computed on integers, as `out=` states."""
    if group not in _GROUPS:
        return Expected(module)
    steps, integers = 0, module
    for name, recipe in recipes_of(names).items():
        entry = recipe.entry(case_subject)
        entries = recipe.ops if entry is None and group != "composites" else [entry] if entry is not None else []
        steps = max([steps, *(int(each.out is None) for each in entries)])
        if any(op.out is not None for op in recipe.ops):
            try:
                RequantizePass(name).run((copy := integers.copy()).operation)
            except RelaxError:  # `out=` does not state the numbers of these layers: their ties are undetermined
                steps = 1
                continue
            integers = copy
    return Expected(integers, steps if _has_free_rounding(integers) else 0)


def _has_free_rounding(module: Module) -> bool:
    """Check whether a result is rounded from real numbers, not from the integers of a recipe."""
    return any(operation.name == _QUANTIZE and _is_computed(operation) for operation in operations_in(module.operation))


def _is_computed(quantize: Operation) -> bool:
    """Check whether a quantize rounds a result: not an input, and not integers that were moved."""
    maker = maker_before_moves(quantize.operands[0])
    return maker is not None and maker.name != _DEQUANTIZE and not is_constant(quantize.operands[0])


def maker_before_moves(value: Value) -> Operation | None:
    """Return the operation that computes the numbers of a value, in front of operators that move them."""
    maker = made_by(value)
    while maker is not None and maker.name in MOVES:
        maker = made_by(maker.operands[0])
    return maker


def steps_of(module: Module, arrays: Sequence[ndarray]) -> list[ndarray | None]:
    """Return results as integers: of integer types, or in steps of the scale of a real result. Others are None."""
    return [_count_steps(value, array) for value, array in zip(_results(module), arrays, strict=True)]


def _results(module: Module) -> Sequence[Value]:
    main = next(function for function in functions_in(module.operation) if symbol_name(function) == "main")
    return last_of(body_of(main)).operands


def with_axes_of_layers(module: Module, arrays: Sequence[ndarray | None]) -> list[ndarray | None]:
    """Return results of `steps_of` as the layers made them: in front of reshapes and changes of the layout."""
    pairs = zip(_results(module), arrays, strict=True)
    return [None if array is None else _skip_views(value, array) for value, array in pairs]


def _skip_views(value: Value, array: ndarray) -> ndarray:
    while (maker := made_by(value)) is not None and (
        maker.name in (*_VIEWS, _DEQUANTIZE) or maker.name == _QUANTIZE and not _is_computed(maker)
    ):
        value = maker.operands[0]
        if maker.name == _PERMUTE:
            array = array.transpose(numpy.argsort(maker.opview.axes or range(array.ndim)[::-1]))
        sizes = [str(each) for each in shape_of(value) or ()]
        if all(map(str.isdecimal, sizes)):
            array = array.reshape([int(size) for size in sizes])
    return array


def _count_steps(value: Value, array: ndarray) -> ndarray | None:
    if "int" in array.dtype.name:
        return array.astype("int64")
    if (maker := maker_before_moves(value)) is None or maker.name != _DEQUANTIZE:
        return None
    scale, zero = map(elements_of, maker.operands[1:])
    if scale is None or zero is None or scale.size != 1:
        return None
    with numpy.errstate(all="ignore"):
        steps = numpy.rint(array.astype("float64") / float(scale.reshape(-1)[0])) + int(zero.reshape(-1)[0])
    return numpy.nan_to_num(steps).astype("int64")


class Rounding(NamedTuple):
    """Step from sums to the integers of a result."""

    #: Real numbers in steps of the result, before they are rounded.
    quotients: ndarray
    #: Sums as integers, or None if they are real numbers.
    sums: ndarray | None
    zero: int
    low: int
    high: int
    rounding: str
    #: Axes from the back.
    channel_axis: int
    spatial_axes: tuple[int, ...]
    is_padded: bool


def last_rounding(module: Module, arguments: Sequence[ndarray]) -> Rounding | None:
    """Return the last rounding of a call of main, or None if there is none with one zero point."""
    roundings: list[Rounding | None] = []

    def around(operation: Operation, run: Step) -> Step:
        if operation.name != _REQUANTIZE and not (operation.name == _QUANTIZE and _is_computed(operation)):
            return run

        def kept(frame: Frame, *held_values: HeldValue) -> list[HeldValue] | HeldValue:
            roundings.append(_rounding(operation, [numpy.asarray(held_value) for held_value in held_values]))
            return run(frame, *held_values)

        return kept

    Machine(module.operation, around=around).call("main", list(arguments))
    return roundings[-1] if roundings else None


def _rounding(operation: Operation, given: Sequence[ndarray]) -> Rounding | None:
    opview, data, zero = operation.opview, given[0], given[-1].reshape(-1)
    dtype = stored(dtype_of(operation.results[0]))
    if "int" not in dtype.name or zero.size != 1 or dtype.itemsize > 4:
        return None
    if operation.name == _QUANTIZE:
        quotients, sums, rounding = data.astype("float64") / _align(given[1], data, opview.axis), None, "half_even"
    else:
        how = Requantize(next(spelling for spelling, form in FORMS.items() if form == opview.form), opview.rounding)
        reals = how.reals(Multiplier(given[1], given[2]))
        quotients, sums, rounding = data * _align(reals, data, opview.axis), data.astype("int64"), opview.rounding
    limits = numpy.iinfo(dtype)
    product = _producer(operation)
    channel, spatial = -1, tuple[int, ...]()
    if product is not None and product.name != "relax.matmul" and product.results[0].type.rank == data.ndim:
        channel, spatial = _axes(product)
    padding = () if product is None else getattr(product.opview, "padding", None) or ()
    return Rounding(
        quotients, sums, int(zero[0]), int(limits.min), int(limits.max), rounding, channel, spatial,
        any(padding),
    )  # fmt: skip


def _axes(product: Operation) -> tuple[int, tuple[int, ...]]:
    """Return the axis of the channels and the spatial axes of a convolution or a pool, from the back."""
    rank = product.results[0].type.rank
    layout = str(getattr(product.opview, "data_layout", None) or getattr(product.opview, "layout", ""))
    channel = output_axis(product.results[0]) if product.name in CONVOLUTIONS else max(layout.find("C"), 1)
    return channel - rank, tuple(index - rank for index in range(1, rank) if index != channel)


def _producer(operation: Operation) -> Operation | None:
    """Return the product or the pool that the sums of a requantization come from."""
    maker = made_by(operation.operands[0])
    while maker is not None and maker.name not in ("relax.matmul", *CONVOLUTIONS) and "pool" not in maker.name:
        maker = made_by(maker.operands[0]) if len(maker.operands) else None
    return maker


def _align(parameters: ndarray, data: ndarray, axis: int) -> ndarray:
    if parameters.size == 1:
        return parameters.astype("float64").reshape(-1)[0]
    shape = [1] * data.ndim
    shape[axis] = parameters.size
    return parameters.astype("float64").reshape(shape)
