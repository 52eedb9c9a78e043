# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of torch's sizes, sympy expressions over symbols, to sizes of the graph (core/sizes.py).

Known sizes are numbers and expressions, others 1-D tensors of one 64-bit integer. Conditions and real numbers made of
sizes are scalars.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.core.symbols import SymbolError, SymExpr, at_most, ceildiv, equal, sym
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.sizes import Size
from relax_mlir.frontends.core.tensors import cast, const, relax
from relax_mlir.frontends.core.values import Tensor, Value
from relax_mlir.support.errors import ModelError
from relax_mlir.support.names import fresh_name

if TYPE_CHECKING:
    import sympy

#: Value in the graph of a torch symbol or expression.
Scalar = Any

_COMPARED = {
    "Equality": "equal",
    "Unequality": "not_equal",
    "GreaterThan": "greater_equal",
    "LessThan": "less_equal",
    "StrictGreaterThan": "greater",
    "StrictLessThan": "less",
    "And": "logical_and",
    "Or": "logical_or",
}
_PYTHON = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "greater_equal": operator.ge,
    "less_equal": operator.le,
    "greater": operator.gt,
    "less": operator.lt,
}
_FLOATS = {"FloatTrueDiv": "divide", "IntTrueDiv": "divide", "FloatPow": "power", "TruncToFloat": "trunc"}
_ROUNDED = {"FloorToInt": "floor", "CeilToInt": "ceil", "TruncToInt": "trunc", "RoundToInt": "round"}


def _mod(left: Size, right: Size) -> Size:
    if sizes.is_known(left, right):
        return left % right
    return relax.floor_mod(sizes.as_tensor([left]), sizes.as_tensor([right]))


def _ceildiv(left: Size, right: Size) -> Size:
    if sizes.is_known(left, right):
        return ceildiv(left, right)
    return sizes.divided(sizes.plus(left, sizes.minus(right, 1)), right)


def _power(base: Size, exponent: Size) -> Size:
    if not isinstance(exponent, int):
        raise Unsupported("a size is a power with a dynamic exponent")
    return sizes.product([base] * exponent)


def _bitwise(name: str) -> Callable[[Size, Size], Size]:
    def apply(left: Size, right: Size) -> Size:
        if isinstance(left, int) and isinstance(right, int):
            return int(getattr(operator, name)(left, right))
        operands = (sizes.as_tensor([each]) for each in (left, right))
        return relax.dialect.ops[_BITWISE[name]](*operands)

    return apply


def _shift(name: str) -> Callable[[Size, Size], Size]:
    """Return a function that shifts a size. A known distance is a factor, so the result stays an expression."""
    of_factor = {"left_shift": sizes.times, "right_shift": sizes.divided}[name]

    def apply(size: Size, distance: Size) -> Size:
        if isinstance(distance, int):
            return of_factor(size, 1 << distance)
        return relax.dialect.ops[name](sizes.as_tensor([size]), sizes.as_tensor([distance]))

    return apply


#: Python's bitwise operators, and relax's.
_BITWISE = {"and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor"}

_SIZES: dict[str, Callable[..., Size]] = {
    "FloorDiv": sizes.divided,
    "CleanDiv": sizes.divided,
    "Max": lambda *given: reduce(sizes.larger, given),
    "Min": lambda *given: reduce(sizes.smaller, given),
    "Mod": _mod,
    "PythonMod": _mod,
    "ModularIndexing": lambda base, divisor, modulus: _mod(sizes.divided(base, divisor), modulus),
    "CeilDiv": _ceildiv,
    "PowByNatural": _power,
    "Identity": lambda size: size,
    "LShift": _shift("left_shift"),
    "RShift": _shift("right_shift"),
    **{f"BitwiseFn_{ours}": _bitwise(name) for name, ours in _BITWISE.items()},
}


