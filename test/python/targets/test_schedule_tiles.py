# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by tiles (AMX): whole kernels on emulated instructions.

Results equal numpy's sums, to the bit where these are exact. Compiled code has the CPU's instructions, and requests
their use.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
from emulated_instructions import compiled_for_tiles
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.runtime import ArtifactError, cpu, to_numpy
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.tools.compile.start import _note_on_machine

import relax_mlir as rx
from relax_mlir import relax

#: Factors, sums, the instruction.
TYPES = [
    ("bfloat16", "bfloat16", "float32", "tdpbf16ps"), ("float16", "float16", "float32", "tdpfp16ps"),
    ("int8", "int8", "int32", "tdpbssd"), ("int8", "uint8", "int32", "tdpbsud"),
    ("uint8", "int8", "int32", "tdpbusd"), ("uint8", "uint8", "int32", "tdpbuud"),
]  # fmt: skip
SOME = [TYPES[0], TYPES[4]]
ROWS, STEPS = st.sampled_from((8, 15, 16, 17, 33, 50)), st.sampled_from((8, 31, 32, 64, 67, 131))
#: Where the second factor comes from, and its layout.
SECOND = ("known", "given", "transposed")


def narrow(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return all values of a byte, or floats with exact sums."""
    random = numpy.random.default_rng(seed)
    if "float" in dtype:
        return random.integers(-8, 9, shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return random.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max + 1, shape).astype(dtype)


def product(x: Any, y: Any, sums: str, second: str, names: tuple[tuple[Any, ...], ...] = ()) -> rx.Module:
    """Return the product of x and y. Sizes may have names."""
    module = rx.Module()
    shapes = names or (x.shape, y.shape)
    types = [rx.tensor(shape, str(array.dtype)) for shape, array in zip(shapes, (x, y), strict=True)]
    with module.function("main", types[:1] if second == "known" else types) as f:
        first, *others = f
        weights = relax.const(y) if second == "known" else others[0]
        if second == "transposed":
            weights = relax.permute_dims(weights, axes=[*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])
        f.returns(relax.matmul(first, weights, out_dtype=sums))
    return module


def check(program: Any, x: Any, y: Any, second: str) -> None:
    got = to_numpy(program["main"](x) if second == "known" else program["main"](x, y))
    wide = y.astype("f8").swapaxes(-1, -2) if second == "transposed" else y.astype("f8")
    numpy.testing.assert_array_equal(got, x.astype("f8") @ wide)


def second_shape(second: str, *batch: Any, k: Any, n: Any) -> tuple[Any, ...]:
    return (*batch, n, k) if second == "transposed" else (*batch, k, n)


@given(ROWS, STEPS, ROWS, st.sampled_from(TYPES), st.sampled_from(SECOND))
@draws(15)
def test_known_sizes(m: int, k: int, n: int, types: Any, second: str) -> None:
    first, other, sums, instruction = types
    x, y = narrow((m, k), first, 1), narrow(second_shape(second, k=k, n=n), other, 2)
    program, names = compiled_for_tiles(product(x, y, sums, second))
    assert names == {instruction, "tilezero", "tileloadd64", "tilestored64"}
    check(program, x, y, second)


@pytest.mark.parametrize("types", SOME, ids="-".join)
@pytest.mark.parametrize("second", SECOND)
def test_open_sizes(types: Any, second: str) -> None:
    """Multiply with dynamic rows, dynamic columns of unknown weights, and dynamic batches of both factors."""
    first, other, sums, instruction = types
    batch, n = ((), 40) if second == "known" else (("b",), "n")
    m = 40 if second == "transposed" else "m"
    names = (*batch, m, 67), second_shape(second, *batch, k=67, n=n)
    sizes = [(2, 9, 8), (1, 1, 1), (3, 40, 70), (1, 33, 17), (2, 0, 5), (2, 5, 0)]
    y = narrow(second_shape(second, *[1] * len(batch), k=67, n=40), other, 2)
    program, found = compiled_for_tiles(product(narrow((*[1] * len(batch), 1, 67), first, 1), y, sums, second, names))
    assert instruction in found
    for b, rows, columns in sizes:
        height = rows if m == "m" else m
        x = narrow((b, height, 67) if batch else (height, 67), first, 3)
        given = y if second == "known" else narrow(second_shape(second, b, k=67, n=columns), other, 4)
        check(program, x, given, second)


@pytest.mark.parametrize(("m", "is_tiled"), [(40, True), (20, False), ("m", False)])
def test_columns_across_rows_are_copied_for_many_rows(m: Any, is_tiled: bool) -> None:
    """Copy columns of a matrix that keeps its layout because of another reader."""
    x, y = narrow((20 if m == "m" else m, 64), "bfloat16", 1), narrow((48, 64), "bfloat16", 2)
    module = rx.Module()
    with module.function("main", [rx.tensor((m, 64), "bfloat16"), rx.tensor((48, 64), "bfloat16")]) as f:
        weights, (first, more) = relax.const(y), f
        f.returns(relax.einsum((first, weights), subscripts="ak,nk->an"), relax.add(weights, more))
    assert ("tiles" in planned(module, "llvm{triple=x86_64-linux-gnu cpu=graniterapids}")) == is_tiled
    if is_tiled:
        got, _ = compiled_for_tiles(module)[0]["main"](x, y)
        exact = (x.astype("f4") @ y.T.astype("f4")).astype(x.dtype)
        numpy.testing.assert_array_equal(to_numpy(got).astype("f4"), exact.astype("f4"))


@pytest.mark.parametrize("second", SECOND)
def test_blocks_of_columns_and_threads(second: str) -> None:
    """Copy blocks of columns to a small cache, with separate memory for each thread."""
    x, y = narrow((490, 300), "bfloat16", 1), narrow(second_shape(second, k=300, n=270), "bfloat16", 2)
    module = product(x, y, "float32", second)
    text = planned(module, "llvm{triple=x86_64-linux-gnu cpu=sapphirerapids cores=4 caches=32K,128K}")
    assert re.search(r"order 0 1 2; .*blocks 1: 96; .*tiles 0: 16; parallel 0: ", text)
    program, _ = compiled_for_tiles(module, "cores=4 caches=32K,128K")
    for program.threads in (1, 4):
        check(program, x, y, second)


def test_threads_share_columns_of_few_rows() -> None:
    x, y = narrow((16, 640), "bfloat16", 1), narrow((640, 5000), "bfloat16", 2)
    module = product(x, y, "float32", "known")
    options = "cores=4 caches=32K,64M"
    assert "parallel 1: " in planned(module, f"llvm{{triple=x86_64-linux-gnu cpu=sapphirerapids {options}}}")
    program, _ = compiled_for_tiles(module, options)
    for program.threads in (1, 4):
        check(program, x, y, "known")


def test_threads_share_products_of_a_batch() -> None:
    x, y = narrow((8, 64, 64), "bfloat16", 1), narrow((8, 150, 64), "bfloat16", 2)
    names = (("b", 64, 64), ("b", "n", 64))
    program, _ = compiled_for_tiles(product(x, y, "float32", "transposed", names), "cores=4")
    program.threads = 4
    check(program, x, y, "transposed")


def test_epilogues_of_products_work_on_tiles() -> None:
    """Apply a bias, an activation, a residual and a rounding to rows of sums from the tiles."""
    random = numpy.random.default_rng(5)
    x, w, more = (random.normal(size=size).astype("f4") for size in ((45, 70), (70, 50), (45, 50)))
    bias = random.normal(size=50).astype("f4")
    narrow_x, narrow_w = x.astype(ml_dtypes.bfloat16), w.astype(ml_dtypes.bfloat16)
    module = rx.Module()
    with module.function("main", [rx.tensor(("m", 70), "bfloat16"), rx.tensor(("m", 50))]) as f:
        first, residual = f
        sums = relax.matmul(first, relax.const(narrow_w), out_dtype="float32")
        kept = relax.nn.relu(relax.add(sums, relax.const(bias)))
        f.returns(relax.astype(relax.add(kept, residual), "bfloat16"))
    text = planned(module, "llvm{triple=x86_64-linux-gnu cpu=sapphirerapids}")
    assert "tiles 0: 16" in text and "epilogue of" in text
    got = to_numpy(compiled_for_tiles(module)[0]["main"](narrow_x, more)).astype("f4")
    expected = numpy.maximum(narrow_x.astype("f8") @ narrow_w.astype("f8") + bias, 0) + more
    numpy.testing.assert_allclose(got, expected, rtol=2**-8, atol=1e-5)


def test_sums_continue_from_initial_values() -> None:
    """Continue sums from a plan's own initial value, and from one that is read."""
    text = """
      func.func private @f(%a: tensor<20x40xi8>, %b: tensor<40x24xi8>, %c: tensor<20x24xi32>) -> tensor<20x24xi32>
          attributes {tir.prim_func} {
        %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%a, %b : tensor<20x40xi8>, tensor<40x24xi8>) outs(%c : tensor<20x24xi32>) {
          ^bb0(%x: i8, %y: i8, %old: i32):
            %wx = arith.extsi %x : i8 to i32
            %wy = arith.extsi %y : i8 to i32
            %p = arith.muli %wx, %wy : i32
            %s = arith.addi %old, %p : i32
            linalg.yield %s : i32
        } -> tensor<20x24xi32>
        return %0 : tensor<20x24xi32>
      }
      func.func @main(%x: tensor<20x40xi8>, %y: tensor<40x24xi8>, %z: tensor<20x24xi32>) -> tensor<20x24xi32> {
        %0 = "relax.call_tir_inplace"(%x, %y, %z) {func = @f, inplace_indices = array<i64: 2>}
            : (tensor<20x40xi8>, tensor<40x24xi8>, tensor<20x24xi32>) -> tensor<20x24xi32>
        return %0 : tensor<20x24xi32>
      }"""
    x, y = narrow((20, 40), "int8", 1), narrow((40, 24), "int8", 2)
    z = numpy.arange(20 * 24, dtype="i4").reshape(20, 24)
    program, names = compiled_for_tiles(rx.Module.parse(text))
    assert "tdpbssd" in names
    numpy.testing.assert_array_equal(to_numpy(program["main"](x, y, z.copy())), x.astype("i4") @ y.astype("i4") + z)


# ---- convolutions ----


def picture(types: Any, channels: int, outputs: int, taps: int, stride: int) -> tuple[rx.Module, Any, Any]:
    """Return a convolution of two images, its data and numpy's result."""
    first, other, sums, _ = types
    x, w = narrow((2, channels, 9, 20), first, 1), narrow((outputs, channels, taps, taps), other, 2)
    pad = taps // 2
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, first)]) as f:
        how = {"strides": [stride] * 2, "padding": [pad] * 4, "out_dtype": sums}
        f.returns(relax.nn.conv2d(*f, relax.const(w), **how))
    padded = numpy.pad(x.astype("f8"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return module, x, numpy.einsum("nchwrs,kcrs->nkhw", windows, w.astype("f8"))


@pytest.mark.parametrize("types", SOME, ids="-".join)
@pytest.mark.parametrize(
    ("channels", "outputs", "taps", "stride"), [(64, 48, 3, 1), (64, 64, 1, 1), (128, 32, 1, 2), (64, 80, 3, 2)]
)
def test_convolutions(types: Any, channels: int, outputs: int, taps: int, stride: int) -> None:
    module, x, expected = picture(types, channels, outputs, taps, stride)
    program, names = compiled_for_tiles(module, f"cores={stride}")
    assert types[3] in names
    numpy.testing.assert_array_equal(to_numpy(program["main"](x)), expected)


def test_weights_that_are_packed_at_each_call() -> None:
    """Pack weights at each call if they are not packed before: a plan does not know."""
    module, x, expected = picture(TYPES[0], 64, 48, 3, 1)
    target = "llvm{triple=x86_64-linux-gnu cpu=graniterapids cores=1}"
    stages = rx.stages(target)
    unpacked = stages.replace("plan", [each for each in stages["plan"].passes if each != "tir-pack-constants"])
    assert "tiles" in str(rx.lower(module, target, pipeline=unpacked.until("plan")))
    program, names = compiled_for_tiles(module, pipeline=unpacked)
    assert "tdpbf16ps" in names
    numpy.testing.assert_array_equal(to_numpy(program["main"](x)), expected)


# ---- compiled code ----


def planned(module: rx.Module, target: str) -> str:
    return str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("graniterapids", {"tdpbf16ps", "tdpfp16ps", "tdpbssd"}),
        ("sapphirerapids", {"tdpbf16ps", "tdpbssd"}),
        ("cooperlake", set()),
        ("sapphirerapids features=-amx-tile", set()),
        ("sapphirerapids vector-bytes=32", set()),
        ("sapphirerapids features=-amx-bf16", {"tdpbssd"}),
    ],
)
def test_the_instructions_of_a_cpu(name: str, known: set[str]) -> None:
    """Check that code configures, loads and stores tiles in place, with a step's sums in registers throughout."""
    target = f"llvm{{triple=x86_64-linux-gnu cpu={name}}}"
    found = set()
    for first, second, sums, _ in TYPES[:3]:
        module = product(narrow((64, 256), first, 1), narrow((256, 96), second, 2), sums, "known")
        lowered = rx.lower(module, target)
        code = rx.find_backend("llvm").assembly(lowered._owner, parse_target(target), rx.CodeOptions())
        products = re.findall(r"^\t(tdp\w+)\t", code, re.MULTILINE)
        found |= set(products)
        counts = {each: len(re.findall(rf"^\t{each}\b", code, re.MULTILINE)) for each in ("tileloadd", "tilestored")}
        assert counts == {"tileloadd": len(products), "tilestored": 4 * bool(products)}
        assert ("ldtilecfg" in code) == ("tilerelease" in code) == bool(products)
    assert found == known


