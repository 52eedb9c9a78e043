# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on elements that are known while a model is imported: what is done with shapes, above all.

Elements are numbers and expressions over dimensions, so the result is one where it is a function of dimensions; what
cannot be said as one is computed when the model runs.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ....dialects.core.infos import is_bool, is_float, is_int
from ....dialects.core.symbols import SymbolError, SymExpr, dim_max, dim_min, dim_mod, equal
from ....dialects.relax.infer.sizes import at_least, exceeds
from ..node import Unsupported
from ..prelude import Node, Value, known
from . import movement_evaluators as movement
from .known_elements import NotExact, NotKnown, Ratio, by_numpy, elements, has_elements, objects, result

_Evaluator = Callable[[Node], "Value | list[Value]"]
# Of elements: numbers, truth values, expressions over dimensions, ratios.
_Unary = Callable[[Any], Any]
_Binary = Callable[[Any, Any], Any]

# What is wrong with an input the operator's converter says.
_REASONS = (NotKnown, NotExact, SymbolError, Unsupported)


def evaluate_known(node: Node) -> list[Value] | None:
    """The outputs of a node whose inputs are all known; None where they have to be computed."""
    evaluate = _EVALUATORS.get(node.op) if node.domain in ("", "ai.onnx") else None
    if evaluate is None or not _are_known(node):
        return None
    try:
        found = evaluate(node)
    except _REASONS:
        return None
    outputs = found if isinstance(found, list) else [found]
    return outputs if len(outputs) == node.output_count else None


def _are_known(node: Node) -> bool:
    looked_at = node.inputs[: _FROM_TYPES.get(node.op, len(node.inputs))]
    return all(value is None or has_elements(value) for value in looked_at)


# ---- from types ----


def _known_shape(node: Node) -> Sequence[Any]:
    shape = node.value(0).shape
    if shape is None or None in shape:
        raise NotKnown
    return shape


# ---- arithmetic ----


def _applied(function: Callable[..., Any], *operands: Any) -> Any:
    import numpy

    alike = by_numpy(numpy.broadcast_arrays, *operands)
    return numpy.frompyfunc(function, len(operands), 1)(*alike)


def _operands(node: Node) -> list[Any]:
    if node.int("broadcast", 0) or node.has_attribute("axis"):
        raise NotKnown  # as the first versions broadcast
    if len({node.value(index).dtype for index in range(len(node.inputs))}) > 1:
        raise NotKnown
    return [elements(node, index) for index in range(len(node.inputs))]


def _several(function: _Binary) -> _Evaluator:
    """Of two operands, or of any number."""
    fold = functools.partial(_applied, function)
    return lambda node: result(functools.reduce(fold, _operands(node)), node.value(0).dtype)


def _unary(function: _Unary) -> _Evaluator:
    return lambda node: result(_applied(function, elements(node, 0)), node.value(0).dtype)


def _of_ratios(name: str, function: _Binary) -> _Binary:
    """The function, or that of ratios where the operands are."""

    def apply(left: Ratio, right: Ratio) -> Ratio | None:
        return getattr(left, name)(right) if isinstance(left, Ratio) else function(left, right)

    return apply


def _divided(left: Any, right: Any) -> Any:
    """ONNX divides integers towards zero; sizes are not negative."""
    if isinstance(left, SymExpr) or isinstance(right, SymExpr):
        if isinstance(right, int) and right < 0:
            raise NotKnown
        return left // right
    if right == 0:
        raise NotKnown
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(node: Node) -> Value:
    if node.int("fmod", 0) or is_float(node.value(0).dtype):
        raise NotKnown
    return result(_applied(dim_mod, *_operands(node)), node.value(0).dtype)


def _minimum(left: Any, right: Any) -> Any:
    return dim_min(_number(left), _number(right))


def _maximum(left: Any, right: Any) -> Any:
    return dim_max(_number(left), _number(right))


def _number(element: Any) -> Any:
    if isinstance(element, Ratio):
        raise NotKnown
    return element if isinstance(element, SymExpr) else int(element)


def _absolute(element: Any) -> Any:
    if at_least(_number(element), 0):
        return element
    if at_least(0, _number(element)):
        return -element
    raise NotKnown


def _negative(element: Any) -> Any:
    return Ratio(0).minus(element) if isinstance(element, Ratio) and element.number != 0 else -_number(element)


def _clip(node: Node) -> Value:
    if node.version < 11:
        raise NotKnown
    found = elements(node, 0)
    for index, bound in ((1, _maximum), (2, _minimum)):
        if node.has(index):
            found = _applied(bound, found, elements(node, index))
    return result(found, node.value(0).dtype)


# ---- truth ----


def _equal(left: Any, right: Any) -> bool:
    return _decided(equal(_number(left), _number(right)))


