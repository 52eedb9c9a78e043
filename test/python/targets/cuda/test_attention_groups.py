# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention by groups of four warps, wgmma of sm_90a, on the emulator against numpy's doubles."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from assembler import needs_ptxas
from attention_oracle import in_doubles, normal
from gpu_attention import FIRST, LAST, WINDOW, close, code, found_by, of, program, ran
from prim_jit import dtype_name
from relax_mlir.targets.cuda.objects.cubin import resources

import relax_mlir as rx

ARCH = "sm_90a"


def optimized(dtype: str, size: int, arch: str = ARCH, queries: int | str = 512, **options: Any) -> str:
    """Return the optimized code of attention with such heads."""
    module = rx.Module()
    shapes = (2, queries, 8, size), (2, "keys", 4, size), (2, "keys", 4, size)
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(rx.relax.nn.attention(*f, **options))
    return code(rx.compile(module, f"cuda{{arch={arch}}}", opt_level=3))


def open_lengths(size: int, width: int) -> Any:
    return ("b", "q", "h", size), ("b", "k", "g", size), ("b", "k", "g", width)


def by_groups(text: str) -> bool:
    assert ("wgmma" in text) != ("mma.sync" in text)
    return "wgmma" in text


@pytest.mark.parametrize(
    ("dtype", "sizes", "options", "symbols"),
    [
        ("float16", (1, 64, 64, (1, 1), 64, 64), {}, ()),  # one block of keys
        ("float16", (2, 70, 200, (4, 2), 64, 64), LAST, ()),  # four of them, the last one not whole
        ("bfloat16", (1, 130, 300, (2, 1), 128, 128), FIRST, ()),  # two groups, and two queries behind
        ("float16", (1, 200, 384, (1, 1), 128, 128), {}, ()),
        ("bfloat16", (1, 65, 150, (2, 1), 80, 80), WINDOW, ()),  # lines that are not whole
        ("float16", (1, 129, 200, (1, 1), 256, 256), FIRST, ()),
        ("float16", (1, 40, 100, (2, 2), 72, 24), {"scale": 0.3}, ()),  # steps that are padded, few columns
        ("float16", (1, 50, 90, (1, 1), 192, 64), LAST, ()),
        ("float16", (1, 100, 64, (1, 1), 8, 8), {**FIRST, **WINDOW}, ()),  # queries that see no key
        ("float16", (1, 70, 190, (2, 1), 64, 128), FIRST, open_lengths(64, 128)),
        ("bfloat16", (2, 33, 1, (2, 1), 64, 64), {}, open_lengths(64, 64)),
    ],
    ids=str,
)  # fmt: skip
def test_attention(dtype: str, sizes: Any, options: Any, symbols: Any) -> None:
    arrays = of(*sizes, dtype)
    executable = program("attention", *arrays, symbols=symbols, arch=ARCH, **options)
    assert by_groups(code(executable))
    scale = options.get("scale", sizes[4] ** -0.5) * sizes[4] ** 0.5
    masked = {name: value for name, value in options.items() if name != "scale"}
    expected = in_doubles(arrays[0].astype("float64") * scale, *arrays[1:], **masked)
    close(found_by(executable, *arrays, arch=ARCH), expected)


@pytest.mark.parametrize("size", [64, 128])
def test_waits_hold_in_optimized_code(size: int) -> None:
    """Check waits in code that LLVM has reordered."""
    arrays = of(1, 130, 500, (2, 1), size, size, "float16")
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, dtype_name(each)) for each in arrays]) as f:
        f.returns(rx.relax.nn.attention(*f, **LAST))
    executable = rx.compile(module, f"cuda{{arch={ARCH}}}", opt_level=3)
    close(found_by(executable, *arrays, arch=ARCH), in_doubles(*arrays, **LAST))


def test_no_keys_at_all() -> None:
    query, key, value = of(1, 70, 5, (2, 1), 64, 64, "float16")
    symbols = [(1, "q", 2, 64), (1, "k", 1, 64), (1, "k", 1, 64)]
    found = ran("attention", query, key[:, :0], value[:, :0], symbols=symbols, arch=ARCH)
    assert found.shape == query.shape and (found == 0).all()


