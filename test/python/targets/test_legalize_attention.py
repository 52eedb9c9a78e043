# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention, legalized by the default rules, compiled for llvm and run, against onnxruntime."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy
import pytest
import scipy.special
from attention_oracle import in_doubles, mask, normal, operands
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op
from relax_mlir.dialects.tir.prim_func import is_prim_func

import relax_mlir as rx

TOLERANCES = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 3e-6, "float64": 3e-6}


def ran(name: str, *arguments: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", *arguments, **options)


def of_onnx(query: Any, key: Any, value: Any, bias: Any = None, scale: float | None = None, **masked: Any) -> Any:
    """Return onnxruntime's result, which has heads before lengths, and the same heads for keys and queries."""
    heads = query.shape[2]
    key, value = (numpy.repeat(each, heads // each.shape[2], 2) for each in (key, value))
    arrays = [numpy.ascontiguousarray(each.transpose(0, 2, 1, 3), "float32") for each in (query, key, value)]
    seen = mask(query.shape[1], key.shape[1], **masked)
    added = numpy.where(seen, 0.0 if bias is None else bias, -numpy.inf).astype("float32")
    options = {} if scale is None else {"scale": scale}
    return run_onnx("Attention", *arrays, added, opset=23, **options)[0].transpose(0, 2, 1, 3)


def close(actual: Any, expected: Any, dtype: str = "float32") -> None:
    assert actual.shape == expected.shape
    assert actual.dtype.name == dtype
    tolerance = TOLERANCES[dtype]
    numpy.testing.assert_allclose(actual.astype("float64"), expected, rtol=tolerance, atol=tolerance)


HEADS = [(3, 3, 3), (4, 2, 2), (4, 1, 2), (4, 4, 2)]
MASKS: list[dict[str, Any]] = [
    {},
    {"scale": 0.3},
    {"causal_mask": "TopLeft"},
    {"causal_mask": "BottomRight"},
    {"causal_mask": "BottomRight", "window_size": 2},
    {"causal_mask": "TopLeft", "window_size": 3},
    {"window_size": 2},
]


@pytest.mark.parametrize("heads", HEADS, ids=str)
def test_heads(heads: Any) -> None:
    arrays = operands(2, 5, 7, heads, 8, 6, "float32")
    close(ran("attention", *arrays), of_onnx(*arrays))


@pytest.mark.parametrize("options", MASKS, ids=str)
def test_masks(options: Any) -> None:
    arrays = operands(2, 5, 7, (4, 2, 2), 8, 6, "float32")
    close(ran("attention", *arrays, **options), of_onnx(*arrays, **options))


@pytest.mark.parametrize("dtype", sorted(TOLERANCES))
def test_types(dtype: str) -> None:
    arrays = operands(1, 4, 6, (2, 2, 2), 16, 8, getattr(ml_dtypes, dtype, dtype))
    close(ran("attention", *arrays, causal_mask="BottomRight"), of_onnx(*arrays, causal_mask="BottomRight"), dtype)


def test_attention_on_doubles_has_their_precision() -> None:
    query, key, value = operands(1, 4, 6, (1, 1, 1), 16, 8, "float64")
    weights = scipy.special.softmax(query[0, :, 0] @ key[0, :, 0].T / 4, axis=-1)
    actual = ran("attention", query, key, value)
    numpy.testing.assert_allclose(actual[0, :, 0], weights @ value[0, :, 0], rtol=1e-13, atol=1e-14)


SYMBOLS = (("b", "q", "h", "d"), ("b", "k", "g", "d"), ("b", "k", "f", "e"))


@draws(40)
@given(st.integers(1, 2), st.integers(1, 6), st.integers(0, 6), st.sampled_from(HEADS), st.integers(1, 5))
def test_symbolic_sizes(batch: int, queries: int, extra: int, heads: Any, size: int) -> None:
    """Run one kernel for all sizes."""
    arrays = operands(batch, queries, queries + extra, heads, size, 3, "float32")
    options = {"causal_mask": "BottomRight", "window_size": 3}
    close(ran("attention", *arrays, symbols=SYMBOLS, **options), of_onnx(*arrays, **options))


def test_sizes_without_names() -> None:
    arrays = operands(2, 3, 4, (4, 2, 2), 8, 6, "float32")
    close(ran("attention", *arrays, symbols=((None,) * 4,) * 3), of_onnx(*arrays))


def test_queries_that_see_no_key_give_zeros() -> None:
    query, key, value = operands(1, 5, 3, (2, 2, 2), 4, 4, "float32")
    actual = ran("attention", query, key, value, causal_mask="BottomRight")
    expected = of_onnx(query[:, 2:], key, value, causal_mask="BottomRight")
    numpy.testing.assert_array_equal(actual[:, :2], 0)
    close(actual[:, 2:], expected)
    numpy.testing.assert_array_equal(ran("attention", query, key[:, :0], value[:, :0]), 0)


def test_large_scores_and_values_that_are_not_numbers() -> None:
    query, key, value = operands(1, 2, 3, (1, 1, 1), 4, 2, "float32")
    close(ran("attention", query * 1e4, key, value), of_onnx(query * 1e4, key, value))
    query[0, 0, 0, 0] = numpy.nan
    actual = ran("attention", query, key, value)
    assert numpy.isnan(actual[0, 0]).all()
    close(actual[:, 1:], of_onnx(query[:, 1:], key, value))


@pytest.mark.slow
def test_sizes_that_do_not_agree() -> None:
    query, key, value = operands(1, 2, 3, (4, 2, 2), 4, 4, "float32")
    symbols = (("b", "q", "h", "d"), ("c", "k", "g", "e"), ("c", "l", "g", "f"))
    close(ran("attention", query, key, value, symbols=symbols), of_onnx(query, key, value))
    with pytest.raises(ValueError, match="size of a head: sizes 3 and 4 differ"):
        run_op("relax.nn.attention", query[..., :3].copy(), key, value, symbols=symbols)
    with pytest.raises(ValueError, match="length: sizes 3 and 2 differ"):
        run_op("relax.nn.attention", query, key, value[:, :2].copy(), symbols=symbols)
    with pytest.raises(ValueError, match="3 heads of query are no multiple of 2"):
        run_op("relax.nn.attention", query[:, :, :3].copy(), key, value, symbols=symbols)
    with pytest.raises(ValueError, match="key and value have no heads"):
        run_op("relax.nn.attention", query, key[:, :, :0].copy(), value[:, :, :0].copy(), symbols=symbols)


# ---- with a bias ----


@pytest.mark.parametrize("shape", [(2, 4, 5, 7), (1, 1, 1, 7), (2, 1, 5, 7), (1, 4, 1, 7)], ids=str)
@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "symbolic"])
def test_bias(shape: Any, symbolic: bool) -> None:
    arrays, bias = operands(2, 5, 7, (4, 2, 2), 8, 6, "float32"), normal(*shape, seed=9)
    symbols = (*SYMBOLS, ("i", "j", "l", "k")) if symbolic else ()
    options = {"causal_mask": "TopLeft", "scale": 0.5}
    close(ran("attention_bias", *arrays, bias, symbols=symbols, **options), of_onnx(*arrays, bias, **options))


def test_bias_of_another_type() -> None:
    arrays, bias = operands(2, 5, 7, (2, 2, 2), 8, 6, "float16"), normal(1, 2, 5, 7, seed=9)
    close(ran("attention_bias", *arrays, bias), of_onnx(*arrays, bias), "float16")


def test_bias_that_hides_keys() -> None:
    arrays, bias = operands(1, 3, 4, (1, 1, 1), 4, 4, "float32"), numpy.zeros((1, 1, 3, 4), "float32")
    bias[0, 0, 0, :3] = bias[0, 0, 1] = -numpy.inf
    actual = ran("attention_bias", *arrays, bias)
    numpy.testing.assert_allclose(actual[0, 0], arrays[2][0, 3], rtol=1e-6)
    numpy.testing.assert_array_equal(actual[0, 1], 0)


def test_bias_that_does_not_broadcast() -> None:
    arrays = operands(2, 5, 7, (4, 2, 2), 8, 6, "float32")
    with pytest.raises(ValueError, match="do not broadcast: sizes 3 and 4"):
        run_op("relax.nn.attention_bias", *arrays, normal(1, 3, 1, 7), symbols=(*SYMBOLS, ("i", "j", "l", "k")))


# ---- sequences of several lengths ----

TOTALS = (("b", "q", "h", "d"), ("b", "k", "g", "d"), ("b", "k", "f", "e"), ("s",), (1,), ("s",), (1,))


def sequences(*starts: int) -> tuple[Any, Any]:
    lengths = numpy.diff(starts)
    return numpy.array(starts, "int32"), numpy.array([lengths.max(initial=0)], "int32")


@pytest.mark.slow
@pytest.mark.parametrize("symbols", [(), TOTALS], ids=["known", "symbolic"])
@pytest.mark.parametrize("options", [MASKS[0], MASKS[2], MASKS[4]], ids=str)
def test_sequences(options: Any, symbols: Any) -> None:
    query, key, value = operands(1, 12, 14, (4, 2, 2), 8, 6, "float32")
    queries, keys = (1, 3, 3, 9, 11), (0, 4, 6, 12, 14)
    of_queries, of_keys = sequences(*queries), sequences(*keys)
    actual = ran("attention_var_len", query, key, value, *of_queries, *of_keys, symbols=symbols, **options)
    expected = numpy.zeros_like(actual)
    for start, end, first, last in zip(queries, queries[1:], keys, keys[1:], strict=False):
        if start < end:
            parts = query[:, start:end], key[:, first:last], value[:, first:last]
            expected[:, start:end] = of_onnx(*parts, **options)
    close(actual, expected)


def test_sequences_of_keys_are_those_of_queries() -> None:
    query, key, value = operands(1, 7, 7, (2, 2, 2), 4, 4, "float16")
    starts, longest = sequences(0, 3, 7)
    actual = ran("attention_var_len", query, key, value, starts, longest, causal_mask="TopLeft")
    parts = [
        of_onnx(*(each[:, start:end] for each in (query, key, value)), causal_mask="TopLeft")
        for start, end in ((0, 3), (3, 7))
    ]
    close(actual, numpy.concatenate(parts, 1), "float16")


@pytest.mark.parametrize("starts", [(0, 3, 8), (-1, 3, 7), (0, 5, 3), (0, 2**31 - 1, 7)], ids=str)
def test_sequences_outside_of_the_tensors(starts: Any) -> None:
    arrays = operands(1, 7, 7, (2, 2, 2), 4, 4, "float16")
    with pytest.raises(ValueError, match=r"a sequence starts at -?\d+ and ends at \d+, of 7 queries"):
        run_op("relax.nn.attention_var_len", *arrays, *sequences(*starts), causal_mask="TopLeft")


def test_sequences_in_number() -> None:
    query, key, value = operands(1, 7, 7, (2, 2, 2), 4, 4, "float32")
    symbols = (("b", "q", 2, 4), ("b", "k", 2, 4), ("b", "k", 2, 4), ("s",), (1,), ("t",), (1,))
    with pytest.raises(ValueError, match="number of sequences: sizes 3 and 2 differ"):
        starts = *sequences(0, 3, 7), *sequences(0, 7)
        run_op("relax.nn.attention_var_len", query, key, value, *starts, symbols=symbols)
    with pytest.raises(ValueError, match="batch of attention_var_len: sizes 2 and 1 differ"):
        pairs = [numpy.concatenate([each, each]) for each in (query, key, value)]
        run_op("relax.nn.attention_var_len", *pairs, *sequences(0, 7), *sequences(0, 7), symbols=symbols)


# ---- blocks of queries and keys ----

LONG_SYMBOLS = (("b", "q", 2, 4), ("b", "k", 1, 4), ("b", "k", 1, 3))


WINDOW = {"causal_mask": "TopLeft", "window_size": 90}


@pytest.mark.parametrize(
    ("lengths", "options", "symbols"),
    [
        ((130, 300), {}, ()),
        ((64, 256), MASKS[2], ()),
        ((197, 384), MASKS[4], ()),
        ((197, 384), {}, LONG_SYMBOLS),
        ((300, 130), MASKS[3], ()),
        ((300, 310), WINDOW, ()),
        ((300, 310), WINDOW, LONG_SYMBOLS),
        ((300, 130), MASKS[2], LONG_SYMBOLS),
    ],
    ids=str,
)
def test_several_blocks(lengths: tuple[int, int], options: Any, symbols: Any) -> None:
    arrays = operands(2, *lengths, (2, 1, 1), 4, 3, "float32")
    close(ran("attention", *arrays, symbols=symbols, **options), in_doubles(*arrays, **options))


@pytest.mark.parametrize("shape", [(2, 2, 130, 300), (1, 1, 130, 300), (2, 1, 1, 300)], ids=str)
def test_bias_of_several_blocks(shape: Any) -> None:
    """Mask some keys, and all of a block of them."""
    arrays, bias = operands(2, 130, 300, (2, 1, 1), 4, 3, "float32"), 3 * normal(*shape, seed=9)
    bias[..., 128:256] = bias[..., ::7] = -numpy.inf
    close(ran("attention_bias", *arrays, bias), in_doubles(*arrays, bias))


def test_larger_scores_come_later() -> None:
    """Rescale the sums repeatedly, since later scores are larger."""
    query, key, value = operands(1, 70, 600, (1, 1, 1), 4, 3, "float32")
    key *= numpy.linspace(0, 60, 600, dtype="float32")[:, None, None]
    actual = ran("attention", query, key, value)
    numpy.testing.assert_allclose(actual, in_doubles(query, key, value), rtol=2e-4, atol=1e-4)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2, "q", 3, 16))] * 3) as f:
        f.returns(rx.relax.nn.attention(*f, causal_mask="TopLeft"))
    program = rx.compile(module)
    arrays = operands(2, 300, 300, (3, 3, 3), 16, 16, "float32")
    results = []
    for program.threads in (1, 2, 5):
        results.append(numpy.from_dlpack(program["main"](*arrays)).tobytes())
    assert len(set(results)) == 1


