# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in the types of GGUF: logits beside a NumPy model in f64 on dequantized weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy
import numpy_decoder
import pytest
import relax_mlir as rx
from dequantized import Dequantized
from tiny_models import VOCABULARY, tiny, wide, write_gguf

TOKENS = [int(each) for each in numpy.random.default_rng(6).integers(0, VOCABULARY, 13)]


#: The last type becomes f32.
TYPES = (
    *("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "IQ4_XS"),
    *("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "TQ2_0"),
)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("is_tied", [False, True])
def test_type(type_: str, is_tied: bool, tmp_path: Path) -> None:
    # Rows of the types that end in K have multiples of 256 numbers.
    model = wide("qwen2" if is_tied else "qwen3")
    path = write_gguf(model, tmp_path / "model.gguf", type_)
    expected = numpy_decoder.logits(model.variant, Dequantized(path), TOKENS)
    found = rx.llm.load(path, cache=False).logits(TOKENS)
    numpy.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * numpy.abs(expected).max())


def test_rows_of_several_types_in_one_layer(tmp_path: Path) -> None:
    model = wide("llama")
    types = {"attn_v": "Q6_K", "ffn_up": "Q8_0", "token_embd": "Q8_0"}
    path = write_gguf(model, tmp_path / "model.gguf", "Q4_K", types=types)
    variant = replace(model.variant, adjacent=True)
    expected = numpy_decoder.logits(variant, Dequantized(path), TOKENS)
    found = rx.llm.load(path, cache=False).logits(TOKENS)
    numpy.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * numpy.abs(expected).max())


def test_weights_stay_in_their_blocks(tmp_path: Path) -> None:
    model = wide("llama")
    sizes = {}
    for type_ in ("F32", "F16", "Q8_0", "Q4_0"):
        path = write_gguf(model, tmp_path / f"{type_}.gguf", type_, types={"token_embd": "F16"})
        loaded = rx.llm.load(path, cache=False)
        loaded.save(tmp_path / type_)
        sizes[type_] = (tmp_path / type_ / "program.rxa").stat().st_size - 2 * VOCABULARY * 256
    assert sizes["F16"] < 0.6 * sizes["F32"]
    assert sizes["Q4_0"] < sizes["Q8_0"] < sizes["F16"]


def test_i8_and_f16_pages_are_close(tmp_path: Path) -> None:
    path = write_gguf(tiny("llama"), tmp_path / "model.gguf")
    exact = rx.llm.load(path, cache=False).logits(TOKENS)
    for kv, error in (("f16", 2e-3), ("i8", 0.1)):
        model = rx.llm.load(path, kv=kv, cache=False)
        found = model.logits(TOKENS)
        assert 0 < numpy.abs(found - exact).max() < error * numpy.abs(exact).max()
        assert model.description.pages.bytes(3) == sum(each.nbytes for each in model.engine(3)._pages)


@pytest.mark.parametrize("type_", ["Q4_1", "Q5_0", "IQ4_XS", "Q2_K", "Q3_K", "Q5_K"])
def test_activations_of_8_bits_are_close(type_: str, tmp_path: Path) -> None:
    """Round activations of a model in blocks. Logits of a token do not depend on the other tokens of a call."""
    path = write_gguf(wide("llama"), tmp_path / "model.gguf", type_, types={"token_embd": "Q8_0"})
    exact = rx.llm.load(path, cache=False).logits(TOKENS)
    model = rx.llm.load(path, activations="i8", cache=False)
    found = model.logits(TOKENS)
    assert 0 < numpy.abs(found - exact).max() < 0.1 * numpy.abs(exact).max()
    numpy.testing.assert_array_equal(found[:1], model.logits(TOKENS[:1]))