class Expressions:
    """Values of torch's symbols in a graph, and of expressions over them."""

    def __init__(self, names: Mapping[str, str] | None = None):
        #: Names of symbols by torch's own names.
        self._names = dict(names or {})
        self._taken = set(self._names.values())
        self._values: dict[str, Scalar] = {}
        #: Symbols that follow from others, because sizes of inputs are expressions over them. Also such sizes
        #: themselves.
        self._solutions: dict[Any, Any] = {}
        #: Symbols of inner dimensions, such as n of a size `4*n`, as exact quotients of the size.
        self._quotients: dict[Any, Any] = {}
        #: Conditions of whole quotients, by the size of an input that they restrict.
        self.conditions: dict[Any, Any] = {}

    def inner(self) -> Expressions:
        """Return the expressions for a subgraph. Its definitions are unknown outside."""
        expressions = Expressions()
        expressions._names, expressions._taken, expressions._values = self._names, self._taken, dict(self._values)
        expressions._solutions = self._solutions
        return expressions

    def declare(self, symbol: str) -> SymExpr:
        """Declare a symbol of which sizes of inputs are made."""
        if symbol not in self._values:
            name = self._names.get(symbol) or fresh_name(symbol, self._taken)
            self._taken.add(name)
            self._values[symbol] = sym(name)
        found: SymExpr = self._values[symbol]
        return found

    def declare_sizes(self, sizes: Iterable[object], given: AbstractSet[str] = frozenset()) -> None:
        """Declare the symbols in the sizes of inputs.

        If a size is `2*n + 1`, and n is not a size itself, the size becomes a symbol, and n follows from it. If the
        symbols are `given` as numbers, the size is only a symbol.
        """
        expressions = [size.node.expr for size in sizes if hasattr(size, "node")]
        for expression in expressions:
            if expression.is_Symbol:
                self.declare(expression.name)
        for each in expressions:
            unknown = [symbol for symbol in each.free_symbols if not self._defines(symbol)]
            is_one = len(unknown) == 1
            if unknown and not (is_one and each.is_polynomial(*unknown)) and given >= set(map(str, unknown)):
                self._solutions[each] = self._symbol_of_size("size")
            elif is_one:
                self._solve(each, unknown[0])
            elif unknown:
                raise ModelError(f"an input has the size {each}: torch's symbols in it are not sizes of inputs")

    def _defines(self, symbol: sympy.Symbol) -> bool:
        return symbol.name in self._values or symbol in self._solutions

    def _solve(self, expression: sympy.Expr, symbol: sympy.Symbol) -> None:
        import sympy
        from torch.utils._sympy.functions import FloorDiv, Mod

        size = self._symbol_of_size(f"{symbol.name}_size")
        found = sympy.solve(sympy.Eq(expression, size), symbol) if expression.is_polynomial(symbol) else []
        if len(found) != 1:
            raise ModelError(f"an input has the size {expression}: the value of {symbol} does not follow from it")
        self._solutions[symbol] = self._quotients[symbol] = found[0]
        numerator, divisor = found[0].as_numer_denom()
        if divisor.is_Integer and divisor > 1:
            self._solutions[symbol] = FloorDiv(numerator, divisor)
            self._solutions[expression] = size
            self.conditions[expression] = sympy.Eq(Mod(numerator, divisor), 0)

    def _symbol_of_size(self, name: str) -> sympy.Symbol:
        import sympy

        symbol = sympy.Symbol(fresh_name(name, self._taken), integer=True, positive=True)
        self.declare(symbol.name)
        return symbol

    def bind(self, symbol: str, value: Scalar) -> None:
        """Define a symbol that a node defines: a size of its result, or a number that it reads."""
        self._values.setdefault(symbol, value)

    def input_size(self, symbol: sympy.Symbol) -> tuple[str, Any, Any] | None:
        """Return the size of an input that defines a symbol, as its name, a factor and an offset.

        The symbol is `factor * size + offset`. Return None for other symbols.
        """
        solution = self._quotients.get(symbol, self._solutions.get(symbol, symbol))
        if len(solution.free_symbols) != 1 or not solution.is_polynomial(*solution.free_symbols):
            return None
        (size,) = solution.free_symbols
        factor, offset = solution.coeff(size, 1), solution.coeff(size, 0)
        value = self._values.get(size.name)
        if not isinstance(value, SymExpr) or solution != factor * size + offset:
            return None
        return str(value), factor, offset

    def is_known(self, expression: sympy.Expr) -> bool:
        return all(map(self._defines, expression.xreplace(self._solutions).free_symbols))

    def size(self, expression: object) -> Size:
        """Return the size for a SymInt, an expression, or a number."""
        found = self.scalar(expression)
        return sizes.of_scalar(found) if isinstance(found, Value) else found

    def scalar(self, expression: Any) -> Scalar:
        """Return the value of an expression: a number, a size, or else a 0-D tensor."""
        if isinstance(expression, (bool, int, float)):
            return expression
        node = getattr(expression, "node", None)
        expr = node.expr if node is not None else expression
        return self._evaluate(expr.xreplace(self._solutions) if self._solutions else expr)

    def _evaluate(self, expression: Any) -> Scalar:
        if expression.is_Symbol:
            if expression.name not in self._values:
                raise Unsupported(f"nothing defines torch's symbol {expression.name}")
            return self._values[expression.name]
        if expression.is_Integer:
            return int(expression)
        if expression.is_number and expression.is_real and not expression.is_integer:
            return float(expression)
        if expression in (True, False):
            return bool(expression)
        if (name := type(expression).__name__) == "Piecewise":
            return self._select_case(expression.args)
        given = [self._evaluate(arg) for arg in expression.args]
        try:
            return self.applied(name, given)
        except SymbolError as error:
            raise Unsupported(f"the size {expression}: {error}") from None

    def _select_case(self, cases: Sequence[tuple[Any, Any]]) -> Scalar:
        """Return the value of the first case with a true condition. The last condition is always true."""
        *firsts, (last, _) = cases
        found = self._evaluate(last)
        for value, condition in reversed(firsts):
            found = self.applied("Where", [self._evaluate(condition), self._evaluate(value), found])
        return found

    def applied(self, name: str, scalars: Sequence[Scalar]) -> Scalar:
        """Return the result of a function of sympy, or of torch.utils._sympy.functions, by its name."""
        if name in _COMPARED:
            return _compare(_COMPARED[name], scalars)
        if name == "Not":
            is_known = isinstance(scalars[0], bool)
            return not scalars[0] if is_known else Value(ssa=relax.logical_not(sizes.as_scalar(scalars[0], "i1")))
        if name == "Where":
            return _choose(*scalars)
        if name in ("ToFloat", "Float"):
            return float(scalars[0]) if isinstance(scalars[0], int) else Value(ssa=sizes.as_scalar(scalars[0], "f64"))
        if name in _ROUNDED:
            return Value(ssa=cast(relax.dialect.ops[_ROUNDED[name]](sizes.as_scalar(scalars[0], "f64")), "i64"))
        if name == "RoundDecimal":
            return _round(*scalars)
        if name in _FLOATS or name.startswith(_FUNCTION) or any(map(_is_float, scalars)):
            return _compute_in_floats(name, scalars)
        of_sizes = [sizes.of_scalar(each) if isinstance(each, Value) else each for each in scalars]
        if name == "Add":
            return reduce(sizes.plus, of_sizes)
        if name == "Mul":
            return reduce(sizes.times, of_sizes)
        if name == "Pow":
            return _power(*of_sizes)
        if name in _SIZES:
            return _SIZES[name](*of_sizes)
        raise Unsupported(f"sizes that are computed by {name} are not supported")