@pytest.mark.slow
def test_blind_queries_give_nan_where_softmax_does() -> None:
    """Give NaN in one piece, in blocks and one by one, but zeros without keys: an empty sum is zero."""
    for queries, keys, symbols in ((5, 3, ()), (70, 40, ()), (300, 280, ()), (70, 40, SYMBOLS), (5, 3, SYMBOLS)):
        query, key, value = operands(1, queries, keys, (2, 2, 2), 4, 4, "float32")
        options = {"causal_mask": "BottomRight", "blind": "nan", "symbols": symbols}
        actual = ran("attention", query, key, value, **options)
        blind = queries - keys
        assert numpy.isnan(actual[:, :blind]).all() and (0 < blind < queries)
        close(actual[:, blind:], in_doubles(query[:, blind:], key, value, causal_mask="BottomRight"))
        numpy.testing.assert_array_equal(ran("attention", query, key[:, :0], value[:, :0], **options), 0)


# ---- keys and values of earlier calls ----

KEPT = (("b", "q", "h", "d"), ("b", "g", "rows", "d"), ("b", "f", "rows", "e"))


def kept(batch: int, queries: int, rows: int, heads: Any, size: int = 8, width: int = 6) -> list[Any]:
    """Return operands with heads before rows, as in caches. Rows beyond the valid ones are never read."""
    query, key, value = operands(batch, queries, rows, heads, size, width, "float32")
    return [query, *(numpy.ascontiguousarray(each.transpose(0, 2, 1, 3)) for each in (key, value))]


