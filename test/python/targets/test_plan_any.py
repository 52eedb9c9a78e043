# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that no rule would choose: each is refused with a reason, or the loops compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.support.errors import RelaxError
from scheduled import Shaped, prim_func, random_array, run

SUM = "%s = arith.addf %a, %o : f32\n linalg.yield %s : f32"
PRODUCTS = "%p = arith.mulf %a, %b : f32\n %s = arith.addf %o, %p : f32\n linalg.yield %s : f32"


class Case(NamedTuple):
    """linalg.generic over loops named by letters, and its results. Loops in upper case reduce."""

    loops: str
    inputs: tuple[str, ...]
    output: str
    body: str
    function: Callable[..., Any]


CASES = {
    "negative": Case("ij", ("ij",), "ij", "%s = arith.negf %a : f32\n linalg.yield %s : f32", numpy.negative),
    "turned": Case(
        "ij", ("ji", "ij"), "ij", "%s = arith.subf %a, %b : f32\n linalg.yield %s : f32", lambda x, y: x.T - y
    ),
    "division": Case(
        "ijk", ("kij", "k"), "ijk", "%s = arith.divf %a, %b : f32\n linalg.yield %s : f32",
        lambda x, y: x.transpose(1, 2, 0) / y,
    ),
    "row sums": Case("iJ", ("iJ",), "i", SUM, lambda x: x.sum(1)),
    "column sums": Case("iJ", ("Ji",), "i", SUM, lambda x: x.sum(0)),
    "sums of two": Case("iJK", ("JiK",), "i", SUM, lambda x: x.sum((0, 2))),
    "product": Case("ijK", ("iK", "Kj"), "ij", PRODUCTS, numpy.matmul),
    "product along": Case("ijK", ("iK", "jK"), "ij", PRODUCTS, lambda x, y: x @ y.T),
    "last one": Case("iJ", ("iJ",), "i", "linalg.yield %a : f32", lambda x: x[:, -1]),
    "no free order": Case(
        "iJ", ("iJ",), "i", "%h = arith.divf %o, %two : f32\n %s = arith.addf %h, %a : f32\n linalg.yield %s : f32",
        lambda x: numpy.array([halved(row) for row in x], "f4"),
    ),
}  # fmt: skip


def halved(row: Any) -> Any:
    total = numpy.float32(0)
    for value in row:
        total = total / 2 + value
    return total


def loop_plan(draw: Any, loops: str) -> str:
    """Draw the text of a plan with valid numbers. Nothing else has to be right."""
    order = draw(st.permutations(range(len(loops))))
    if draw(st.integers(0, 3)):
        order = sorted(order, key=lambda dim: loops[dim].isupper())
    joined = draw(st.sampled_from([0, 0, 0, 2]))
    chain = sorted(order[:joined]) if joined and len(loops) > 1 else []
    names = [dim for dim in order if dim not in chain[1:]]
    dim, few = st.sampled_from(names), st.integers(1, 5)
    shown = [f"({' '.join(map(str, chain))})" if chain and each == chain[0] else str(each) for each in names]
    reductions = sum(loops[dim].isupper() for dim in names)
    clauses = ["order " + " ".join(shown), f"carried {draw(st.sampled_from([reductions, reductions, 0, 1, 2]))}"]
    lanes = draw(st.sampled_from([1, 2, 4, 8]))
    vector = draw(dim)
    clauses.append(f"vector {vector} x {lanes}")
    tile = draw(st.dictionaries(dim, few, max_size=2))
    if not draw(st.integers(0, 3)) and len(names) > 1:
        square = draw(dim)
        tile[square] = lanes
        clauses.append(f"square {square}")
    if tile:
        clauses.append("tile " + ", ".join(f"{each}: {count}" for each, count in tile.items()))
    block, length = draw(dim), draw(few)
    if draw(st.booleans()):
        clauses.append(f"blocks {block}: {length}")
    if reductions and not draw(st.integers(0, 2)):
        along = draw(st.sampled_from([each for each in names if loops[each].isupper()] + [block]))
        clauses.append(f"panel {draw(st.integers(0, 1))} along {along}: {draw(st.sampled_from([length, 13]))}")
    return "; ".join(clauses)


def program(case: Case, shapes: list[tuple[Any, ...]], plan: str) -> tuple[str, list[Shaped], Shaped]:
    *inputs, out = [Shaped(shape, "f32") for shape in shapes]
    loops = ", ".join(case.loops)
    maps = ", ".join(f"affine_map<({loops}) -> ({', '.join(each)})>" for each in (*case.inputs, case.output))
    iterators = ", ".join('"reduction"' if each.isupper() else '"parallel"' for each in case.loops)
    names = ", ".join(f"%{index}" for index in range(len(inputs)))
    block = ", ".join(f"%{name}: f32" for name in [*"ab"[: len(inputs)], "o"])
    memory = f"%{len(inputs)}"
    filled = "%filled" if any(each.isupper() for each in case.loops) else memory
    text = f"""
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %filled = linalg.fill ins(%zero : f32) outs({memory} : {out}) -> {out}
  %r0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins({names} : {", ".join(map(str, inputs))}) outs({filled} : {out})
      attrs = {{tir.plan = "{plan}"}} {{
    ^bb0({block}):
      {case.body}
  }} -> {out}"""
    return prim_func(inputs, [out], text), inputs, out


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
@given(st.data())
@draws(25)
def test_refused_or_right(name: str, is_dynamic: bool, data: Any) -> None:
    case = CASES[name]
    sizes = {loop: data.draw(st.sampled_from([1, 2, 5, 8, 13])) for loop in case.loops}
    named = {loop: f"s{loop}" for loop in case.loops} if is_dynamic else sizes
    shapes = [tuple(named[loop] for loop in each) for each in (*case.inputs, case.output)]
    text, inputs, out = program(case, shapes, loop_plan(data.draw, case.loops))
    arrays = [random_array([sizes[loop] for loop in each], "f4", 3) + 5 for each in case.inputs]
    try:
        got = run(text, inputs, [out], *arrays, vector_bytes=32)
    except RelaxError as error:
        assert "does not fit the operation" in error.message
        return
    numpy.testing.assert_allclose(got, case.function(*arrays), rtol=1e-5)
