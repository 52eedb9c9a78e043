# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention compiled for cuda, by threads and by matrix units, on the emulator against numpy's doubles."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from assembler import HAS_PTXAS
from attention_oracle import in_doubles, normal
from emulated_gpu import run_emulated
from gpu_attention import FIRST, LAST, WINDOW, close, code, of, program, ran
from prim_jit import dtype_name
from relax_mlir.runtime import tensor, to_numpy
from relax_mlir.targets.cuda.objects.cubin import resources

import relax_mlir as rx

OPEN = (("b", "q", "h", "d"), ("b", "k", "g", "d"), ("b", "k", "g", "e"))
OPEN_LENGTHS = (("b", "q", "h", 128), ("b", "k", "g", 128), ("b", "k", "g", 32))


@pytest.mark.parametrize(
    ("dtype", "sizes", "options", "symbols"),
    [
        ("float32", (1, 70, 150, (4, 2), 80, 300), FIRST, ()),  # several blocks of columns
        ("float32", (2, 20, 128, (2, 2), 24, 24), WINDOW, ()),  # a window that begins inside of a block
        ("float32", (1, 130, 64, (1, 1), 8, 70), {**FIRST, **WINDOW}, ()),  # queries behind the last key
        ("float64", (1, 40, 90, (2, 1), 20, 130), LAST, ()),
        ("float32", (1, 20, 40, (2, 1), 36, 150), LAST, OPEN),
        ("float16", (1, 70, 70, (2, 2), 20, 12), {}, ()),  # not for matrix units
        ("float16", (2, 140, 150, (4, 2), 64, 64), LAST, ()),
        ("bfloat16", (1, 40, 128, (2, 1), 40, 24), {}, ()),  # sizes that are padded
        ("float16", (1, 20, 128, (2, 2), 16, 128), WINDOW, ()),
        ("float16", (1, 130, 64, (1, 1), 8, 8), {**FIRST, **WINDOW, "scale": 0.5}, ()),
        (
            "bfloat16",
            (1, 33, 200, (2, 1), 128, 32),
            FIRST,
            (("b", "q", "h", 128), ("b", "k", "g", 128), ("b", "k", "g", 32)),
        ),
    ],
    ids=str,
)
def test_many_queries(dtype: str, sizes: Any, options: Any, symbols: Any) -> None:
    arrays = of(*sizes, dtype)
    scale = options.get("scale", sizes[4] ** -0.5) * sizes[4] ** 0.5
    masked = {name: value for name, value in options.items() if name != "scale"}
    expected = in_doubles(arrays[0].astype("float64") * scale, *arrays[1:], **masked)
    close(ran("attention", *arrays, symbols=symbols, **options), expected)


@pytest.mark.parametrize(
    ("dtype", "sizes", "options", "symbols"),
    [
        ("float32", (1, 1, 1100, (8, 2), 16, 16), {}, ()),
        ("float32", (1, 7, 600, (6, 1), 20, 300), LAST, ()),  # rows of several queries in a block
        ("float16", (2, 16, 300, (3, 3), 16, 40), {**LAST, **WINDOW}, ()),  # parts that are masked
        ("float64", (1, 3, 700, (4, 2), 10, 6), FIRST, OPEN),
    ],
    ids=str,
)
def test_few_queries_meet_parts_of_the_keys(dtype: str, sizes: Any, options: Any, symbols: Any) -> None:
    arrays = of(*sizes, dtype)
    executable = program("attention", *arrays, symbols=symbols, **options)
    assert "mma.sync" not in code(executable)
    close(ran("attention", *arrays, symbols=symbols, **options), in_doubles(*arrays, **options))