def of_rows(query: Any, key: Any, value: Any, length: int, *bias: Any, **options: Any) -> Any:
    return in_doubles(query, *(each[:, :, :length].transpose(0, 2, 1, 3) for each in (key, value)), *bias, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "heads", "options"),
    [
        (1, HEADS[0], MASKS[0]),
        (3, HEADS[1], MASKS[3]),
        (7, HEADS[2], MASKS[4]),
        (8, HEADS[3], {}),
        (70, HEADS[1], WINDOW),
    ],
    ids=str,
)
def test_first_rows_of_a_cache(queries: int, options: Any, heads: Any) -> None:
    """Read the first rows of caches, by a program for each number of queries and one for any."""
    arrays = kept(2, queries, 310, heads)
    for each in arrays[1:]:
        each[:, :, 300:] = numpy.nan
    expected = of_rows(*arrays, 300, **options)
    for symbols in ((), KEPT):
        close(ran("attention_cached", *arrays, None, 300, symbols=symbols, **options), expected)


def test_rows_that_the_run_counts() -> None:
    module = rx.Module()
    shapes = [(2, "q", 4, 8), (2, 2, "past + q + room", 8), (2, 2, "past + q + room", 6), (2, 1, "q", "past + q")]
    with module.function("main", [*map(rx.tensor, shapes), rx.tensor(("past", 0), "int8")]) as f:
        length = rx.relax.prim_value(rx.sym("past") + rx.sym("q"))
        *tensors, _ = f
        f.returns(rx.relax.nn.attention_cached(*tensors, length, causal_mask="BottomRight"))
    program = rx.compile(module)
    for past, queries, room in ((0, 1, 0), (0, 9, 3), (130, 1, 2), (200, 7, 0), (200, 8, 1), (3, 140, 0)):
        arrays, bias = kept(2, queries, past + queries + room, (4, 2, 2)), normal(2, 1, queries, past + queries)
        actual = numpy.from_dlpack(program["main"](*arrays, bias, numpy.empty((past, 0), "int8")))
        close(actual, of_rows(*arrays, past + queries, bias, causal_mask="BottomRight"))


