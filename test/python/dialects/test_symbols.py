# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic dimensions: each simplification, each error, and unknown sizes."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from relax_mlir.dialects.core import symbols
from relax_mlir.dialects.core.symbols import (
    MAX_TEXT,
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
    product,
    sym,
)
from relax_mlir.dialects.core.symbols_expr import make_variable

# Texts as a reader sees them. The text on the right is canonical: it reads back unchanged.

SIMPLIFIED = {
    "m*k + 1 + 2*n": "2*n + k*m + 1",
    "1 - m + n": "n - m + 1",
    "4 - n": "-n + 4",
    "n*m - m*n": "0",
    "(n + m)*(n - m)": "n*n - m*m",
    "min(a, n) + n": "n + min(a, n)",
    "-(n//4)": "-(n//4)",
    "m - n//4": "m - n//4",
    "-n//4": "-((n + 3)//4)",
    "2*(n//4)*m": "2*m*(n//4)",
    "--n": "n",
    "a.b + _c": "_c + a.b",
    # floordiv by a number
    "(4*n)//4": "n",
    "(4*n + 3)//4": "n",
    "(4*n + m)//4": "n + m//4",
    "(4*n - 1)//4": "n - 1",
    "(5*n)//4": "n + n//4",
    "(2*n + 1)//4": "n//2",
    "(n//2)//3": "n//6",
    "(n//2 + 3)//2": "(n + 2)//4 + 1",
    "(n//2 + m)//3": "(2*m + n)//6",
    "n//1": "n",
    "n//-1": "-n",
    "n//-4": "-((n + 3)//4)",
    "-(-n//4)": "(n + 3)//4",
    "(n - 1)//2 + 1": "(n + 1)//2",
    "(n - m)//2 + 1": "(n - m)//2 + 1",
    "(n%4)//4": "0",
    "(n%4 + 4)//4": "1",
    "((n%8)//4)//2": "0",
    "-1//n": "-1",
    # floordiv by an expression
    "0//n": "0",
    "n//n": "1",
    "(n*m)//n": "m",
    "(2*n*m)//(2*n)": "m",
    "(n*m + k)//n": "m + k//n",
    "(n*k)//(n*m)": "k//m",
    "(2*n + 1)//(2*m)": "n//m",
    "(n*m + m)//(n + 1)": "m",
    "(n*n + 3*n + 2)//(n + 1)": "n + 2",
    "(n*m + k)//(n + 1)": "(k + m*n)//(n + 1)",
    "(n - 1)//n": "0",
    "n//(n + 1)": "0",
    "(n//m)//k": "n//(k*m)",
    "(n//4)//m": "n//(4*m)",
    "n//(-m)": "-((n - 1)//m) - 1",
    "(n%m)//m": "0",
    "n//(m - 5)": "n//(m - 5)",
    "(2*n + 1)//(2*m - 6)": "(2*n + 1)//(2*m - 6)",
    "(n%4)//(m + 3)": "(n%4)//(m + 3)",
    "(n%4)//(m + 4)": "0",
    "-5//(n + 2)": "-((n + 6)//(n + 2))",
    "-2//(n + 2)": "-1",
    # mod
    "n%1": "0",
    "n%n": "0",
    "0%n": "0",
    "0%(n - 5)": "0",
    "(4*n + m)%4": "m%4",
    "(4*n + 7)%4": "3",
    "(2*n + 1)%4": "2*(n%2) + 1",
    "(n%8)%4": "n%4",
    "(n%8 + m)%4": "(m + n)%4",
    "(n%4)%8": "n%4",
    "(n%m)%m": "n%m",
    "(n%4 + 8)%16": "n%4 + 8",
    "(n*m + k)%n": "k%n",
    "(n*k)%(n*m)": "n*(k%m)",
    "(n*m + m)%(n + 1)": "0",
    "n%(n + 1)": "n",
    "(n - 1)%n": "n - 1",
    "-2%(n + 2)": "n",
    "-5%(n + 2)": "(-5)%(n + 2)",
    "n%-4": "-((-n)%4)",
    # ceildiv
    "ceildiv(n, 4)": "(n + 3)//4",
    "ceildiv(4*n, 4)": "n",
    "ceildiv(n, m)": "(n - 1)//m + 1",
    "ceildiv(n*m, m)": "n",
    "ceildiv(n*(m + 1), m + 1)": "n",
    "ceildiv(n, -4)": "-(n//4)",
    "ceildiv(n, m - 5)": "-((-n)//(m - 5))",
    "ceildiv(7, 2)": "4",
    # min, max
    "min(n, n)": "n",
    "min(n, n + 1)": "n",
    "max(n, n + 1)": "n + 1",
    "max(n, 0)": "n",
    "max(min(n, 8), n)": "n",
    "min(n, max(m, n))": "n",
    "max(min(n, 8), m)": "max(m, min(n, 8))",
    "min(n, 0)": "0",
    "min(n, -1)": "-1",
    "max(n - 1, 0)": "max(n - 1, 0)",
    "max(n*m + k, 0)": "k + m*n",
    "min(4, n, min(m, 3))": "min(m, n, 3)",
    "max(min(n, 4), 0)": "min(n, 4)",
    "min(max(n, 4), 4)": "4",
    "max(n%4, 3)": "3",
    "max(min(n, k - m), 0)": "max(min(k - m, n), 0)",
    "min(max(n, 3), 5)": "min(max(n, 3), 5)",
    "max(n%(m - 5), 0)": "max(n%(m - 5), 0)",
    "max(k*((n - 5)//m), -9)": "max(k*((n - 5)//m), -9)",
    "max(n//2, m//n, 0)": "max(m//n, n//2)",
}


