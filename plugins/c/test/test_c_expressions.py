# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions as text: brackets if C needs them, for every operator within every other; ends of loops, sizes."""

from __future__ import annotations

import ctypes
import itertools
from random import Random
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_programs import CProgram, compiled, needs_compiler
from relax_mlir import relax
from relax_mlir_c.source.expressions import (
    Expression,
    binary,
    call,
    cast,
    choice,
    integer,
    name,
    quotient,
    remainder,
    unary,
)

VALUES = {"a": 6, "b": 5, "c": -3, "d": 0, "e": 7}
#: C's operators in Python. Divisors are never 0 here.
OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: int(x / y),
    "%": lambda x, y: x - y * int(x / y),
    "<<": lambda x, y: x << y,
    "<": lambda x, y: int(x < y),
    "<=": lambda x, y: int(x <= y),
    ">": lambda x, y: int(x > y),
    ">=": lambda x, y: int(x >= y),
    "==": lambda x, y: int(x == y),
    "!=": lambda x, y: int(x != y),
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "&&": lambda x, y: int(bool(x) and bool(y)),
    "||": lambda x, y: int(bool(x) or bool(y)),
}
TRUTH = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")
Value = tuple[Expression, int, bool]


def leaf(random: Random) -> Value:
    chosen = random.choice([*VALUES, *VALUES, 2, 9])
    if isinstance(chosen, int):
        return integer(chosen), chosen, False
    return name(chosen, is_place=random.random() < 0.5), VALUES[chosen], False


def truth(random: Random, depth: int) -> Value:
    """Return a bool of C, which compilers accept as an operand of && and !."""
    made, value, is_bool = drawn(random, depth)
    return (made, value, True) if is_bool else (binary("!=", made, integer(0)), int(value != 0), True)


def drawn(random: Random, depth: int) -> Value:
    """Draw an expression, its value, and whether it is a truth value."""
    if depth == 0:
        return leaf(random)
    kind = random.choice(["binary"] * 6 + ["choice", "choice", "minus", "not", "cast", "call", "sum"])
    if kind == "choice":
        (test, decides, _), (yes, one, _), (no, other, _) = truth(random, depth - 1), *pair(random, depth - 1)
        return choice(test, yes, no), one if decides else other, False
    if kind == "not":
        made, value, _ = truth(random, depth - 1)
        return unary("!", made), int(not value), True
    if kind in ("minus", "cast", "call"):
        made, value, _ = number(random, depth - 1)
        if kind == "minus":
            return unary("-", made), -value, False
        return (call("same", made) if kind == "call" else cast("int64_t", made)), value, False
    (left, one, _), (right, other, _) = pair(random, depth - 1)
    if kind == "sum":
        made = left + right
        assert isinstance(made, Expression)
        return made, one + other, False
    operator = random.choice(list(OPERATORS))
    if operator in ("&&", "||"):
        (left, one, _), (right, other, _) = truth(random, depth - 1), truth(random, depth - 1)
    if operator in ("/", "%", "<<") and (other <= 0 or other > 20 or abs(one) > 1 << 30):
        right, other = integer(3), 3
    if operator in TRUTH[:6]:
        left, right = call("same", left), call("same", right)  # integers.py decides about known values
    if operator == "<<" and one < 0:
        left, one = integer(2), 2
    return binary(operator, left, right), OPERATORS[operator](one, other), operator in TRUTH


def number(random: Random, depth: int) -> Value:
    """Draw a number that is no bool: compilers warn about comparisons of bools and arithmetic with them."""
    made, value, is_bool = drawn(random, depth)
    return (cast("int64_t", made) if is_bool else made, value, False)


def pair(random: Random, depth: int) -> tuple[Value, Value]:
    """Two that are not the same, which compilers warn of."""
    first, second = number(random, depth), number(random, depth)
    return (first, second) if first[0].text != second[0].text else (first, (name("f"), 11, False))


#: Comparisons of constants and sums in shifts have nothing to do with brackets.
FLAGS = ["-Wno-type-limits", "-Wno-tautological-compare"]


@needs_compiler
def test_nested_c_operators_have_the_right_parentheses() -> None:
    random = Random(20261125)
    values = [drawn(random, depth) for depth in (2, 3, 4) for _ in range(400)]
    values = [each for each in values if abs(each[1]) < 1 << 62]
    operands = ", ".join(f"int64_t {each}" for each in [*VALUES, "f"])
    used = "".join(f"(void){each};" for each in [*VALUES, "f"])
    functions = [
        f"int64_t f{place}({operands});\nint64_t f{place}({operands}) {{ {used} return {made.text}; }}"
        for place, (made, _, _) in enumerate(values)
    ]
    head = "#include <stdint.h>\nstatic inline int64_t same(int64_t x) { return x; }\n"
    library = compiled({"all.c": head + "\n".join(functions) + "\n"}, *FLAGS)
    for place, (made, expected, _) in enumerate(values):
        function = getattr(library, f"f{place}")
        function.restype = ctypes.c_int64
        assert function(*map(ctypes.c_int64, [*VALUES.values(), 11])) == expected, made.text
    levels = {made.level for made, _, _ in values}
    assert len(levels) == 9, "not every kind of operator stands outermost"


def test_sizes_are_computed_as_far_as_they_are_known() -> None:
    n = name("n", is_place=True)
    assert 0 * n == 0 and n * 0 == 0 and 1 * n == n and n * 1 == n
    assert 0 + n == n and n + 0 == n
    texts = [n + -2, 2 + n, n * 4, n + (n + 3), (n + 1) * 2]
    assert [each.text for each in texts if isinstance(each, Expression)] == [
        "n - 2", "n + 2", "n * 4", "n + n + 3", "(n + 1) * 2",
    ]  # fmt: skip
    least = choice(binary("<", n, integer(2)), n, integer(2))
    assert isinstance(made := least + (n + 3), Expression)
    assert made.text == "(n < 2 ? n : 2) + n + 3"