def test_any_number_of_threads_gives_one_querys_bits() -> None:
    arrays = kept(2, 1, 2000, (8, 4, 4), 16, 16)
    module = rx.Module()
    with module.function("main", [rx.tensor((2, "q", 8, 16)), *[rx.tensor((2, 4, "n", 16))] * 2]) as f:
        f.returns(rx.relax.nn.attention_cached(*f, length=rx.relax.prim_value(rx.sym("n"))))
    program, results = rx.compile(module), []
    for program.threads in (1, 2, 5):
        results.append(numpy.from_dlpack(program["main"](*arrays)).tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize(("queries", "products"), [(1, 2), (20, 0)])
def test_keys_and_values_of_few_queries_come_into_the_cache_before_they_are_read(queries: int, products: int) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, queries, 8, 64)), *[rx.tensor((1, 2, 2000, 64))] * 2]) as f:
        f.returns(rx.relax.nn.attention_cached(*f, length=rx.relax.prim_value(2000)))
    planned = str(rx.lower(module, pipeline=rx.stages("llvm").until("plan")))
    streams = [line for line in planned.splitlines() if "tir.stream = 1" in line]
    assert len(streams) == products and all("rule matmul" in line for line in streams)
    applied = str(rx.lower(module, pipeline=rx.stages("llvm").until("apply")))
    assert ("memref.prefetch" in applied) == (products > 0)


