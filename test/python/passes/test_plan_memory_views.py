# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views and parts of tensors of symbolic sizes: results equal numpy's, at several sizes and with several threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import Phase, given
from hypothesis import strategies as st
from planned_memory import planned
from relax_mlir.dialects.core.codec import decode
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

_END = (1 << 63) - 1
#: n, m and the width; several in one program.
_SIZES = [(3, 5, 4), (1, 1, 1), (0, 2, 3), (7, 0, 33), (20, 9, 16), (2, 11, 64)]

#: Value of a graph, and the function that computes it from n, m and the arguments.
Made = tuple[Any, Callable[..., Any]]


def _run(exported: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    found = exported(*inputs)
    return [to_numpy(each).copy() for each in (found if isinstance(found, (list, tuple)) else [found])]


def _inputs(n: int, m: int, width: int) -> list[Any]:
    random = numpy.random.default_rng(n + 10 * m + width)
    return [random.random((rows, width), dtype="float32") - 0.5 for rows in (n, m)]


def _check(module: rx.Module, expected: list[Callable[..., Any]], level: int) -> None:
    main = rx.compile(module, opt_level=level)["main"]

    def differs(size: tuple[int, int, int]) -> str:
        inputs = _inputs(*size)
        wanted = [each(size[0], *inputs) for each in expected]
        for found, want in zip(_run(main, inputs), wanted, strict=True):
            if found.shape != want.shape or not numpy.allclose(found, want, atol=1e-5):
                return f"{size}: {found} instead of {want}"
        return ""

    with ThreadPoolExecutor(4) as threads:
        problems = [each for each in threads.map(differs, _SIZES * 3) if each]
    assert not problems, f"{problems[0]}\n{planned(module, level)}"


# ---- one by one ----


def _flip(value: Any, axis: int = 0) -> Any:
    return relax.flip(value, axis=axis)


def _slice(value: Any, begin: Any, end: Any = _END, axis: int = 0) -> Any:
    return relax.strided_slice(value, axes=[axis], begin=[begin], end=[end])


def _both(x: Any, y: Any) -> Any:
    return relax.concat([_flip(x), _flip(y)], axis=0)


def _both_of(x: Any, y: Any) -> Any:
    return numpy.concatenate([x[::-1], y[::-1]])


#: The program, the places of its planned tensors, and numpy's result.
_CASES: dict[str, tuple[Callable[..., Any], str, Callable[..., Any]]] = {
    "behind a part of symbolic size": (
        lambda x, y: _flip(_both(x, y)),
        "part part slot result",
        lambda n, x, y: _both_of(x, y)[::-1],
    ),
    "in a result": (_both, "part part result", lambda n, x, y: _both_of(x, y)),
    "three": (
        lambda x, y: _flip(relax.concat([_flip(x), _flip(y), _flip(x, 1)], axis=0)),
        "part part part slot result",
        lambda n, x, y: numpy.concatenate([x[::-1], y[::-1], x[:, ::-1]])[::-1],
    ),
    "one within another": (
        lambda x, y: _flip(relax.concat([_flip(x, 1), _both(x, y)], axis=0)),
        "part part part part slot result",
        lambda n, x, y: numpy.concatenate([x[:, ::-1], x[::-1], y[::-1]])[::-1],
    ),
    "a view is a part": (
        lambda x, y: _flip(relax.concat([relax.expand_dims(_flip(each), axis=[1]) for each in (x, y)], axis=0)),
        "part part slot result",
        lambda n, x, y: _both_of(x, y)[::-1, None],
    ),
    "along a dimension inside of one element": (
        lambda x, y: _flip(relax.concat([_flip(relax.expand_dims(each, axis=[0]), 1) for each in (x, y)], axis=1), 2),
        "part part slot result",
        lambda n, x, y: _both_of(x, y)[None, :, ::-1],
    ),
    "an argument is copied": (
        lambda x, y: relax.concat([x, _flip(y)], axis=0),
        "part result",
        lambda n, x, y: numpy.concatenate([x, y[::-1]]),
    ),
    "twice": (
        lambda x, y: (lambda a: relax.concat([a, a], axis=0))(_flip(x)),
        "part result",
        lambda n, x, y: numpy.concatenate([x[::-1], x[::-1]]),
    ),
    "of a slice": (
        lambda x, y: _flip(_slice(_slice(_flip(x), 2), 1)),
        "slot view view result",
        lambda n, x, y: x[::-1][3:][::-1],
    ),
    "from a symbol on": (
        lambda x, y: _flip(_slice(_flip(_both(x, y)), rx.sym("n"))),
        "part part slot slot view result",
        lambda n, x, y: _both_of(x, y)[::-1][n:][::-1],
    ),
    "up to a symbol": (
        lambda x, y: _flip(_slice(_flip(_both(x, y)), 0, rx.sym("n"))),
        "part part slot slot view result",
        lambda n, x, y: _both_of(x, y)[::-1][:n][::-1],
    ),
    "the second half": (
        lambda x, y: _flip(relax.split(_flip(x), 2, axis=0)[1]),
        "slot view view result",
        lambda n, x, y: x[::-1][-(-len(x) // 2) :][::-1],
    ),
    # Rows that are not adjacent are copied.
    "of each row": (
        lambda x, y: _flip(_slice(_flip(x), 1, axis=1)),
        "slot slot result",
        lambda n, x, y: x[::-1, 1:][::-1],
    ),
}


def _program(make: Callable[..., Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", "k")), rx.tensor(("m", "k"))]) as f:
        f.returns(make(*f))
    return module


def _places(module: rx.Module) -> str:
    stated = re.findall(r"relax.memory = \[(.*?)\]", str(planned(module, 0)))
    return " ".join(text.split(";")[0].split()[0] for texts in stated for text in re.findall(r'"(.*?)"', texts))


@pytest.mark.parametrize("name", _CASES)
def test_where_parts_lie(name: str) -> None:
    make, places, expected = _CASES[name]
    module = _program(make)
    assert _places(module) == places
    _check(module, [expected], 0)


@pytest.mark.parametrize(("begin", "end"), [(2, _END), (2, 10), (-1, _END), (0, -1), (1, -2)])
def test_slices(begin: int, end: int) -> None:
    module = _program(lambda x, y: _flip(_slice(_flip(x), begin, end)))
    assert _places(module) == "slot view result"
    _check(module, [lambda n, x, y: x[::-1][begin:end][::-1]], 0)


# ---- many together ----


class _Program:
    """Random graph, with numpy's computation of each value from n and the arguments."""

    def __init__(self, random: Random, arguments: list[Any]):
        self._random = random
        by_place = (lambda n, x, y: x), (lambda n, x, y: y)
        self.values: list[Made] = list(zip(arguments, by_place, strict=True))

    def add_some(self) -> None:
        random = self._random
        # Mostly the last value: then the lifetime of an operand often ends there.
        made = self.values[-1] if random.random() < 0.5 else random.choice(self.values)
        self.values += getattr(self, f"_{random.choice(_KINDS)}")(*made)

    def _unary(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        return [(relax.tanh(value), lambda *given: numpy.tanh(of(*given)))]

    def _flip(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        axis = self._random.randint(0, 1)
        return [(_flip(value, axis), lambda *given: numpy.flip(of(*given), axis))]

    def _mean(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        spread = relax.subtract(value, relax.mean(value, axis=[1], keepdims=True))
        return [(spread, lambda *given: of(*given) - of(*given).mean(axis=1, keepdims=True))]

    def _binary(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        alike = [each for each in self.values if _rows(each[0]) == _rows(value)]
        other, other_of = self._random.choice(alike)
        return [(relax.add(value, other), lambda *given: of(*given) + other_of(*given))]

    def _concat(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        found = [
            (value, of),
            *self._random.choices([*self.values, *self.values[-3:] * 3], k=self._random.randint(1, 2)),
        ]
        self._random.shuffle(found)
        joined = relax.concat([each for each, _ in found], axis=0)
        if len(str(_rows(joined))) > 60:
            return []
        return [(joined, lambda *given: numpy.concatenate([each(*given) for _, each in found]))]

    def _slice(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        begin, end = self._random.choice([0, 1, 2, -1, -3, "n"]), self._random.choice([_END, _END, 4, -1, "n"])
        part = _slice(value, *(rx.sym(each) if each == "n" else each for each in (begin, end)))
        bounds = lambda n: slice(*(n if each == "n" else each for each in (begin, end)))  # noqa: E731
        return [(part, lambda n, *given: of(n, *given)[bounds(n)])]

    def _split(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        halves = relax.split(value, 2, axis=0)
        middle = lambda rows: -(-len(rows) // 2)  # noqa: E731
        return [
            (halves[0], lambda *given: (rows := of(*given))[: middle(rows)]),
            (halves[1], lambda *given: (rows := of(*given))[middle(rows) :]),
        ]

    def _view(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        flat = relax.tanh(relax.flatten(value)) if self._random.random() < 0.5 else relax.flatten(value)
        is_same = flat.owner.name == "relax.flatten"
        shaped = relax.reshape(flat, [_rows(value), "k"])
        return [(shaped, of if is_same else lambda *given: numpy.tanh(of(*given)))]

    def _unit(self, value: Any, of: Callable[..., Any]) -> list[Made]:
        return [(relax.squeeze(_flip(relax.expand_dims(value, axis=[1])), axis=[1]), lambda *given: of(*given)[::-1])]


_KINDS = "unary flip flip mean binary concat concat concat slice slice split view unit".split()


def _rows(value: Any) -> Any:
    return decode(value.type).shape[0]


@draws(60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 10**9), st.sampled_from([0, 2]), st.sampled_from(["", "0..40"]))
def test_random_graphs_against_numpy(seed: int, level: int, range_of_n: str) -> None:
    random, module = Random(seed), rx.Module()
    with module.function("main", {"x": rx.tensor(("n", "k")), "y": rx.tensor(("m", "k"))}) as f:
        program = _Program(random, list(f))
        for _ in range(random.randint(2, 12)):
            program.add_some()
        results = random.choices(program.values[2:], k=random.randint(1, 3)) if len(program.values) > 2 else []
        results = results or [(relax.tanh(program.values[0][0]), lambda n, x, y: numpy.tanh(x))]
        f.returns(*(value for value, _ in results))
    if range_of_n:
        rx.Pipeline(f"relax-bind-symbolic-vars{{vars=n:{range_of_n},m:0..64,k:1..64}}").run(module)
    _check(module, [expected for _, expected in results], level)


@pytest.mark.parametrize("rows", [8, "k"])
@pytest.mark.parametrize("level", [0, 2, 3])
def test_a_view_of_other_size_than_its_memory_is_no_part(rows: int | str, level: int) -> None:
    """Squeeze a column: if there are more, all are written before the refusal."""
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, "m"))]) as f:
        (x,) = f
        columns = [relax.squeeze(relax.cumsum(x, axis=axis), [1]) for axis in (0, 1)]
        f.returns(relax.cumsum(relax.concat(columns), axis=0))
    main = rx.compile(module, opt_level=level)["main"]
    column = numpy.arange(8, dtype="float32").reshape(8, 1)
    both = numpy.concatenate([numpy.cumsum(column, axis=0)[:, 0], column[:, 0]])
    assert numpy.array_equal(main(column), numpy.cumsum(both))
    for _ in range(3):
        with pytest.raises(ValueError, match="elements cannot take the shape"):
            main(numpy.ones((8, 50_000), "float32"))
    assert numpy.array_equal(main(column), numpy.cumsum(both))