def _choose(condition: Scalar, one: Scalar, other: Scalar) -> Scalar:
    if isinstance(condition, bool):
        return one if condition else other
    dtype = _common_dtype([one, other])
    return Value(ssa=relax.where(sizes.as_scalar(condition, "i1"), *(sizes.as_scalar(x, dtype) for x in (one, other))))


def _common_dtype(scalars: Sequence[Scalar]) -> str:
    if any(map(_is_float, scalars)):
        return "f64"
    return "i1" if all(map(_is_truth, scalars)) else "i64"


def _is_truth(value: Scalar) -> bool:
    return isinstance(value, bool) or (isinstance(value, Value) and value.dtype == "i1")


def _round(number: Scalar, digits: Scalar) -> Scalar:
    """Round a float to even at a decimal digit with a scaled number, as torch's compiler does."""
    if not isinstance(digits, int):
        raise Unsupported("rounding to a dynamic number of digits is not supported")
    if isinstance(number, (int, float)):
        return round(float(number), digits)
    factor, x = const(10.0 ** abs(digits), "f64"), sizes.as_scalar(number, "f64")
    scale, back = (relax.multiply, relax.divide) if digits > 0 else (relax.divide, relax.multiply)
    return Value(ssa=back(relax.round(scale(x, factor)), factor))


def _is_float(value: Scalar) -> bool:
    return isinstance(value, float) or (isinstance(value, Value) and value.dtype == "f64")


def _compare(name: str, scalars: Sequence[Scalar]) -> Scalar:
    if name in _PYTHON and all(isinstance(each, (int, float)) for each in scalars):
        return _PYTHON[name](*scalars)
    decided = _decide(name, scalars) if sizes.is_known(*scalars) else None
    if decided is not None:
        return decided
    dtype = "i1" if name.startswith("logical") else "f64" if any(map(_is_float, scalars)) else "i64"
    return Value(ssa=reduce(relax.dialect.ops[name], [sizes.as_scalar(each, dtype) for each in scalars]))


def _decide(name: str, given: Sequence[Size]) -> bool | None:
    """Return the result of a comparison that is the same for all sizes, or None if it depends on them."""
    left, right = given if name.startswith("greater") else given[::-1]
    if name in ("equal", "not_equal"):
        is_equal = equal(left, right)
        return is_equal if is_equal is None or name == "equal" else not is_equal
    least = right if name.endswith("equal") else right + 1
    if at_most(least, left):
        return True
    return False if at_most(left + 1, least) else None


#: Functions of the module math, which torch does not trace.
_FUNCTION = "OpaqueUnaryFn_"


def _compute_in_floats(name: str, scalars: Sequence[Scalar]) -> Scalar:
    operands = [sizes.as_scalar(each, "f64") for each in scalars]
    if name.startswith(_FUNCTION):
        return Value(ssa=_function(name.removeprefix(_FUNCTION), operands[0]))
    names = {"Add": "add", "Mul": "multiply", "Pow": "power", "Max": "maximum", "Min": "minimum", **_FLOATS}
    names |= {"Mod": "mod", "PythonMod": "floor_mod", "FloorDiv": "floor_divide", "Identity": "", "Abs": "abs"}
    if name not in names:
        raise Unsupported(f"numbers that are computed from sizes by {name} are not supported")
    if len(operands) == 1:
        return Value(ssa=relax.dialect.ops[names[name]](*operands)) if names[name] else scalars[0]
    return Value(ssa=reduce(relax.dialect.ops[names[name]], operands))


def _function(name: str, x: Tensor) -> Tensor:
    if name in relax.dialect.ops:
        return relax.dialect.ops[name](x)
    if name == "log2":
        return relax.divide(relax.log(x), const(math.log(2), "f64"))
    raise Unsupported(f"numbers that are computed from sizes by {name} are not supported")
