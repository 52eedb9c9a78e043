# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices that ranges of loops simplify: they are equal at all points, and kernels are planned."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import c_programs
import numpy as np
import pytest
from emulated_gpu import run_emulated
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.affine import by_operators, value_of
from relax_mlir.bindings.diagnostics import PassWarning
from relax_mlir.bindings.mlir import ir
from relax_mlir.passes.kernels.indices.affine_sizes import loop_indices, simplified
from te_workloads import SMALL, SMALL_CONVOLUTIONS, Convolution, Transposed, transposed

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
    """Return the reasons why operations of a program stay scalar loops."""
    journal = rx.Journal()
    rx.compile(program, journal=journal)
    return [fact["reason"] for fact in journal.of("loops") if fact["reason"]]


# ---- expressions ----


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw affine expressions of three loops, as text."""
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
    """Divide with a dynamic third loop."""
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
    """Compare with the PrimFunc, which multiplies the zeros between elements, too."""
    sizes = Transposed(1, 3, 4, 3, 5, 4, 2, 1)
    data, weight = random(sizes.data_shape, sizes.weight_shape)
    weight[(*tap, 1, 2)] = special
    with np.errstate(invalid="ignore"):
        expected = sizes.expected(data, weight)
    found = run(te.create_prim_func(transposed(sizes).tensors), [data, weight])
    assert np.isnan(found).any()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_groups_with_an_epilogue_run_as_one_nest() -> None:
    """Check that the loop over groups includes the bias, scale and relu after the convolution."""
    journal = rx.Journal()
    rx.compile(te.create_prim_func(SMALL["CBR"]().tensors), journal=journal)
    assert [fact["epilogue"] for fact in journal.of("loops") if fact["plan"] == "conv"] == [4]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_element_types(dtype: str) -> None:
    sizes = Transposed(1, 3, 4, 3, 5, 4, 2, 1)
    text = sizes.script(dtype)
    random = np.random.default_rng(1)
    data, weight = (random.integers(-4, 5, shape).astype(dtype) for shape in (sizes.padded_shape, sizes.weight_shape))
    inside = data[:, sizes.edge : -sizes.edge, sizes.edge : -sizes.edge]
    data = np.pad(inside, [(0, 0), (sizes.edge,) * 2, (sizes.edge,) * 2, (0, 0)])
    result = run(rx.Module.from_script(HEAD + text), [data, weight])
    np.testing.assert_array_equal(result, sizes.expected(inside, weight.astype("float64")))


def test_dynamic_sizes() -> None:
    """Use dynamic images and positions, with known groups and taps."""
    program = """
