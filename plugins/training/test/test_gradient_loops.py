# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-gradient: random functions with loops and branches against differences of their results."""
# Apache TVM: test_transform_gradient.py, test_transform_gradient_checkpoint.py, test_transform_gradient_numeric.py.

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from gradient_checks import check, compiled, script
from hypothesis import given
from hypothesis import strategies as st

_X, _W = 'x: R.Tensor((3,), "float64")', 'w: R.Tensor((3,), "float64")'
_LOOP = f"lower: T.index, upper: T.index, step: T.index, {_X}, {_W}"


@pytest.mark.parametrize("every", [1, 2, 3, 50])
def test_a_loop_of_any_bounds(every: int) -> None:
    """Two states, one of which only becomes the other, a count, and a value from around that is used in two ways."""
    functions = compiled(
        script(
            _LOOP,
            """
y = x
before = w
e = R.exp(w)
for i in range(lower, upper, step):
    n = arith.index_cast(i, T.int64)
    k = tensor.from_elements(n, R.Tensor((), "int64"))
    f = R.astype(k, dtype="float64")
    m = R.multiply(y, e)
    a = R.add(m, f)
    s = R.sin(a)
    z = R.add(s, w)
    before = y
    y = z
p = R.multiply(y, before)
total = R.sum(p)
return total
""",
        ),
        checkpoint_every=every,
    )
    rng = numpy.random.default_rng(5)
    for bounds in ((0, 0, 1), (5, 2, 1), (0, 1, 1), (0, 6, 1), (1, 8, 3), (2, 9, 2)):
        check(functions, list(rng.uniform(-1, 1, (2, 3))), bounds)


@pytest.mark.parametrize("every", [1, 2])
def test_loops_in_loops_and_branches(every: int) -> None:
    functions = compiled(
        script(
            f"n: T.index, c: T.bool, {_X}, {_W}",
            """
y = x
for i in range(0, n, 1):
    for j in range(0, i, 1):
        if c:
            a = R.sin(y)
            y = R.multiply(a, w)
        else:
            b = R.multiply(y, w)
            y = R.add(b, x)
        y = R.tanh(y)
total = R.sum(y)
return total
""",
        ),
        checkpoint_every=every,
    )
    for count in (0, 1, 4):
        for chosen in (True, False):
            check(functions, list(numpy.random.default_rng(count).uniform(-1, 1, (2, 3))), (count, chosen))


def test_a_state_without_a_gradient() -> None:
    """Loop over counted numbers, with an unread state."""
    functions = compiled(
        script(
            f"n: T.index, {_X}, {_W}",
            """
y = x
k = R.const(0, "int64")
unread = w
for i in range(0, n, 1):
    k = R.add(k, R.const(2, "int64"))
    f = R.astype(k, dtype="float64")
    y = R.multiply(y, f)
    unread = R.exp(x)
s = R.add(y, unread)
total = R.sum(s)
return total
""",
        )
    )
    for count in (0, 1, 3):
        check(functions, list(numpy.random.default_rng(1).uniform(-1, 1, (2, 3))), (count,))


def test_sizes_with_names() -> None:
    functions = compiled(
        script(
            'n: T.index, x: R.Tensor(("b", 2), "float64"), w: R.Tensor((2,), "float64")',
            """
y = x
for i in range(0, n, 1):
    m = R.multiply(y, w)
    y = R.sin(m)
total = R.sum(y)
return total
""",
        )
    )
    rng = numpy.random.default_rng(2)
    for batch in (1, 3):
        check(functions, [rng.uniform(-1, 1, (batch, 2)), rng.uniform(-1, 1, 2)], (3,))


def test_effects_happen_once(capfd: pytest.CaptureFixture[str]) -> None:
    _, adjoint = compiled(
        script(
            f"n: T.index, {_X}",
            """
y = x
for i in range(0, n, 1):
    R.print(i, format="turn {}")
    y = R.sin(y)
total = R.sum(y)
return total
""",
        ),
        checkpoint_every=2,
    )
    adjoint(3, numpy.ones(3))
    assert [line for line in capfd.readouterr().out.split("\n") if line] == ["turn 0", "turn 1", "turn 2"]


_ONES = ("sin", "tanh", "exp", "negative", "sigmoid")
_TWOS = ("add", "multiply", "subtract", "maximum")


@st.composite
def bodies(draw: st.DrawFn, depth: int = 0, names: tuple[str, ...] = ("x", "w")) -> list[str]:
    """Draw statements that change y: operators, and loops and branches of further statements."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["one", "two", *(["loop", "branch"] if depth < 2 else [])]
        kind = draw(st.sampled_from(kinds))
        if kind == "one":
            lines += [f"y = R.{draw(st.sampled_from(_ONES))}(y)", "y = R.tanh(y)"]
        elif kind == "two":
            lines += [f"y = R.{draw(st.sampled_from(_TWOS))}(y, {draw(st.sampled_from(names))})", "y = R.tanh(y)"]
        elif kind == "loop":
            count, step = draw(st.integers(0, 5)), draw(st.integers(1, 2))
            lines += [f"for i{depth} in range(0, {count}, {step}):"]
            lines += [f"    {line}" for line in draw(bodies(depth + 1, names))]
        else:
            # A branch yields its last assignment.
            sides = [[*draw(bodies(depth + 1, names)), "y = R.sin(y)"] for _ in range(2)]
            lines += ["if c:", *(f"    {line}" for line in sides[0]), "else:", *(f"    {line}" for line in sides[1])]
    return lines


@draws(10)
@given(bodies(), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_random_functions(lines: list[str], every: int, chosen: bool, seed: int) -> None:
    body = "\n".join(["y = x", *lines, "total = R.sum(y)", "return total"])
    functions = compiled(script(f"c: T.bool, {_X}, {_W}", body), checkpoint_every=every)
    check(functions, list(numpy.random.default_rng(seed).uniform(-1, 1, (2, 3))), (chosen,))