@pytest.mark.parametrize("text", SIMPLIFIED)
def test_simplified(text: str) -> None:
    assert str(parse(text)) == SIMPLIFIED[text]
    assert str(parse(SIMPLIFIED[text])) == SIMPLIFIED[text]


REFUSED = {
    "": "column 1: expected a name, an integer, '-' or '(', found the end",
    "n +": "column 4: expected a name, an integer, '-' or '(', found the end",
    "n + )": "column 5: expected a name, an integer, '-' or '(', found ')'",
    "(n": "column 3: expected ')', found the end",
    "n)": "column 2: expected an operator or the end, found ')'",
    "2n": "column 2: expected an operator or the end, found 'n'",
    "n m": "column 3: expected an operator or the end, found 'm'",
    "n, m": "column 2: expected an operator or the end, found ','",
    "+n": "column 1: expected a name",
    "n**2": "column 3: expected a name",
    "n/2": "column 2: unexpected '/'",
    "n + ²": "column 5: unexpected '²'",
    "n é": "column 3: unexpected 'é'",
    "min": "column 4: expected '(', found the end",
    "min + 1": "column 5: expected '(', found '+'",
    "min(n)": "column 6: expected ',', found ')'",
    "min(n, )": "column 8: expected a name",
    "max()": "column 5: expected a name",
    "ceildiv(n, 2, 3)": "column 13: expected ')', found ','",
    "ceildiv(n)": "column 10: expected ',', found ')'",
    "floor(n)": "column 6: expected an operator or the end ('floor' is no function; functions are min,",
    "n // 0": "column 3: division by zero: 'n' // 0",
    "n % (2 - 2)": "column 3: division by zero: 'n' % 0",
    "4 // 0": "column 3: division by zero",
    "ceildiv(n, 0)": "column 1: division by zero",
    "(" * 3000 + "n" + ")" * 1000: "column 67: parentheses nest more than 66 deep",
    "n+" * 2048 + "n": "expression is 4097 characters long, at most 4096 are allowed",
    "1" * 601: "column 1: integer of 601 digits, at most 600 are allowed",
    "1" * 500 + "*" + "1" * 500: "column 501: number of 3316 bits",
    "n*" + "1" * 500 + "*" + "1" * 500: "column 503: number of 3316 bits",
    "+".join(f"a{i}" for i in range(257)): "column 1170: expression has 257 terms, at most 256 are allowed",
    "*".join(["(a+b+c+d+e)"] * 300): "terms, at most 256 are allowed",
    "min(" + ",".join(f"a{i}" for i in range(33)) + ")": "column 1: min of more than 32 expressions",
    "(n*n" + "*n" * 1500 + ")*(m*m" + "*m" * 500 + "+1)": "characters long, at most 4096 are allowed",
    "(" * 33 + "n" + "//m + k)" * 33: "// % min max 33 deep, at most 32 levels are allowed",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_refused(text: str) -> None:
    with pytest.raises(SymbolError) as error:
        parse(text)
    assert REFUSED[text] in str(error.value)
    assert len(str(error.value)) < 250
    assert isinstance(error.value, ValueError)


def test_long_text_is_no_nesting() -> None:
    assert parse("-" * 4000 + "n") == sym("n")
    assert parse("+".join(["(n)"] * 100)) == 100 * sym("n")


def test_the_longest_expression() -> None:
    longest = "n" * MAX_TEXT
    assert str(sym(longest)) == longest == str(parse(longest))
    for act in (sym, parse, lambda text: sym(text[:-2]) + 1000):
        with pytest.raises(SymbolError, match=rf"expression is \d+ characters long, at most {MAX_TEXT} are allowed"):
            act(longest + "n")


@pytest.mark.parametrize(
    ("make", "most", "message"),
    [
        (lambda count: parse("+".join(f"n{each}" for each in range(count))), 256, "has 257 terms, at most 256"),
        (lambda count: parse("0" * (count - 1) + "7"), 600, "integer of 601 digits, at most 600"),
        (lambda bits: (1 << (bits - 1)) * sym("n"), 1990, "number of 1991 bits in an expression, at most 1990"),
        (lambda count: parse(f"min({', '.join(f'n{each}' for each in range(count))})"), 32, "min of more than 32"),
    ],
)
def test_the_largest_expressions(make: Callable[[int], Size], most: int, message: str) -> None:
    make(most)
    with pytest.raises(SymbolError, match=message):
        make(most + 1)


def test_long_division_gives_up_early() -> None:
    text = "*".join("a" * 300)  # the quotient would have millions of terms
    assert str(parse(f"({text})//(a - b - c - d)")) == f"({text})//(a - b - c - d)"


def test_the_deepest_expression_can_be_parsed_and_evaluated() -> None:
    deepest: Size = sym("n")
    for _ in range(32):
        deepest = 2 * ((deepest + 1) // sym("m")) * sym("k")  # two levels of parentheses each
    assert isinstance(deepest, SymExpr)
    assert parse(str(deepest)) == deepest
    assert deepest.evaluate({"n": 3, "m": 1, "k": 0}) == 0
    assert isinstance(deepest.substitute({"m": sym("q")}), SymExpr)
    with pytest.raises(SymbolError, match="33 deep"):
        deepest // sym("m") + 1


@pytest.mark.parametrize("name", ["n", "_", "N0", "a.b", "floordiv", "min_", "x" * 200])
def test_sym(name: str) -> None:
    assert str(sym(name)) == name
    assert sym(name) == parse(name)
    assert sym(name).variables == {name}


@pytest.mark.parametrize("name", ["", "0n", ".n", "n-1", "n m", "é", "n\n", "min", "max", "ceildiv", "n" * 5000])
def test_sym_refuses(name: str) -> None:
    with pytest.raises(SymbolError):
        sym(name)


def test_operators_take_numbers_on_both_sides() -> None:
    n = sym("n")
    assert [str(e) for e in (n + 2, 2 + n, n - 2, 2 - n, n * 2, 2 * n)] == [
        *("n + 2", "n + 2", "n - 2", "-n + 2", "2*n", "2*n")
    ]
    assert [str(e) for e in (n // 2, 9 // n, n % 2, 9 % n, -n)] == ["n//2", "9//n", "n%2", "9%n", "-n"]
    assert type(n - n) is int
    assert type(n * 0) is int


@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%"])
@pytest.mark.parametrize("operands", [("n", "other"), ("other", "n")])
def test_operators_refuse_other_types(operator: str, operands: tuple[str, str]) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        eval(f"{operands[0]} {operator} {operands[1]}", {"n": sym("n"), "other": 1.5})


def test_division_by_zero() -> None:
    for divide in (dim_floordiv, dim_mod, ceildiv):
        for dividend in (sym("n"), 4, 0):
            with pytest.raises(SymbolError, match="division by zero"):
                divide(dividend, 0)


def test_immutable_and_hashable() -> None:
    expression = parse("2*n + 1")
    with pytest.raises(AttributeError, match="immutable"):
        expression._text = "n"  # type: ignore[union-attr]
    with pytest.raises(AttributeError, match="immutable"):
        del expression._terms  # type: ignore[union-attr]
    assert {expression: 1}[1 + sym("n") * 2] == 1
    assert expression != "2*n + 1"
    assert repr(expression) == "SymExpr('2*n + 1')"


@pytest.mark.parametrize("text", ["2*n + 1", "min(n, 4)//m"])
def test_copies(text: str) -> None:
    expression = parse(text)
    assert copy.deepcopy(expression) == expression
    assert pickle.loads(pickle.dumps(expression)) == expression


def test_evaluate_names_what_is_wrong() -> None:
    expression = parse("n//m + 1")
    assert isinstance(expression, SymExpr)
    assert expression.evaluate({"n": 7, "m": 2, "unused": -1}) == 4
    for values, message in [
        ({"n": 7}, "cannot evaluate 'n//m + 1': no value for 'm'"),
        ({"n": -7, "m": 2}, "'n' is -7, not a size >= 0"),
        ({"n": "7", "m": 2}, "'n' is '7', not a size >= 0"),
        ({"n": 7, "m": 0}, "cannot evaluate 'n//m + 1': division by zero: '7' // 0"),
    ]:
        with pytest.raises(SymbolError) as error:
            expression.evaluate(values)  # type: ignore[arg-type]
        assert message in str(error.value)


def test_substitute() -> None:
    expression = parse("min(n, m) + n//4 + k")
    assert isinstance(expression, SymExpr)
    assert expression.variables == {"k", "m", "n"}
    swapped = expression.substitute({"n": sym("m"), "m": sym("n"), "unused": None})
    assert str(swapped) == "k + m//4 + min(m, n)"
    assert expression.substitute({"n": 8, "m": 3, "k": 0}) == 5
    assert expression.substitute({"n": None, "m": 3}) is None
    assert expression.substitute({}) is expression
    with pytest.raises(SymbolError, match="'n' is -8, not a size >= 0"):
        expression.substitute({"n": -8})
    with pytest.raises(SymbolError, match="'n' is 'm', not a size >= 0"):
        expression.substitute({"n": "m"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("2*(n + 1)", "2*n + 2", True),
        ("4*(n//4) + n%4", "n", True),
        ("m*(4*(n//4) + n%4)", "n*m", True),
        ("ceildiv(n, 2)", "(n - 1)//2 + 1", True),
        ("n", "n + 1", False),
        ("n + 1", "0", False),
        ("n%4", "4", False),
        ("3", "4", False),
        ("n", "m", None),
        ("n", "3", None),
        ("60*n", "80", False),
        ("4*n + 6*m", "3", False),
        ("4*n + 6*m", "2", None),
        ("2*(n//3) + 4*(n*m)", "7", False),
        ("2*n", "4", None),
        ("2*n", "2*m + 1", False),
        ("n*m", "n", None),
        ("n + m", "n", None),
    ],
)
def test_equal(a: str, b: str, expected: bool | None) -> None:
    assert equal(parse(a), parse(b)) is expected
    assert equal(parse(b), parse(a)) is expected


def test_equal_of_what_is_too_large_to_compare() -> None:
    a, b = (parse("+".join(f"{letter}{i}" for i in range(200))) for letter in "ab")
    assert equal(a, b) is None


@pytest.mark.parametrize(
    "operation", [dim_add, dim_sub, dim_mul, dim_floordiv, dim_mod, dim_min, dim_max, ceildiv, equal]
)
def test_unknown_stays_unknown(operation: Callable[[Dim, Dim], Dim]) -> None:
    for dim in (None, 3, sym("n")):
        assert operation(None, dim) is None
        assert operation(dim, None) is None


def test_product() -> None:
    assert product([]) == 1
    assert product([2, 3, 4]) == 24
    assert str(product((2, sym("n"), 3, sym("m")))) == "6*m*n"
    assert product([2, None, sym("n")]) is None


@pytest.mark.parametrize(
    ("size", "cut"),
    [
        ("min(n, m)", False),  # n may be 0, which no broadcast makes of m
        ("min(n + 1, m)", True),
        ("min(n, k + 1, m)", False),
        ("min(4, m)", True),
        ("min(n, 4)", False),
        ("m", False),
    ],
)
def test_is_cut_recognizes_parts_of_a_size(size: str, cut: bool) -> None:
    assert symbols.is_cut(symbols.parse(size), sym("m")) is cut


def test_imports_only_light_parts_of_the_standard_library(tmp_path: Path) -> None:
    package = tmp_path / "alone"
    package.mkdir()
    (package / "__init__.py").touch()
    folder = Path(symbols.__file__).parent
    for name in ("symbols.py", "symbols_expr.py", "symbols_terms.py", "intervals.py"):
        shutil.copy(folder / name, package)
    heavy = "{'dataclasses', 'enum', 'numpy', 're', 'typing', 'torch_mlir', 'mlir', 'relax_mlir'}"
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import alone.symbols"
    code += f"; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (result.stdout.strip(), result.stderr) == ("[]", "")


@pytest.mark.parametrize(
    ("smaller", "larger", "expected"),
    [
        ("n", "n + m", True),
        ("n + 1", "n", False),
        ("min(n, 2) + max(n - 2, 0)", "n", True),
        ("k*min(n, 2) + k*max(n - 2, 0)", "k*n", True),
        ("min(n, 2) + max(min(n, 10) - min(n, 2), 0)", "n", True),
        ("min(n, 2) + max(n - 1, 0)", "n", False),
        ("max(n, m)", "n + m", True),
        ("max(n, m)", "n", False),
        ("(n + 1)//2 + n//2", "n", True),
        ("(n + 1)//2 + (n + 1)//2", "n", False),
        ("4*(n//4) + n%4", "n", True),
    ],
)
def test_at_most(smaller: str, larger: str, expected: bool) -> None:
    assert at_most(parse(smaller), parse(larger)) is expected


def test_variables_of_one_name_with_other_limits() -> None:
    """Check that cached comparisons for one loop's variable do not apply to another loop's variable of the same
    name."""
    few, many = make_variable("v", 3), make_variable("v", 9)
    assert [at_most(each, 3) for each in (few, many)] == [True, False]
    assert [at_most(each // 2, 1) for each in (few, many)] == [True, False]
    assert [equal(each, 5) for each in (few, many, make_variable("v"))] == [False, None, None]