def test_a_length_beyond_the_rows() -> None:
    module = rx.Module()
    shapes = [(1, 1, 2, 4), (1, 2, "rows", 4), (1, 2, "others", 4)]
    with module.function("main", [*map(rx.tensor, shapes), rx.tensor(("n", 0), "int8")]) as f:
        *tensors, _ = f
        f.returns(rx.relax.nn.attention_cached(*tensors, length=rx.relax.prim_value(rx.sym("n") - 2)))
    program = rx.compile(module)["main"]
    query, key, value = kept(1, 1, 9, (2, 2, 2), 4, 4)

    def call(count: int, rows: int) -> Any:
        return program(query, key, numpy.ascontiguousarray(value[:, :, :rows]), numpy.empty((count, 0), "int8"))

    close(numpy.from_dlpack(call(9, 7)), of_rows(query, key, value, 7))
    with pytest.raises(ValueError, match="length: size 8 is larger than 7"):
        call(10, 7)
    with pytest.raises(ValueError, match="length of keys and values is -1"):
        call(1, 7)


# ---- form ----


def body_of_attention(length: int) -> str:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, length, 2, 4))] * 3) as f:
        f.returns(rx.relax.nn.attention(*f))
    rx.LegalizeOps()(module)
    (prim,) = [op.operation for op in module.body.operations if is_prim_func(op)]
    return str(prim)


def test_attention_is_two_contractions() -> None:
    # A few queries rescale their sums when a larger score comes.
    for text, powers in ((body_of_attention(7), 2), (body_of_attention(8), 1)):
        assert text.count('["parallel", "parallel", "reduction"]') == 2
        assert text.count("tir.exp") == powers and "tensor.extract " not in text and "tir.assert" not in text


def test_the_matrix_of_all_scores_is_never_stored() -> None:
    text = body_of_attention(1024)
    sizes = {int(rows) * int(columns) for rows, columns in re.findall(r"tensor<(\d+)x(\d+)xf32>", text)}
    assert max(sizes) == 128 * 64
    assert "tir.parallel" in text and "tir.parallel" not in body_of_attention(8)