@pytest.mark.parametrize("queries", [5, 40])
@pytest.mark.parametrize("shape", [(2, 4, 0, 90), (1, 1, 0, 90), (2, 1, 1, 90)], ids=str)
def test_bias(queries: int, shape: Any) -> None:
    arrays = of(2, queries, 90, (4, 2), 16, 16, "float16")
    bias = 3 * normal(*(each or queries for each in shape), seed=9)
    bias[..., ::7] = -numpy.inf
    close(ran("attention_bias", *arrays, bias, **FIRST), in_doubles(*arrays, bias, **FIRST))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sequences(dtype: str) -> None:
    """Test several blocks, an empty sequence, and queries and keys outside of all sequences."""
    query, key, value = of(1, 230, 240, (2, 1), 16, 16, dtype)
    queries, keys = (3, 140, 140, 150, 220), (0, 100, 110, 190, 230)
    starts = [numpy.array(each, "int32") for each in (queries, [140], keys, [100])]
    actual = ran("attention_var_len", query, key, value, *starts, **LAST)
    expected = numpy.zeros(actual.shape)
    for start, end, first, last in zip(queries, queries[1:], keys, keys[1:], strict=False):
        if start < end:
            expected[:, start:end] = in_doubles(query[:, start:end], key[:, first:last], value[:, first:last], **LAST)
    close(actual, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("queries", [2, 30])
def test_rows_of_caches_behind_the_last_one_are_never_read(dtype: str, queries: int) -> None:
    query, key, value = of(1, queries, 150, (4, 2), 16, 16, dtype)
    key, value = (numpy.ascontiguousarray(each.transpose(0, 2, 1, 3)) for each in (key, value))
    key[:, :, 130:] = value[:, :, 130:] = numpy.nan
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, dtype_name(each)) for each in (query, key, value)]) as f:
        f.returns(rx.relax.nn.attention_cached(*f, length=rx.relax.prim_value(130), **LAST))
    found = to_numpy(run_emulated(rx.compile(module, "cuda"), *map(tensor, (query, key, value))))
    close(found, in_doubles(query, *(each[:, :, :130].transpose(0, 2, 1, 3) for each in (key, value)), **LAST))


def test_blind_queries_give_nan_where_softmax_does() -> None:
    arrays = of(1, 70, 40, (1, 1), 8, 8, "float16")
    actual = ran("attention", *arrays, blind="nan", **LAST)
    assert numpy.isnan(actual[:, :30]).all()
    close(actual[:, 30:], in_doubles(arrays[0][:, 30:], *arrays[1:], **LAST))
    numpy.testing.assert_array_equal(ran("attention", *arrays, **LAST)[:, :30], 0)


@pytest.mark.parametrize(
    ("dtype", "size", "is_matrix"),
    [("float16", 128, True), ("bfloat16", 64, True), ("float32", 256, False), ("float64", 64, False)],
)
def test_what_kernels_take(dtype: str, size: int, is_matrix: bool) -> None:
    """Two blocks on a multiprocessor, or one of the largest; nothing of a thread in memory."""
    executable = program("attention", *of(1, 512, 512, (2, 2), size, size, dtype), **FIRST)
    text = code(executable)
    assert ("mma.sync" in text) == ("cp.async" in text) == ("ldmatrix" in text) == is_matrix
    if HAS_PTXAS:
        for each in resources(text, "sm_80").values():
            assert each.spills == 0 and each.registers * 256 <= 65536 and each.shared <= 48 << 10


def test_products_with_a_softmax_become_attention() -> None:
    module, relax = rx.Module(), rx.relax
    shapes = (2, 4, 40, 16), (2, 4, 16, 50), (2, 4, 50, 16)
    with module.function("main", list(map(rx.tensor, shapes))) as f:
        query, key, value = f
        f.returns(relax.matmul(relax.nn.softmax(relax.matmul(query, key), axis=-1), value))
    executable = rx.compile(module, "cuda")
    query, key, value = (normal(*shape, seed=seed) for seed, shape in enumerate(shapes))
    found = to_numpy(run_emulated(executable, *map(tensor, (query, key, value))))
    turned = [each.transpose(0, 2, 1, 3) for each in (query * 4, key.transpose(0, 1, 3, 2), value)]
    close(found, in_doubles(*turned).transpose(0, 2, 1, 3))
    assert any("attention" in name for name in executable._artifact.devices[0].kernels)