def test_a_program_asks_for_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "amx-tile" in cpu.host_features():
        pytest.skip("this machine has tiles")
    module = product(narrow((64, 64), "int8", 1), narrow((64, 64), "int8", 2), "int32", "known")
    path = tmp_path / "model.rxa"
    rx.compile(module, "llvm{triple=x86_64-linux-gnu cpu=x86-64 features=+amx-int8,+avx512f}").save(path)
    with pytest.raises(ArtifactError, match=r"this CPU lacks what the code was compiled for: amx-int8, amx-tile"):
        rx.runtime.load(path)
    # A CPU that has them, and a system that does not give them.
    read = cpu.read_system_file
    flags = read("/proc/cpuinfo").replace("\nflags\t\t:", "\nflags\t\t: amx_tile amx_int8")
    monkeypatch.setattr(cpu, "read_system_file", lambda name: flags if name == "/proc/cpuinfo" else read(name))
    for each in (cpu.host_features, cpu.cpu_identity, cpu.may_use_tiles):
        each.cache_clear()
    try:
        assert not cpu.may_use_tiles() and "amx-tile" not in cpu.host_features()
        with pytest.raises(ArtifactError, match=r"system does not let this process use .* for: amx-int8, amx-tile$"):
            rx.runtime.load(path)
        note = "relax-compile: note: the code is without amx-int8, amx-tile: the system refuses them\n"
        assert _note_on_machine("llvm") == note
        monkeypatch.setattr(cpu, "may_use_tiles", lambda: True)
        cpu.host_features.cache_clear()
        assert {"amx-tile", "amx-int8"} <= cpu.host_features()
    finally:
        monkeypatch.undo()
        for each in (cpu.host_features, cpu.cpu_identity, cpu.may_use_tiles):
            each.cache_clear()
