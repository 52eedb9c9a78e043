# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention: a sample of the node suite, of which conformance runs all, and Microsoft's against onnxruntime."""

from __future__ import annotations

from typing import Any

import known_failures
import numpy
import pytest
from against_onnxruntime import Compared, one_node
from node_suite import Case, cases, check

import relax_mlir as rx

_MICROSOFT = "com.microsoft"
_SAMPLE = [
    *cases("Attention")[::8],
    *cases("RotaryEmbedding")[::2],
    *cases("LinearAttention", "CausalConvWithState")[::6],
]


def _floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def _ints(*values: Any, dtype: str = "int32") -> Any:
    return numpy.array(values, dtype)


@pytest.mark.parametrize("case", _SAMPLE, ids=lambda case: case.name)
def test_the_node_suite(case: Case) -> None:
    reason = known_failures.read().get(case.name)
    if reason is not None:
        pytest.skip(f"known not to pass: {reason}")
    check(case)


def _present(inputs: Any) -> list[Any]:
    return [value for value in inputs.values() if value is not None]


def _compare(op: str, inputs: Any, outputs: int = 1, symbolic: Any = None, **attributes: Any) -> Compared:
    model = one_node(op, inputs, outputs, _MICROSOFT, symbolic=symbolic is not None, **attributes)
    compared = Compared(model, symbolic)
    compared(*_present(inputs))
    return compared


def _mha(batch: int, queries: int, keys: int, past: int = 0, heads: int = 2, size: int = 4) -> dict[str, Any]:
    hidden = heads * size
    return {
        "query": _floats(batch, queries, hidden, seed=1),
        "key": _floats(batch, keys, hidden, seed=2),
        "value": _floats(batch, keys, hidden, seed=3),
        "bias": None,
        "mask": None,
        "scores": None,
        "past_key": _floats(batch, heads, past, size, seed=4) if past else None,
        "past_value": _floats(batch, heads, past, size, seed=5) if past else None,
    }


@pytest.mark.parametrize("options", ["plain", "bias", "mask", "lengths", "scores", "causal", "past", "scale"])
def test_multi_head_attention(options: str) -> None:
    inputs = _mha(2, 3, 3, past=2 if options == "past" else 0)
    attributes: dict[str, Any] = {"num_heads": 2}
    if options == "bias":
        inputs["bias"] = _floats(24, seed=6)
    elif options == "mask":
        inputs["mask"] = _ints([1, 1, 0], [1, 1, 1])
    elif options == "lengths":
        inputs["mask"] = _ints(3, 2)
    elif options == "scores":
        inputs["scores"] = _floats(1, 2, 3, 3, seed=7)
    elif options == "causal":
        attributes["unidirectional"] = 1
    elif options == "scale":
        attributes["scale"] = 0.7
    _compare("MultiHeadAttention", inputs, 3 if options == "past" else 1, **attributes)


def test_multi_head_attention_of_symbolic_lengths() -> None:
    symbolic = {name: ("b", "s", 8) for name in ("query", "key", "value")}
    symbolic |= {"past_key": ("b", 2, "p", 4), "past_value": ("b", 2, "p", 4)}
    compared = _compare("MultiHeadAttention", _mha(2, 3, 3, past=2), 3, symbolic, num_heads=2, unidirectional=1)
    compared(*_present(_mha(1, 1, 1, past=5)))


@pytest.mark.parametrize("options", ["plain", "mask", "causal", "past", "sizes"])
def test_microsofts_attention(options: str) -> None:
    inputs = {"x": _floats(2, 3, 6, seed=1), "w": _floats(6, 24, seed=2), "b": _floats(24, seed=3), "mask": None}
    attributes: dict[str, Any] = {"num_heads": 2}
    if options == "mask":
        inputs["mask"] = _ints([1, 1, 0], [1, 1, 1])
    elif options == "causal":
        attributes["unidirectional"] = 1
    elif options == "past":
        inputs["past"] = _floats(2, 2, 2, 5, 4, seed=4)
    elif options == "sizes":
        attributes["qkv_hidden_sizes"] = [8, 8, 8]
    _compare("Attention", inputs, 2 if options == "past" else 1, **attributes)


