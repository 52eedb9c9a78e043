# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices that the ranges of loops simplify: the simplified ones are equal at all points, and kernels are planned."""

from __future__ import annotations

import itertools
from typing import Any

import c_programs
import numpy as np
import pytest
from emulated_gpu import run_emulated
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.affine import by_operators, value_of
from relax_mlir.bindings.mlir import ir
from relax_mlir.passes.indices.affine_sizes import loop_indices, simplified
from te_workloads import SMALL, SMALL_CONVOLUTIONS, Transposed, transposed

import relax_mlir as rx
from relax_mlir import te

HEAD = "from relax_mlir.script import tir as T\n"
TRANSPOSED = [
    Transposed(1, 4, 4, 8, 6, 4, 2, 1),
    Transposed(2, 3, 5, 2, 3, 3, 2, 0),
    Transposed(1, 4, 3, 3, 2, 5, 3, 1),
    Transposed(1, 3, 3, 2, 2, 2, 3, 0),
    Transposed(1, 3, 4, 2, 2, 4, 4, 1),
]


def run(program: Any, arguments: list[np.ndarray], target: str = "llvm") -> np.ndarray:
    if target == "c":
        return c_programs.CProgram(program)(*arguments)[0]
    executable = rx.compile(program, target=target)
    result = executable["main"](*arguments) if target == "llvm" else run_emulated(executable, *arguments)
    return np.asarray(result)


def reasons(program: Any) -> list[str]:
    """Why operations of a program stay scalar loops."""
    journal = rx.Journal()
    rx.compile(program, journal=journal)
    return [fact["reason"] for fact in journal.of("loops") if fact["reason"]]


# ---- expressions ----


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Affine expressions of three loops, as text."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["d0", "d1", "d2", str(draw(st.integers(-9, 9)))]))
    left = draw(expressions(depth - 1))
    sign = draw(st.sampled_from(["+", "-", "*", "floordiv", "mod", "ceildiv"]))
    if sign in ("+", "-"):
        return f"({left} {sign} {draw(expressions(depth - 1))})"
    return f"({left} {sign} {draw(st.integers(1, 8) if sign != '*' else st.integers(-4, 8))})"


@given(expressions(), st.tuples(*[st.integers(1, 9)] * 3))
@draws(300)
def test_simplified_indices_are_equal_at_all_points(text: str, sizes: tuple[int, ...]) -> None:
    with ir.Context():
        (before,) = ir.AffineMapAttr.parse(f"affine_map<(d0, d1, d2) -> ({text})>").value.results
        after = simplified(before, loop_indices(sizes))
        for point in itertools.product(*map(range, sizes)):
            values = [value_of(each, point.__getitem__, by_operators) for each in (before, after)]
            assert values[0] == values[1], (str(before), str(after), point)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d0 floordiv 64 * 64 + d1", "d1"),
        ("(d0 * 64 + d1) floordiv 64", "d0"),
        ("(d0 * 64 + d1) mod 64", "d1"),
        ("(d0 - 64) floordiv 64", "-1"),
        ("(d0 - 70) mod 64", "(d0 - 70) mod 64"),
        ("d2 mod 64", "d2 mod 64"),
        ("(d2 * 64 + d0) floordiv 64", "d2"),
    ],
)
def test_ranges_decide_divisions(text: str, expected: str) -> None:
    """The third loop is dynamic."""
    with ir.Context():
        parse = lambda each: ir.AffineMapAttr.parse(f"affine_map<(d0, d1, d2) -> ({each})>").value.results[0]  # noqa: E731
        assert simplified(parse(text), loop_indices([64, 64, None])) == parse(expected)


# ---- kernels ----


@pytest.mark.parametrize("name", SMALL)
def test_operators_of_te(name: str) -> None:
    workload = SMALL[name]()
    program, arguments = te.create_prim_func(workload.tensors), workload.arguments()
    np.testing.assert_allclose(run(program, arguments), workload.expected(*arguments), rtol=1e-4, atol=1e-4)


def random(*shapes: Any, seed: int = 0) -> list[np.ndarray]:
    return [np.random.default_rng(seed).standard_normal(shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("target", ["llvm", "cuda", pytest.param("c", marks=c_programs.needs_compiler)])
@pytest.mark.parametrize("name", SMALL_CONVOLUTIONS)
def test_convolutions_in_scripts(name: str, target: str) -> None:
    sizes = SMALL_CONVOLUTIONS[name]
    data, weight = random(sizes.padded_shape, sizes.weight_shape)
    result = run(rx.Module.from_script(HEAD + sizes.script()), [data, weight], target)
    np.testing.assert_allclose(result, sizes.without_padding.expected(data, weight), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["llvm", "cuda", pytest.param("c", marks=c_programs.needs_compiler)])
@pytest.mark.parametrize("sizes", TRANSPOSED, ids=str)
def test_transposed_convolutions_in_scripts(sizes: Transposed, target: str) -> None:
    data, weight = random(sizes.data_shape, sizes.weight_shape)
    edge = [(0, 0), (sizes.edge,) * 2, (sizes.edge,) * 2, (0, 0)]
    result = run(rx.Module.from_script(HEAD + sizes.script()), [np.pad(data, edge), weight], target)
    np.testing.assert_allclose(result, sizes.expected(data, weight), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", TRANSPOSED, ids=str)
def test_transposed_convolutions_of_te(sizes: Transposed) -> None:
    workload = transposed(sizes)
    program, arguments = te.create_prim_func(workload.tensors), workload.arguments()
    np.testing.assert_allclose(run(program, arguments), workload.expected(*arguments), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("special", [np.inf, np.nan])
@pytest.mark.parametrize("tap", [(0, 0), (1, 2), (3, 1)])
def test_zeros_times_infinite_weights_are_nan(tap: tuple[int, int], special: float) -> None:
    """The PrimFunc multiplies the zeros between elements, too."""
    sizes = Transposed(1, 3, 4, 3, 5, 4, 2, 1)
    data, weight = random(sizes.data_shape, sizes.weight_shape)
    weight[(*tap, 1, 2)] = special
    with np.errstate(invalid="ignore"):
        expected = sizes.expected(data, weight)
    found = run(te.create_prim_func(transposed(sizes).tensors), [data, weight])
    assert np.isnan(found).any()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
