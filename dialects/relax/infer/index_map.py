# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout transformations: the attribute with an index map, and the resulting shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.affine import unknown_names
from ....bindings.ir import AffineExpr, Attribute, Context
from ....bindings.mlir import as_list, ir
from ...core.attributes import AttributeProblem, Raw
from ...core.infos import TensorInfo, is_float
from ...core.intervals import OPERATIONS
from ...core.opdef import Call
from ...core.symbols import Dim, SymbolError, SymExpr, ceildiv, dim_add, dim_max, dim_sub, product, sym
from .sizes import at_least, exceeds

Range = tuple[Dim, Dim]

# Expressions of layouts are flat. The depth limit protects Python's stack from the contents of a file.
_DEEPEST = 64


class IndexMap(Raw):
    """Affine map from old to new indices, also as a Python function: `lambda n, c: (n, c // 4, c % 4)`."""

    def __init__(self, doc: str = ""):
        super().__init__(["AffineMapAttr"], expects="an affine map", doc=doc)

    def normalize(self, value: object) -> Attribute | str:
        if isinstance(value, ir.AffineMap):
            return ir.AffineMapAttr.get(value)
        if callable(value):
            return _text_of_function(value)
        if isinstance(value, (str, ir.Attribute)):
            return super().normalize(value)
        raise self.refuse(value)

    def encode(self, value: Attribute | str, context: Context) -> Attribute:
        try:
            attribute = super().encode(value, context)
        except ir.MLIRError:
            raise self.refuse(value) from None
        return self.decode(attribute)

    def decode(self, attribute: Attribute) -> Attribute:
        known = super().decode(attribute)
        if foreign := unknown_names(known.value):
            raise AttributeProblem(f"uses {foreign[0]}, which its map does not have: {known.value}")
        return known


def _text_of_function(function: Callable[..., object]) -> str:
    names = [f"d{index}" for index in range(_count_parameters(function))]
    try:
        results = function(*map(sym, names))
    except (TypeError, SymbolError) as error:
        raise AttributeProblem(f"expects a function of indices with + - * // %: {error}") from None
    items = as_list(results)
    if not all(isinstance(item, (int, SymExpr)) for item in items):
        raise AttributeProblem(f"expects a function that gives indices, got {results!r}")
    # Both languages have the same precedence; only the operators' names differ.
    texts = [str(item).replace("//", " floordiv ").replace("%", " mod ") for item in items]
    return f"affine_map<({', '.join(names)}) -> ({', '.join(texts)})>"


def _count_parameters(function: Callable[..., object]) -> int:
    from inspect import Parameter, signature

    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        raise AttributeProblem(f"expects a function whose parameters can be counted, got {function!r}") from None
    if any(parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for parameter in parameters):
        raise AttributeProblem("expects a function with one parameter per dimension, not *args")
    return len(parameters)


def layout_transform(call: Call) -> TensorInfo:
    """Infer the new shape: each dimension is as large as the largest value of its expression.

    A `mod c` counts as c values.
    """
    if isinstance(call.pad_value, float) and not is_float(call.x.dtype):
        raise call.fail(f"{call.describe('pad_value')} must be an integer, as the elements of {call.describe('x')}")
    index_map = call.index_map.value
    shown = call.describe("index_map")
    call.require(index_map.n_symbols == 0, f"{shown} cannot have symbols")
    results = list(index_map.results)
    if (old := call.x.shape) is None:
        return call.x.with_shape([None] * len(results))
    if len(old) != index_map.n_dims:
        raise call.fail(f"{shown} must map {len(old)} dimensions, as {call.describe('x')} has")
    new = [_extent(call, expression, old, position) for position, expression in enumerate(results)]
    if exceeds(product(old), product(new)):
        raise call.fail(f"{shown} maps several elements of {call.describe('x')} to one place")
    return call.x.with_shape(new)


def _extent(call: Call, expression: AffineExpr, sizes: Sequence[Dim], position: int) -> Dim:
    lowest, highest = _range(call, expression, sizes, _DEEPEST)
    if not at_least(lowest, 0):
        raise call.fail(f"{call.describe('index_map')}: result {position} ({expression}) may be negative")
    if lowest != 0:
        raise call.fail(f"{call.describe('index_map')}: result {position} ({expression}) never is 0")
    return dim_max(dim_add(highest, 1), 0)


def _range(call: Call, expression: AffineExpr, sizes: Sequence[Dim], depth: int) -> Range:
    """Return the lowest and the highest value of an affine expression over a tensor's indices."""
    if isinstance(expression := expression.maybe_downcast(), ir.AffineConstantExpr):
        return expression.value, expression.value
    if isinstance(expression, ir.AffineDimExpr):
        return 0, dim_sub(sizes[expression.position], 1)
    call.require(depth, f"{call.describe('index_map')} nests more than {_DEEPEST} levels deep")
    left, right = (_range(call, part, sizes, depth - 1) for part in (expression.lhs, expression.rhs))
    if isinstance(expression, ir.AffineAddExpr):
        return OPERATIONS["+"](left, right)
    factor, most = right
    if not isinstance(factor, int) or factor != most:
        raise call.fail(f"{call.describe('index_map')}: {expression} is not affine")
    if isinstance(expression, ir.AffineMulExpr):
        return OPERATIONS["*"](left, right)
    if factor < 1:
        raise call.fail(f"{call.describe('index_map')} divides by {factor}")
    if isinstance(expression, ir.AffineModExpr):
        return 0, factor - 1
    if isinstance(expression, ir.AffineCeilDivExpr):
        return ceildiv(left[0], factor), ceildiv(left[1], factor)
    return OPERATIONS["//"](left, right)