def test_quotients_round_down() -> None:
    n = name("n")
    assert (quotient(-7, 2, is_natural=False), remainder(-7, 2, is_natural=False)) == (-4, 1)
    assert (quotient(n, 0, is_natural=True), remainder(5, 0, is_natural=True)) == (0, 0)
    texts = [each(n, 3, is_natural=natural) for natural in (True, False) for each in (quotient, remainder)]
    assert [each.text for each in texts if isinstance(each, Expression)] == [
        "n / 3", "n % 3", "(n - (n % 3 + 3) % 3) / 3", "(n % 3 + 3) % 3",
    ]  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("formula", ["(n - m)//2 + 4", "(n - m) % 3", "(2*n - m)//3 + 3", "max(n - m, 0)//2"])
def test_sizes_that_are_quotients_of_negative_numbers(formula: str) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", "m")), "y": rx.tensor((formula,))}) as f:
        f.returns(relax.negative(list(f)[1]))
    library = CProgram(module, "c{memory=heap}")._library
    for n, m in itertools.product(range(6), range(6)):
        size = eval(formula, {"n": n, "m": m, "max": max})
        y, result = numpy.arange(max(size, 0), dtype="float32"), numpy.full(max(size, 0) + 3, 7, "float32")
        arrays = [each.ctypes.data_as(ctypes.c_void_p) for each in (numpy.zeros((n, m), "float32"), y, result)]
        assert library.model_main(ctypes.c_int64(n), ctypes.c_int64(m), *arrays) == 0
        numpy.testing.assert_array_equal(result[: y.size], -y)
        assert (result[y.size :] == 7).all(), "written behind the result"


def rows(module: rx.Module, n: int, **options: Any) -> None:
    program, x = CProgram(module, **options), numpy.arange(n, dtype="float32")
    for given, expected in zip(program(x), program.expected(x), strict=True):
        numpy.testing.assert_allclose(given, expected, rtol=1e-6)


@needs_compiler
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_loops_that_end_at_the_lesser_of_two(n: int) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",))]) as f:
        (x,) = f
        middle = relax.strided_slice(x, axes=[0], begin=[2], end=[6], strides=[1])
        f.returns(relax.sin(middle), relax.sum(relax.strided_slice(x, axes=[0], begin=[1], end=[3], strides=[1])))
    rows(module, n, bind={"n": "0..40"})
    rows(module, n, target="c{memory=heap}")


def test_brackets_stand_only_where_they_help() -> None:
    a, b, c = (name(each) for each in "abc")
    texts = [
        choice(binary("<", a, b), binary("&&", a, b), binary("+", b, c)),
        choice(binary("&&", a, b), a, choice(b, a, c)),
        binary("+", binary("+", a, b), binary("*", b, c)),
        binary("-", a, binary("-", b, c)),
        binary("*", binary("+", a, b), unary("-", c)),
        binary("<", binary("+", a, b), binary("*", b, c)),
        binary("&&", binary("<", a, b), binary("||", b, c)),
        binary("&", binary("&", a, b), c),
        cast("float", binary("+", a, b)),
        unary("-", unary("-", a)),
        binary("-", a, integer(-3)),
    ]
    assert [each.text for each in texts] == [
        "a < b ? a && b : b + c", "(a && b) ? a : (b ? a : c)", "a + b + b * c", "a - (b - c)", "(a + b) * -c",
        "a + b < b * c", "a < b && (b || c)", "(a & b) & c", "(float)(a + b)", "-(-a)", "a - (-3)",
    ]  # fmt: skip


def text_of(text: str) -> str:
    return str(rx.sources(rx.Module.parse(text))["model.c"])


def test_a_value_with_two_uses_is_computed_once() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        (x,) = f
        y = relax.sqrt(x)
        f.returns(relax.add(relax.multiply(y, y), x))
    lines = [line.strip() for line in rx.sources(module)["model.c"].splitlines()]
    body = lines[lines.index("for (int64_t i0 = 0; i0 < 4; i0++) {") + 1 :]
    assert body[:3] == ["const float x_2 = x[i0];", "const float t = sqrtf(x_2);", "out[i0] = t * t + x_2;"], body[:4]


def test_only_exchanged_loop_values_need_a_temporary() -> None:
    """Assign a single carried value directly. Two exchanged values need a temporary."""
    kernel = """
func.func private @kernel(%x: memref<4xf32>, %y: memref<2xf32>) attributes {{tir.prim_func}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %start = arith.constant 1.0 : f32
  {0}
  memref.store %r#0, %y[%zero] : memref<2xf32>
  memref.store %r#{1}, %y[%one] : memref<2xf32>
  return
}}
func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {{
  %y = "relax.call_tir"(%x) {{func = @kernel}} : (tensor<4xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}}
"""
    head = "scf.for %i = %zero to %four step %one"
    one = f"""%r:1 = {head} iter_args(%s = %start) -> (f32) {{
    %a = memref.load %x[%i] : memref<4xf32>
    %t = arith.mulf %s, %a : f32
    scf.yield %t : f32
  }}"""
    two = f"""%r:2 = {head} iter_args(%s = %start, %p = %start) -> (f32, f32) {{
    %a = memref.load %x[%i] : memref<4xf32>
    %t = arith.addf %s, %a : f32
    scf.yield %p, %t : f32, f32
  }}"""
    assert "next_" not in text_of(kernel.format(one, 0))
    assert text_of(kernel.format(two, 1)).count("const float next_carried") == 2