@T.prim_func
def main(x: T.handle, w: T.Buffer((3, 2, 12), "float32"), y: T.handle):
    n = T.int64()
    m = T.int64()
    X = T.match_buffer(x, (n, m + 2, 8), "float32")
    Y = T.match_buffer(y, (n, m, 12), "float32")
    for b, i, co, k, rc in T.grid(n, m, 12, 3, 2):
        with T.block("Y"):
            vb, vi, vco, vk, vrc = T.axis.remap("SSSRR", [b, i, co, k, rc])
            with T.init():
                Y[vb, vi, vco] = T.float32(0)
            Y[vb, vi, vco] = Y[vb, vi, vco] + X[vb, vi + vk, vco // 3 * 2 + vrc] * w[vk, vrc, vco]
"""
    module = rx.Module.from_script(HEAD + program)
    assert not any("floordiv" in reason for reason in reasons(module))
    call = rx.compile(module)["main"]
    for batch, places in ((2, 5), (1, 1), (0, 3), (3, 0)):
        sizes = Convolution(batch, (places + 2,), 8, 12, 3, groups=4)
        arguments = random((batch, places + 2, 8), (3, 2, 12))
        result = call(*arguments, np.zeros(sizes.out_shape, "float32"))
        np.testing.assert_allclose(np.asarray(result), sizes.expected(*arguments), rtol=1e-4, atol=1e-4)


@st.composite
def sums(draw: st.DrawFn) -> tuple[int, int, int, int, int, int, str]:
    """Draw loops of i and k, factors of both and a constant in a divided index, the divisor, and the condition's
    sign."""
    rows, taps = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    factors = draw(st.sampled_from([0, 1, 2, 3])), draw(st.sampled_from([1, 2, 4]))
    return (
        rows,
        taps,
        *factors,
        draw(st.integers(-9, 3)),
        draw(st.integers(1, 4)),
        draw(st.sampled_from(["==", "!=", "<"])),
    )


@given(sums())
@draws(24)
def test_sums_under_conditions_on_remainders(drawn: tuple[int, int, int, int, int, int, str]) -> None:
    rows, taps, by_row, by_tap, start, divisor, sign = drawn
    index = f"(vi * {by_row} + vk * {by_tap} + {start})"
    first, last = start // divisor, ((rows - 1) * by_row + (taps - 1) * by_tap + start) // divisor
    condition = f"{index} % {divisor} {sign} {divisor - 1}"
    value = f"T.if_then_else({condition}, X[{index} // {divisor} - {first}, vj], T.float32(0))"
    shapes = {"X": (last - first + 1, 4), "W": (taps, 4), "Y": (rows, 4)}
    parameters = ", ".join(f'{name}: T.Buffer({shape}, "float32")' for name, shape in shapes.items())
    program = f"""
@T.prim_func
def main({parameters}):
    for i, j, k in T.grid({rows}, 4, {taps}):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + {value} * W[vk, vj]
"""
    data, weight = random(shapes["X"], shapes["W"])
    expected = np.zeros((rows, 4))
    for row, tap in itertools.product(range(rows), range(taps)):
        place = row * by_row + tap * by_tap + start
        rest = place % divisor
        if {"==": rest == divisor - 1, "!=": rest != divisor - 1, "<": rest < divisor - 1}[sign]:
            expected[row] += data[place // divisor - first] * weight[tap]
    np.testing.assert_allclose(
        run(rx.Module.from_script(HEAD + program), [data, weight]), expected, rtol=1e-4, atol=1e-5
    )


# ---- plans ----


def scattered(size: int) -> rx.Module:
    """Return a product with an index that stays divided, since it has too many residue classes."""
    program = f"""
@T.prim_func
def main(X: T.Buffer(({size}, 64), "float32"), Y: T.Buffer(({size}, {size}), "float32")):
    for i, j, k in T.grid({size}, {size}, 64):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * X[vi, (vj + vk) // 30]
"""
    return rx.Module.from_script(HEAD + program)


def test_much_work_in_scalar_loops_is_warned_of() -> None:
    """Warn with the reason and the location. The journal has the sizes."""
    with pytest.warns(PassWarning, match=r'"Y" at .*: 2,097,152 operations.*floordiv 30.* is no sum') as found:
        rx.compile(scattered(128))
    assert len(found) == 1
    journal = rx.Journal()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rx.compile(scattered(64), journal=journal)
    (fact,) = [fact for fact in journal.of("loops") if fact["reason"]]
    assert fact["sizes"] == [64, 64, 64] and fact["flops"] == 2


@pytest.mark.parametrize("program", ["C2D", "GRP", "T2D"])
def test_operators_are_planned(program: str) -> None:
    sizes = Transposed(1, 4, 4, 8, 16, 4, 2, 1) if program == "T2D" else SMALL_CONVOLUTIONS[program]
    assert reasons(rx.Module.from_script(HEAD + sizes.script())) == []


def test_schedules_are_of_the_loops_that_were_written(tmp_path: Path) -> None:
    sizes = SMALL_CONVOLUTIONS["GRP"]
    module = rx.Module.from_script(HEAD + sizes.script())
    assert "its loops were split" in rx.schedules.chosen(module)
    assert "form tiles; plan " in rx.schedules.chosen(module, "cuda")
    journal, file = rx.Journal(), tmp_path / "kernels.py"
    rx.compile(module, journal=journal)
    (kernel,) = {fact["kernel"] for fact in journal.of("loops")}
    lines = [
        'y = sch.get_block("Y")',
        "n, x, z, co, rx, rz, rc = sch.get_loops(y)",
        "outer, inner = sch.split(co, [None, 4])",
        "sch.reorder(outer, x)",
    ]
    file.write_text("\n    ".join([f"# schedule 1\ndef {kernel}(sch):", *lines]) + "\n", encoding="utf-8")
    arguments = random(sizes.padded_shape, sizes.weight_shape)
    result = np.asarray(rx.compile(module, schedules=file)["main"](*arguments))
    np.testing.assert_allclose(result, sizes.without_padding.expected(*arguments), rtol=1e-4, atol=1e-4)
