# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products of narrow numbers by the CPUs' instructions for them: numpy's sums in f64, to the bit."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.runtime import to_numpy
from relax_mlir.targets.core.registry import parse_target

import relax_mlir as rx
from relax_mlir import relax

#: Factors, sums.
TYPES = [
    ("bfloat16", "bfloat16", "float32"), ("uint8", "int8", "int32"), ("int8", "uint8", "int32"),
    ("int8", "int8", "int32"), ("uint8", "uint8", "int32"),
]  # fmt: skip
SIZES = st.sampled_from((1, 2, 3, 4, 5, 7, 16, 17, 33, 70, 131))


def narrow(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return all values of a byte, or bfloats with exact sums."""
    random = numpy.random.default_rng(seed)
    if dtype == "bfloat16":
        return random.integers(-8, 9, shape).astype(ml_dtypes.bfloat16)
    limits = numpy.iinfo(dtype)
    found = random.integers(limits.min, limits.max + 1, shape)
    found.flat[:1] = limits.min
    return found.astype(dtype)


def product(
    x: Any, y: Any, sums: str, *, names: tuple[Any, ...] = (), is_known: bool = False, is_transposed: bool = False
) -> rx.Module:
    """Return the product of x and y. Sizes may have names, and y may be a constant."""
    module = rx.Module()
    *batch, m, k = names or x.shape
    second = (*batch, *((y.shape[-2], k) if is_transposed else (k, y.shape[-1])))
    parameters = [rx.tensor((*batch, m, k), str(x.dtype))]
    with module.function("main", parameters + [rx.tensor(second, str(y.dtype))] * (not is_known)) as f:
        first, *others = f
        weights = relax.const(y) if is_known else others[0]
        turned = relax.permute_dims(weights) if is_transposed else weights
        f.returns(relax.matmul(first, turned, out_dtype=sums))
    return module


def check(x: Any, y: Any, sums: str, target: str = "llvm", *, is_known: bool = False, **how: Any) -> None:
    program = rx.compile(product(x, y, sums, is_known=is_known, **how), target)
    got = to_numpy(program["main"](x) if is_known else program["main"](x, y))
    wide = y.astype("f8").swapaxes(-1, -2) if how.get("is_transposed") else y.astype("f8")
    numpy.testing.assert_array_equal(got, x.astype("f8") @ wide)


@given(SIZES, SIZES, SIZES, st.sampled_from(TYPES), st.booleans(), st.sampled_from([16, 32, 64]))
@draws(20)
def test_known_sizes(m: int, k: int, n: int, types: Any, is_known: bool, vector_bytes: int) -> None:
    first, second, sums = types
    x, y = narrow((m, k), first, 1), narrow((k, n), second, 2)
    check(x, y, sums, f"llvm{{vector-bytes={vector_bytes}}}", is_known=is_known)


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_open_sizes(types: Any) -> None:
    first, second, sums = types
    program = rx.compile(
        product(narrow((1, 1, 1), first, 1), narrow((1, 1, 40), second, 2), sums, names=("b", "m", "k"))
    )
    for batch, m, k in ((2, 9, 8), (1, 1, 1), (3, 20, 7), (1, 33, 70), (1, 2, 0)):
        x, y = narrow((batch, m, k), first, 3), narrow((batch, k, 40), second, 4)
        numpy.testing.assert_array_equal(to_numpy(program["main"](x, y)), x.astype("f8") @ y.astype("f8"))


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_long_sums_in_blocks(types: Any) -> None:
    """Sum in panels for a small cache, which are shorter than the sum and end with a partial group."""
    first, second, sums = types
    x, y = narrow((20, 1031), first, 1), narrow((1031, 70), second, 2)
    for is_known in (False, True):
        check(x, y, sums, "llvm{caches=32K,64K}", is_known=is_known)


@pytest.mark.parametrize(("first", "second", "sums"), TYPES)
@pytest.mark.parametrize("steps", [5, 64, 67])
def test_transposed(first: str, second: str, sums: str, steps: int) -> None:
    check(narrow((9, steps), first, 1), narrow((20, steps), second, 2), sums, is_transposed=True)


@pytest.mark.parametrize(("first", "second", "sums"), [TYPES[0], TYPES[3]])
def test_known_weights_that_lie_transposed(first: str, second: str, sums: str) -> None:
    x, y = narrow((2, 9, 67), first, 1), narrow((40, 67), second, 2)
    module = rx.Module()
    with module.function("main", [rx.tensor(("b", 9, 67), first)]) as f:
        f.returns(relax.astype(relax.einsum((*f, relax.const(y)), subscripts="bak,nk->ban"), sums))
    got = to_numpy(rx.compile(module)["main"](x)).astype("f8")
    expected = (x.astype("f8") @ y.T.astype("f8")).astype(x.dtype if first == "bfloat16" else "int64")
    numpy.testing.assert_array_equal(got, expected.astype(x.dtype).astype("f8"))
    text = planned(module, "llvm{cpu=znver4}")
    assert first != "bfloat16" or "packed; dot 3: 2" in text


@pytest.mark.parametrize("cpu", ["x86-64-v3", "haswell"])
def test_without_the_instructions(cpu: str) -> None:
    for first, second, sums in TYPES:
        check(narrow((9, 30), first, 1), narrow((30, 20), second, 2), sums, f"llvm{{cpu={cpu}}}", is_known=True)


def test_any_number_of_threads_gives_the_same() -> None:
    random = numpy.random.default_rng(1)
    x, y = (random.normal(size=shape).astype(ml_dtypes.bfloat16) for shape in ((150, 500), (500, 700)))
    program = rx.compile(product(x, y, "float32"), "llvm{cores=4}")
    results = []
    for program.threads in (1, 2, 4):
        results.append(to_numpy(program["main"](x, y)).copy())
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
    exact = x.astype("f8") @ y.astype("f8")
    assert abs(results[0] - exact).max() < 1e-5 * abs(exact).max()


def planned(module: rx.Module, target: str) -> str:
    return str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))


@pytest.mark.parametrize(
    ("target", "instructions"),
    [
        ("llvm{cpu=znver4}", ["vdpbf16ps", "vpdpbusd", "vpdpbusd"]),
        ("llvm{cpu=icelake-server}", ["", "vpdpbusd", "vpdpbusd"]),
        ("llvm{cpu=alderlake}", ["", "vpdpbusd", "vpdpbusd"]),
        ("llvm{cpu=sierraforest}", ["", "vpdpbusd", "vpdpbssd"]),
        ("llvm{cpu=haswell}", ["", "", ""]),
        ("llvm{cpu=neoverse-v1 triple=aarch64-linux-gnu}", ["bfdot", "usdot", "sdot"]),
        ("llvm{cpu=cortex-a76 triple=aarch64-linux-gnu}", ["", "sdot", "sdot"]),
        ("llvm{cpu=generic triple=aarch64-linux-gnu}", ["", "", ""]),
    ],
)
def test_the_instructions_of_a_cpu(target: str, instructions: list[str]) -> None:
    """Check that the code has these instructions, and no others of the kind."""
    backend = rx.find_backend("llvm")
    for (first, second, sums), instruction in zip((TYPES[0], TYPES[1], TYPES[3]), instructions, strict=True):
        module = rx.lower(product(narrow((20, 16), first, 1), narrow((16, 40), second, 2), sums), target)
        chosen = parse_target(target)
        code = backend.assembly(module._owner, chosen, rx.CodeOptions())
        found = set(re.findall(r"^\t(?:\{vex\}\t)?(vp?dp\w+|[a-z]*dot)\t", code, re.MULTILINE))
        assert found == ({instruction} if instruction else set())


@pytest.mark.parametrize(
    ("target", "engines"),
    [
        ("llvm{cpu=sapphirerapids}", ["AMX", "AMX", "AMX"]),
        ("llvm{cpu=sapphirerapids features=-amx-tile}", ["AVX-512 BF16", "VNNI", "VNNI"]),
        ("llvm{cpu=sapphirerapids numerics=same}", ["AVX-512", "AMX", "AMX"]),
        ("llvm{cpu=haswell}", ["AVX2", "pmaddwd", "pmaddwd"]),
        ("llvm{triple=x86_64-linux-gnu}", ["SSE", "pmaddwd", "pmaddwd"]),
        ("llvm{cpu=neoverse-v1 triple=aarch64-linux-gnu}", ["bfdot", "i8mm", "dotprod"]),
        ("llvm{cpu=generic triple=aarch64-linux-gnu}", ["NEON", "NEON", "NEON"]),
        ("llvm{cpu=sifive-x280 triple=riscv64-linux-gnu}", ["V", "V", "V"]),
        ("llvm{triple=riscv64-linux-gnu}", ["scalar", "scalar", "scalar"]),
    ],
)
def test_kernels_name_their_engine(target: str, engines: list[str]) -> None:
    for (first, second, sums), engine in zip((TYPES[0], TYPES[1], TYPES[3]), engines, strict=True):
        module = product(narrow((64, 64), first, 1), narrow((64, 64), second, 2), sums)
        text = str(rx.lower(module, target, pipeline=rx.stages(target).until("apply")))
        assert re.findall(r'tir.engine = "(.*?)"', text) == [engine]


@pytest.mark.parametrize(
    ("dtype", "options", "reason"),
    [
        ("float32", "cpu=sapphirerapids", "the machine has no instruction for sums of products of f32"),
        ("bfloat16", "cpu=icelake-server", "the machine has no instruction for sums of products of bf16"),
        ("bfloat16", "cpu=sapphirerapids numerics=same", "dot products of floats add in an order of their own"),
    ],
)
def test_the_journal_explains_why_a_better_engine_is_unused(dtype: str, options: str, reason: str) -> None:
    module = product(*(narrow((64, 64), "int8", seed).astype(dtype) for seed in (1, 2)), "float32")
    with rx.Journal(schedules=True).recording() as journal:
        rx.lower(module, f"llvm{{{options}}}")
    rows = [line for line in rx.schedules.explain(journal.facts).splitlines() if line.startswith("plan dot")]
    assert len(rows) == 1 and "matmul" in rows[0] and reason in rows[0]


def test_constants_lie_in_groups() -> None:
    for first, second, sums in TYPES:
        text = planned(
            product(narrow((1, 67), first, 1), narrow((67, 40), second, 2), sums, is_known=True), "llvm{cpu=znver4}"
        )
        group = 2 if first == "bfloat16" else 4
        assert f"packed; dot 2: {group}" in text
        assert f"tensor<1x{-(-67 // group)}x{48 * group}x" in text


@pytest.mark.parametrize(("first", "second", "sums"), [TYPES[0], TYPES[3]])
def test_another_plan_takes_groups_apart(first: str, second: str, sums: str) -> None:
    """Compile a module with packed weights after a change of its plan."""
    x, y = narrow((40, 67), first, 1), narrow((67, 70), second, 2)
    target = "llvm{cpu=znver4 cores=1}"
    text = planned(product(x, y, sums, is_known=True), target)
    plan = re.search(r'tir.plan = "(order 1[^"]*packed; dot[^"]*)"', text)
    assert plan is not None
    changed = rx.Module.parse(text.replace(plan[1], "order 0 1 2; carried 1; vector 1 x 8; rule mine"))
    program = rx.compile(changed, "llvm", pipeline=rx.stages("llvm").between(start="apply"))
    numpy.testing.assert_array_equal(to_numpy(program["main"](x)), x.astype("f8") @ y.astype("f8"))


# ---- convolutions ----


def convolution(x: Any, w: Any, stride: int, padding: int) -> Any:
    """Return numpy's convolution in f64."""
    padded = numpy.pad(x.astype("f8"), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return numpy.einsum("nchwrs,kcrs->nkhw", windows, w.astype("f8"))


@pytest.mark.parametrize("types", TYPES, ids="-".join)
@pytest.mark.parametrize(
    ("channels", "outputs", "taps", "stride", "padding"),
    [(32, 48, 3, 1, 1), (16, 16, 1, 2, 0), (20, 8, 3, 2, 1), (3, 16, 3, 1, 0), (3, 20, 7, 2, 3), (1, 16, 4, 4, 0)],
)
def test_convolutions(types: Any, channels: int, outputs: int, taps: int, stride: int, padding: int) -> None:
    first, second, sums = types
    x, w = narrow((2, channels, 9, 11), first, 1), narrow((outputs, channels, taps, taps), second, 2)
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, first)]) as f:
        how = {"strides": [stride] * 2, "padding": [padding] * 4, "out_dtype": sums}
        f.returns(relax.nn.conv2d(*f, relax.const(w), **how))
    got = to_numpy(rx.compile(module)["main"](x))
    numpy.testing.assert_array_equal(got, convolution(x, w, stride, padding))
    # Three channels make no block, but rows of their windows make groups. Small constants of bf16, which numpy cannot
    # read, stay unchanged.
    is_packed = w.nbytes > (1024 if second == "bfloat16" else 0)
    assert ("packed; rule dot" in planned(module, "llvm{cpu=znver4 cores=1}")) == is_packed


@pytest.mark.parametrize("first", ["int8", "uint8"])
@pytest.mark.parametrize("target", ["llvm{cpu=x86-64-v3}", "llvm{cpu=cascadelake}"])
def test_threads_share_the_vector_loop_of_any_number_of_rows(target: str, first: str) -> None:
    """Compile few inputs and many outputs. The ranges of threads are known at run time only."""
    x, y = narrow((7, 8), first, 1), narrow((8, 2000), "int8", 2)
    module = product(x, y, "int32", names=("n", 8), is_known=True)
    rx.compile(module, target)
    check(x, y, "int32", names=("n", 8), is_known=True)