@pytest.mark.parametrize("shape", [(2, 4, 0, 90), (1, 1, 0, 90), (2, 1, 1, 90)], ids=str)
def test_bias(shape: Any) -> None:
    arrays = of(2, 40, 90, (4, 2), 64, 64, "float16")
    bias = 3 * normal(*(each or 40 for each in shape), seed=9)
    bias[..., ::7] = -numpy.inf
    close(ran("attention_bias", *arrays, bias, arch=ARCH, **FIRST), in_doubles(*arrays, bias, **FIRST))


def test_sequences() -> None:
    """Test several blocks, an empty sequence, queries and keys outside of all sequences, and a sequence without
    keys."""
    query, key, value = of(1, 330, 340, (2, 1), 64, 64, "float16")
    queries, keys = (3, 240, 240, 250, 320), (0, 200, 210, 210, 330)
    starts = [numpy.array(each, "int32") for each in (queries, [240], keys, [200])]
    actual = ran("attention_var_len", query, key, value, *starts, arch=ARCH, **LAST)
    expected = numpy.zeros(actual.shape)
    for start, end, first, last in zip(queries, queries[1:], keys, keys[1:], strict=False):
        if start < end and first < last:
            expected[:, start:end] = in_doubles(query[:, start:end], key[:, first:last], value[:, first:last], **LAST)
    close(actual, expected)


def test_rows_of_caches_behind_the_last_one_are_never_read() -> None:
    query, key, value = of(1, 60, 150, (4, 2), 64, 64, "bfloat16")
    key, value = (numpy.ascontiguousarray(each.transpose(0, 2, 1, 3)) for each in (key, value))
    key[:, :, 130:] = value[:, :, 130:] = numpy.nan
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, dtype_name(each)) for each in (query, key, value)]) as f:
        f.returns(rx.relax.nn.attention_cached(*f, length=rx.relax.prim_value(130), **LAST))
    executable = rx.compile(module, f"cuda{{arch={ARCH}}}")
    assert by_groups(code(executable))
    found = found_by(executable, query, key, value, arch=ARCH)
    close(found, in_doubles(query, *(each[:, :, :130].transpose(0, 2, 1, 3) for each in (key, value)), **LAST))


@pytest.mark.parametrize(
    ("arch", "queries", "size", "instruction"),
    [
        (ARCH, 33, 64, "wgmma"),
        (ARCH, "q", 256, "wgmma"),
        (ARCH, 32, 64, "mma.sync"),  # fewer rows than a group has
        ("sm_90", 512, 64, "mma.sync"),
        ("sm_100", 512, 64, "mma.sync"),
        (ARCH, 512, 264, ""),
        (ARCH, 512, 100, ""),
    ],
)
def test_attention_uses_the_instruction_of_the_device(
    arch: str, queries: int | str, size: int, instruction: str
) -> None:
    text = optimized("float16", size, arch, queries)
    assert {each for each in ("wgmma", "mma.sync") if each in text} == ({instruction} if instruction else set())


@pytest.mark.slow
@needs_ptxas
@pytest.mark.parametrize(
    ("dtype", "size", "most"),
    [("float16", 64, 128), ("bfloat16", 64, 128), ("bfloat16", 80, 255), ("float16", 128, 255), ("float16", 256, 255)],
)
@pytest.mark.parametrize("options", [{}, FIRST, WINDOW], ids=str)
def test_attention_kernels_do_not_spill(dtype: str, size: int, most: int, options: Any) -> None:
    """Check the occupancy: two blocks per multiprocessor for small heads, one for large heads.

    No product waits for more than its factors.
    """
    text = optimized(dtype, size, **options)
    assert by_groups(text)
    for name, each in resources(text, ARCH).items():
        if "wgmma" in text.partition(f".entry {name}(")[2].partition(".entry")[0]:
            assert each.spills == 0 and not each.remarks and each.registers <= most, each


def test_powers_are_computed_along_with_totals() -> None:
    """Check that a group waits for the scores of a block of keys before it waits for the totals of the block before."""
    text = optimized("float16", 128)
    part = text[text.rindex("wgmma.wait_group.sync.aligned 1;") :]
    meanwhile = part[: part.index("wgmma.wait_group.sync.aligned 0;")]
    assert meanwhile.count("ex2.approx") >= 64
    # A branch, or the assembler has the second wait behind the first one.
    assert re.search(r"@%p\d+ bra", meanwhile[meanwhile.rindex("ex2.approx") :])