def _gqa(batch: int, length: int, past: int, lengths: Any = None, **kept: bool) -> dict[str, Any]:
    heads, shared, size = 4, 2, 16
    last = [past + length - 1] * batch if lengths is None else lengths
    return {
        "query": _floats(batch, length, (heads + (0 if kept.get("apart") else 2 * shared)) * size, seed=1),
        "key": _floats(batch, length, shared * size, seed=2) if kept.get("apart") else None,
        "value": _floats(batch, length, shared * size, seed=3) if kept.get("apart") else None,
        "past_key": _floats(batch, shared, past, size, seed=4),
        "past_value": _floats(batch, shared, past, size, seed=5),
        "seqlens_k": _ints(*last),
        "total": numpy.array(past + length, "int32"),
        "cos": _floats(32, size // 2, seed=6) if kept.get("rotary") else None,
        "sin": _floats(32, size // 2, seed=7) if kept.get("rotary") else None,
    }


_GQA = {"num_heads": 4, "kv_num_heads": 2}


@pytest.mark.parametrize("options", ["first", "next", "packed", "rotary", "window", "softcap", "smooth", "sink"])
def test_group_query_attention(options: str) -> None:
    attributes: dict[str, Any] = dict(_GQA)
    length, past = (4, 0) if options == "first" else (1, 6)
    inputs = _gqa(2, length, past, apart=options != "packed", rotary=options == "rotary")
    if options == "rotary":
        attributes["do_rotary"] = 1
    elif options == "window":
        attributes["local_window_size"] = 3
    elif options == "softcap":
        attributes["softcap"] = 2.0
    elif options == "smooth":
        attributes["smooth_softmax"] = 1
    elif options == "sink":  # Like gpt-oss: one score for each head.
        attributes["local_window_size"] = 3
        inputs |= {"positions": None, "bias": None, "sink": _floats(4, seed=9)}
    _compare("GroupQueryAttention", inputs, 3, **attributes)


@pytest.mark.slow
def test_group_query_attention_of_symbolic_lengths() -> None:
    symbolic = {"query": ("b", "s", 64), "key": ("b", "s", 32), "value": ("b", "s", 32), "seqlens_k": ("b",)}
    symbolic |= {"past_key": ("b", 2, "p", 16), "past_value": ("b", 2, "p", 16), "total": ()}
    symbolic |= {"cos": (None, 8), "sin": (None, 8)}
    attributes = {**_GQA, "do_rotary": 1}
    inputs = _gqa(2, 5, 0, apart=True, rotary=True)
    compared = _compare("GroupQueryAttention", inputs, 3, symbolic, **attributes)
    compared(*_present(_gqa(3, 1, 7, apart=True, rotary=True)))


def test_sequences_of_a_batch_fill_the_cache_to_lengths_of_their_own() -> None:
    inputs = _gqa(2, 1, 6, lengths=[3, 6], apart=True)
    model = one_node("GroupQueryAttention", inputs, 3, _MICROSOFT, symbolic=False, **_GQA)
    Compared(model)(*_present(inputs), outputs=[0])


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_microsofts_rotary_embedding(rank: int, interleaved: int) -> None:
    data = _floats(2, 3, 16) if rank == 3 else _floats(2, 2, 3, 8)
    places = _ints(4, dtype="int64") if interleaved else _ints([0, 1, 2], [5, 3, 1], dtype="int64")
    inputs = {"x": data, "places": places, "cos": _floats(20, 4, seed=1), "sin": _floats(20, 4, seed=2)}
    _compare("RotaryEmbedding", inputs, interleaved=interleaved)


def test_unsupported_inputs_of_attention_are_refused() -> None:
    inputs = {**_gqa(2, 1, 6, apart=True), "places": None, "bias": None, "sink": None, "k_scale": _floats(1)}
    model = one_node("GroupQueryAttention", inputs, 3, _MICROSOFT, symbolic=False, **_GQA)
    with pytest.raises(rx.RelaxError, match="input 'k_scale' is not supported"):
        rx.from_onnx(model)


def test_masks_have_a_dimension_for_keys() -> None:
    inputs = {**{name: _floats(1, 2, 3, 4) for name in "QKV"}, "mask": numpy.array(True)}
    with pytest.raises(rx.RelaxError, match="the mask must have 1 to 4 dimensions, not 0"):
        rx.from_onnx(one_node("Attention", inputs, opset=23, symbolic=False))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 2, 3, "w"), "the sizes of heads must be known, and not 0"),
        ((1, 2, 3, 0), "the sizes of heads must be known, and not 0"),
        ((1, "h", 3, 4), "numbers of heads must be known"),
    ],
)
def test_heads_of_unknown_number_or_size_are_refused(shape: Any, message: str) -> None:
    model = one_node("Attention", {name: _floats(1, 2, 3, 4) for name in "QKV"}, opset=23)
    with pytest.raises(rx.RelaxError, match=message):
        rx.from_onnx(model, shapes=dict.fromkeys("QKV", shape))


def test_a_negative_scale_is_that_of_the_opposite_query() -> None:
    q, k, v = (_floats(1, 2, 3, 4) for _ in range(3))

    def result(sign: float, scale: float) -> Any:
        inputs = {"Q": sign * q, "K": k, "V": v}
        module = rx.from_onnx(one_node("Attention", inputs, opset=23, symbolic=False, scale=scale))
        return rx.compile(module)["main"](*inputs.values())

    numpy.testing.assert_allclose(result(1.0, -0.7), result(-1.0, 0.7), rtol=1e-5, atol=1e-6)
