# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic dimensions agree with Python's own arithmetic, and their text reads back, for any expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from relax_mlir.dialects.core.symbols import (
    Dim,
    Size,
    SymbolError,
    SymExpr,
    at_most,
    ceildiv,
    dim_add,
    dim_floordiv,
    dim_max,
    dim_min,
    dim_mod,
    dim_mul,
    dim_sub,
    equal,
    parse,
    sym,
)

NAMES = ("k", "m", "n")

# An operation on symbolic sizes and the same on numbers.
OPERATIONS: dict[str, tuple[Callable[..., Dim], Callable[[int, int], int]]] = {
    "+": (dim_add, lambda a, b: a + b),
    "-": (dim_sub, lambda a, b: a - b),
    "*": (dim_mul, lambda a, b: a * b),
    "//": (dim_floordiv, lambda a, b: a // b),
    "%": (dim_mod, lambda a, b: a % b),
    "min": (dim_min, min),
    "max": (dim_max, max),
    "ceildiv": (ceildiv, lambda a, b: -(-a // b)),
}
FUNCTIONS = ("min", "max", "ceildiv")

Tree = int | str | tuple  # a number, a name or (operation, left, right)

trees = st.recursive(
    st.sampled_from(NAMES) | st.integers(-6, 9),
    lambda inner: st.tuples(st.sampled_from([*OPERATIONS, "//", "%"]), inner, inner),
    max_leaves=10,
)
assignments = st.fixed_dictionaries({name: st.integers(0, 12) | st.integers(0, 1000) for name in NAMES})
properties = draws(400)


def numeric(tree: Tree, values: Mapping[str, int]) -> int:
    """Return the value by Python's own integers. An example with a division by zero is discarded."""
    if isinstance(tree, tuple):
        operation, left, right = tree
        a, b = numeric(left, values), numeric(right, values)
        assume(b != 0 or operation not in ("//", "%", "ceildiv"))
        return OPERATIONS[operation][1](a, b)
    return values[tree] if isinstance(tree, str) else tree


def symbolic(tree: Tree) -> Size:
    """Return the expression. A refused example (a zero divisor) is discarded."""
    try:
        return _symbolic(tree)
    except SymbolError:
        assume(False)
        raise


def _symbolic(tree: Tree) -> Size:
    if isinstance(tree, tuple):
        result = OPERATIONS[tree[0]][0](_symbolic(tree[1]), _symbolic(tree[2]))
        assert result is not None
        return result
    return sym(tree) if isinstance(tree, str) else tree


def as_text(tree: Tree) -> str:
    if isinstance(tree, tuple):
        operation, left, right = tree[0], as_text(tree[1]), as_text(tree[2])
        return f"{operation}({left}, {right})" if operation in FUNCTIONS else f"({left}) {operation} ({right})"
    return str(tree)


def evaluate(size: Dim, values: Mapping[str, int]) -> int:
    assert size is not None
    return size if isinstance(size, int) else size.evaluate(values)


@properties
@given(trees, assignments)
def test_value_is_pythons(tree: Tree, values: dict[str, int]) -> None:
    expression, expected = symbolic(tree), numeric(tree, values)
    assert evaluate(expression, values) == expected


@properties
@given(trees)
def test_text_reads_back(tree: Tree) -> None:
    expression = symbolic(tree)
    again = parse(str(expression))
    assert again == expression
    assert str(again) == str(expression)
    assert hash(again) == hash(expression)


@properties
@given(trees)
def test_reading_agrees_with_operators(tree: Tree) -> None:
    expression = symbolic(tree)
    assert parse(as_text(tree)) == expression


@properties
@given(trees)
def test_never_a_constant_expression(tree: Tree) -> None:
    expression = symbolic(tree)
    if isinstance(expression, SymExpr):
        assert expression.variables
        assert expression - expression == 0
        assert expression // expression == 1
        assert expression % expression == 0


@properties
@given(trees, trees, st.sampled_from(NAMES), assignments)
def test_substituted_value(tree: Tree, replacement: Tree, name: str, values: dict[str, int]) -> None:
    expression, size = symbolic(tree), symbolic(replacement)
    number = numeric(replacement, values)
    assume(number >= 0)
    expected = numeric(tree, {**values, name: number})
    assume(isinstance(expression, SymExpr) and not (isinstance(size, int) and size < 0))
    assert isinstance(expression, SymExpr)
    assert evaluate(expression.substitute({name: size}), values) == expected


@properties
@given(trees, trees, assignments)
def test_equal_never_lies(a: Tree, b: Tree, values: dict[str, int]) -> None:
    answer = equal(symbolic(a), symbolic(b))
    same = numeric(a, values) == numeric(b, values)
    assert answer in (None, same)


@properties
@given(trees, trees, assignments)
def test_at_most_never_lies(a: Tree, b: Tree, values: dict[str, int]) -> None:
    expressions, numbers = (symbolic(a), symbolic(b)), (numeric(a, values), numeric(b, values))
    for smaller, larger in ((0, 1), (1, 0)):
        if at_most(expressions[smaller], expressions[larger]):
            assert numbers[smaller] <= numbers[larger]


@properties
@given(trees, trees, trees)
def test_equal_polynomials_are_the_same(a: Tree, b: Tree, c: Tree) -> None:
    x, y, z = symbolic(a), symbolic(b), symbolic(c)
    try:
        assert (x + y) * z == z * y + x * z
        assert x - (y - z) == x + z - y
        assert -(x * -y) == y * x
    except SymbolError as error:  # a product of many long terms
        assert "allowed" in str(error)


@draws(1000)
@given(st.text(alphabet="nm 0123+-*/%(),.é\n", max_size=40) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = parse(text)
    except SymbolError as error:
        assert "column" in str(error)
    else:
        assert parse(str(value)) == value