def _greater(left: Any, right: Any) -> bool:
    left, right = _number(left), _number(right)
    return _decided(True if exceeds(left, right) else False if at_least(right, left) else None)


def _decided(answer: bool | None) -> bool:
    if answer is None:
        raise NotKnown
    return answer


def _truth(function: _Binary) -> _Evaluator:
    return lambda node: result(_applied(function, *_operands(node)), "i1")


# ---- conversions ----


def _converted(node: Node, dtype: str) -> Value:
    held, own = elements(node, 0), node.value(0).dtype
    if own == dtype:
        return node.value(0)
    if is_bool(dtype):
        return result(_applied(lambda each: not _equal(each, 0), held), dtype)
    if is_float(dtype):
        return result(_applied(lambda each: each if isinstance(each, Ratio) else Ratio(_number(each)), held), dtype)
    if not is_int(dtype):
        raise NotKnown
    return result(_applied(_truncated, held), dtype)


def _truncated(element: Any) -> Any:
    """Floats are cut towards zero; sizes are not negative."""
    if not isinstance(element, Ratio):
        return _number(element)
    if isinstance(element.number, int) and element.number < 0:
        return -(-element.number // element.divisor)
    return element.floor().number


def _rounded(name: str) -> _Evaluator:
    def evaluate(node: Node) -> Value:
        dtype = node.value(0).dtype
        if not is_float(dtype):
            raise NotKnown
        return result(_applied(lambda each: getattr(each, name)(), elements(node, 0)), dtype)

    return evaluate


# ---- reductions ----


def _reduced(function: Callable[[Sequence[Any]], Any]) -> _Evaluator:
    def evaluate(node: Node) -> Value:
        data = elements(node, 0)
        if data.ndim != 1 or data.size == 0 or not is_int(node.value(0).dtype) or node.int("noop_with_empty_axes", 0):
            raise NotKnown
        found = function(list(data))
        return result(objects([found]) if node.int("keepdims", 1) else found, node.value(0).dtype)

    return evaluate


# How many inputs have to be known where it is not all of them: of the others the types are looked at.
_FROM_TYPES = {"Shape": 0, "Size": 0, "CastLike": 1}

_EVALUATORS: dict[str, _Evaluator] = {
    "Shape": lambda node: known(objects(_known_shape(node)[slice(node.int("start", 0), node.int("end"))])),
    "Size": lambda node: known(math.prod(_known_shape(node), start=1)),
    # arithmetic
    "Abs": _unary(_absolute),
    "Add": _several(_of_ratios("plus", operator.add)),
    "Ceil": _rounded("ceil"),
    "Clip": _clip,
    "Div": _several(_of_ratios("over", _divided)),
    "Floor": _rounded("floor"),
    "Max": _several(_maximum),
    "Min": _several(_minimum),
    "Mod": _modulo,
    "Mul": _several(_of_ratios("times", operator.mul)),
    "Neg": _unary(_negative),
    "Sub": _several(_of_ratios("minus", operator.sub)),
    "Sum": _several(_of_ratios("plus", operator.add)),
    "ReduceMax": _reduced(functools.partial(functools.reduce, _maximum)),
    "ReduceMin": _reduced(functools.partial(functools.reduce, _minimum)),
    "ReduceProd": _reduced(functools.partial(math.prod, start=1)),
    "ReduceSum": _reduced(sum),
    # truth
    "And": _truth(lambda left, right: left and right),
    "Equal": _truth(_equal),
    "Greater": _truth(_greater),
    "GreaterOrEqual": _truth(lambda left, right: not _greater(right, left)),
    "Less": _truth(lambda left, right: _greater(right, left)),
    "LessOrEqual": _truth(lambda left, right: not _greater(left, right)),
    "Not": lambda node: result(_applied(operator.not_, elements(node, 0)), "i1"),
    "Or": _truth(lambda left, right: left or right),
    "Where": movement.where,
    # movement
    "Concat": movement.concat,
    "ConstantOfShape": movement.constant_of_shape,
    "Expand": movement.expand,
    "Gather": movement.gather,
    "NonZero": movement.non_zero,
    "Range": movement.range_,
    "Reshape": movement.reshape,
    "Scatter": movement.scatter_elements,
    "ScatterElements": movement.scatter_elements,
    "ScatterND": movement.scatter_nd,
    "Slice": movement.slice_,
    "Split": movement.split,
    "Squeeze": movement.squeeze,
    "Tile": movement.tile,
    "Transpose": movement.transpose,
    "Unsqueeze": movement.unsqueeze,
    # types
    "Cast": lambda node: _converted(node, node.dtype("to")),
    "CastLike": lambda node: _converted(node, node.value(1).dtype),
    "Identity": lambda node: node.value(0),
}
