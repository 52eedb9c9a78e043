# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of loops with states that change their size in each iteration, against differences of their results."""

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from gradient_checks import check, compiled, script
from hypothesis import given
from hypothesis import strategies as st

_X, _W = 'x: R.Tensor((3,), "float64")', 'w: R.Tensor((3,), "float64")'
_ANY = 'R.match_cast(x, R.Tensor(("?",), "float64"))'


def vectors(seed: int, count: int = 2) -> list[numpy.ndarray]:
    return list(numpy.random.default_rng(seed).uniform(-1, 1, (count, 3)))


@pytest.mark.parametrize("every", [1, 3])
def test_a_state_that_grows(every: int) -> None:
    """Grow a state by an operand that is also used afterwards, next to a second state of which only the size is
    read."""
    functions = compiled(
        script(
            f"n: T.index, {_X}, {_W}",
            f"""
y = {_ANY}
rows = R.match_cast(R.reshape(x, R.shape([1, 3])), R.Tensor(("?", 3), "float64"))
for i in range(0, n, 1):
    m = R.multiply(R.sum(R.sin(y)), w)
    y = R.concat((y, m), axis=0)
    rows = R.concat((rows, R.reshape(m, R.shape([1, 3]))), axis=0)
c = R.cos(y)
total = R.add(R.sum(R.multiply(c, c)), R.sum(R.sin(rows)))
return total
""",
        ),
        checkpoint_every=every,
    )
    for count in (0, 1, 4, 7):
        check(functions, vectors(count), (count,))


def test_a_state_that_shrinks_and_two_that_change_places() -> None:
    functions = compiled(
        script(
            f"n: T.index, {_X}, {_W}",
            f"""
a = {_ANY}
b = R.match_cast(R.concat((w, x), axis=0), R.Tensor(("?",), "float64"))
unread = {_ANY}
for i in range(0, n, 1):
    half = R.strided_slice(b, axes=[0], begin=[0], end=[{2**63 - 1}], strides=[2])
    e = R.exp(half)
    unread = R.sin(a)
    b = a
    a = e
total = R.add(R.sum(R.multiply(a, a)), R.add(R.sum(R.sin(b)), R.sum(unread)))
return total
""",
        )
    )
    for count in (0, 1, 2, 5):
        check(functions, vectors(count), (count,))


def test_sizes_of_several_dimensions() -> None:
    """Transpose the state in each iteration."""
    functions = compiled(
        script(
            'n: T.index, x: R.Tensor(("a", "b"), "float64")',
            """
y = R.match_cast(x, R.Tensor(("?", "?"), "float64"))
for i in range(0, n, 1):
    s = R.sin(R.permute_dims(y, axes=[1, 0]))
    y = R.concat((s, R.multiply(s, s)), axis=0)
total = R.sum(R.cos(y))
return total
""",
        )
    )
    rng = numpy.random.default_rng(3)
    for count, shape in ((0, (2, 3)), (1, (1, 2)), (3, (2, 1))):
        check(functions, [rng.uniform(-1, 1, shape)], (count,))


def test_a_name_that_a_turn_gives_a_size() -> None:
    """Read a size in the backward pass where the tensor is unused, with an unused state after the loop."""
    functions = compiled(
        script(
            f"n: T.index, {_X}, {_W}",
            f"""
y = {_ANY}
total = R.sum(x)
for i in range(0, n, 1):
    z = R.match_cast(y, R.Tensor(("m",), "float64"))
    e = R.concat((z, R.multiply(w, w)), axis=0)
    total = R.add(total, R.sum(e))
    y = R.match_cast(e, R.Tensor(("?",), "float64"))
return total
""",
        )
    )
    for count in (0, 1, 3):
        check(functions, vectors(count), (count,))


_STEPS = {
    "grow": ["y = R.concat((y, w), axis=0)"],
    "grow by itself": ["y = R.concat((R.sin(y), R.flip(y, axis=0)), axis=0)"],
    "halve": [f"y = R.strided_slice(y, axes=[0], begin=[0], end=[{2**63 - 1}], strides=[2])"],
    "sin": ["y = R.sin(y)"],
    "scale": ["y = R.tanh(R.multiply(y, R.sum(y)))"],
    "square": ["y = R.multiply(y, y)"],
    "replace": ['y = R.match_cast(R.multiply(x, w), R.Tensor(("?",), "float64"))'],
}


@st.composite
def bodies(draw: st.DrawFn, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([*_STEPS, *(["loop", "branch"] * 3 if depth < 2 else [])]))
        if kind == "loop":
            lines += [f"for i{depth} in range(0, {draw(st.integers(0, 3))}, 1):"]
            lines += [f"    {line}" for line in draw(bodies(depth + 1))]
        elif kind == "branch":
            sides = [[*draw(bodies(depth + 1)), "y = R.sin(y)"] for _ in range(2)]
            lines += ["if c:", *(f"    {line}" for line in sides[0]), "else:", *(f"    {line}" for line in sides[1])]
        else:
            lines += _STEPS[kind]
    return lines


@draws(10)
@given(bodies(), st.integers(1, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_random_functions(lines: list[str], every: int, chosen: bool, seed: int) -> None:
    body = "\n".join([f"y = {_ANY}", *lines, "total = R.sum(R.sin(y))", "return total"])
    functions = compiled(script(f"c: T.bool, {_X}, {_W}", body), checkpoint_every=every)
    check(functions, vectors(seed), (chosen,))
