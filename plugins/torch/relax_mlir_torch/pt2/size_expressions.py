# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parser of symbolic sizes, which .pt2 archives contain in the form of sympy's `srepr`.

torch passes these texts to sympy.sympify, which calls eval. The parser builds the same expressions from a table of
functions, and bounds their size: `Pow(Integer(10), Integer(10**12))` would fill the memory.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .refusals import refuse, shortened

_MOST_CHARACTERS = 100_000
#: Products that an expression may become when torch expands it.
_MOST_TERMS = 10_000
_MOST_EXPONENT = 64
_MOST_BITS = 4096
_SYMBOL = re.compile(r"(?:s|u|zf|zuf)\d{1,9}")
_FLOAT = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")

#: Functions of sympy itself.
_SYMPY = frozenset(
    "Add Mul Pow Rational Max Min Mod floor ceiling Abs Piecewise ExprCondPair "
    "Equality Unequality LessThan GreaterThan StrictLessThan StrictGreaterThan Eq Ne Le Ge Lt Gt And Or Not".split()
)
#: Functions of torch, which take precedence.
_TORCH = frozenset(
    "FloorDiv ModularIndexing Where PythonMod Mod CleanDiv CeilToInt FloorToInt CeilDiv LShift RShift PowByNatural "
    "FloatPow FloatTrueDiv IntTrueDiv IsNonOverlappingAndDenseIndicator TruncToFloat TruncToInt RoundToInt "
    "RoundDecimal ToFloat Identity".split()
    + [f"OpaqueUnaryFn_{name}" for name in "sqrt cos cosh sin sinh tan tanh asin acos atan exp log log2 asinh".split()]
    + [f"BitwiseFn_bitwise_{name}" for name in ("and", "or", "xor")]
)
#: Functions with a second operand that must be a small number: the result has that many digits.
_POWERS = frozenset("Pow PowByNatural FloatPow LShift RShift".split())
_ASSUMPTIONS = frozenset("integer positive nonnegative negative nonpositive nonzero zero real rational finite".split())


def parse_expression(text: str) -> Any:
    """Return the sympy expression that a text represents. Raise UnreadableError for any other text."""
    if len(text) > _MOST_CHARACTERS:
        refuse(f"a symbolic size has {len(text)} characters, at most {_MOST_CHARACTERS} are allowed")
    try:
        tree = ast.parse(text, mode="eval")
        expression, _ = _SizeParser(text).read(tree.body)
    except (SyntaxError, RecursionError, MemoryError, ArithmeticError, TypeError, ValueError, AttributeError) as error:
        refuse(f"the symbolic size {shortened(text)} cannot be read: {type(error).__name__}")
    return expression


class _SizeParser:
    """Bottom-up reader of expressions. A result is an expression and the number of terms that it may expand to."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, node: ast.expr) -> tuple[Any, int]:
        """Return the expression of a node and its number of terms."""
        import sympy

        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._check(*self._call(node.func.id, node))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand, terms = self.read(node.operand)
            return -operand, terms
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return self._check(sympy.Integer(node.value), 1)
        if isinstance(node, ast.Name):
            return self._name(node.id), 1
        self._refuse()

    def _name(self, name: str) -> Any:
        """Return the constant or the plain symbol of a name."""
        import sympy

        constants = {"true": sympy.true, "false": sympy.false, "oo": sympy.oo}
        return constants[name] if name in constants else sympy.Symbol(self._symbol(name))

    def _call(self, name: str, node: ast.Call) -> tuple[Any, int]:
        import sympy

        if name == "Symbol":
            return self._symbol_of(node), 1
        if name == "Float":
            return self._float_of(node), 1
        if node.keywords:
            self._refuse()
        if name == "Integer":
            (value,) = node.args
            return sympy.Integer(_literal(value, int)), 1
        operands, terms = zip(*map(self.read, node.args), strict=True) if node.args else ((), ())
        self._check_power(name, operands)
        return self._function(name)(*operands), _terms_of(name, operands, terms)

    def _function(self, name: str) -> Callable[..., Any]:
        import sympy
        from torch.utils._sympy import functions

        if name not in _TORCH and name not in _SYMPY:
            self._refuse()
        function: Callable[..., Any] = getattr(functions if name in _TORCH else sympy, name)
        return function

    def _symbol_of(self, node: ast.Call) -> Any:
        import sympy

        (name,) = node.args
        assumptions = {str(keyword.arg): _literal(keyword.value, bool) for keyword in node.keywords}
        if not _ASSUMPTIONS.issuperset(assumptions):
            self._refuse()
        return sympy.Symbol(self._symbol(_literal(name, str)), **assumptions)

    def _symbol(self, name: str) -> str:
        if not _SYMBOL.fullmatch(name):
            self._refuse()
        return name

    def _float_of(self, node: ast.Call) -> Any:
        import sympy

        (digits,) = node.args
        options = {str(keyword.arg): _literal(keyword.value, int) for keyword in node.keywords}
        text = _literal(digits, str)
        if not _FLOAT.fullmatch(text) or not math.isfinite(float(text)) or len(text) > _MOST_BITS:
            self._refuse()
        if not set(options) <= {"precision"} or not 1 <= options.get("precision", 53) <= _MOST_BITS:
            self._refuse()
        return sympy.Float(text, **options)

    def _check_power(self, name: str, operands: Sequence[Any]) -> None:
        """Refuse powers and shifts by more than a small number."""
        if name in _POWERS and not (
            len(operands) == 2 and operands[1].is_Number and abs(operands[1]) <= _MOST_EXPONENT
        ):
            self._refuse()

    def _check(self, expression: Any, terms: int) -> tuple[Any, int]:
        digits = [expression.p, expression.q] if getattr(expression, "is_Rational", False) else []
        if terms > _MOST_TERMS or any(int(digit).bit_length() > _MOST_BITS for digit in digits):
            refuse(f"the symbolic size {shortened(self._text)} is too large")
        return expression, terms

    def _refuse(self) -> NoReturn:
        refuse(f"the symbolic size {shortened(self._text)} is not an expression of sizes that torch writes")


def _literal(node: ast.expr, kind: type) -> Any:
    """Return the value of a literal of a type. Raise ValueError for anything else."""
    value: Any = ast.literal_eval(node)
    if type(value) is not kind:
        raise ValueError(f"no literal of type {kind.__name__}")
    return value


def _terms_of(name: str, operands: Sequence[Any], terms: Sequence[int]) -> int:
    """Return the number of products in the sum to which torch expands an expression."""
    if name == "Mul":
        return math.prod(terms)
    if name in ("Pow", "PowByNatural"):
        return int(terms[0] ** max(1, math.ceil(abs(operands[1]))))
    return sum(terms) if terms else 1
