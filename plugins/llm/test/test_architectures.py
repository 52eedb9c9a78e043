# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Logits of tiny models of each architecture, from both kinds of files, beside a NumPy model in f64."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy
import numpy_decoder
import pytest
import relax_mlir as rx
import safetensors.numpy
from tiny_models import ADJACENT, VOCABULARY, architectures, gguf_weights, tiny, write_folder, write_gguf

TOKENS = [int(each) for each in numpy.random.default_rng(5).integers(0, VOCABULARY, 21)]


@pytest.mark.parametrize("name", [each for each in architectures() if tiny(each).config])
def test_folder_of_safetensors(name: str, tmp_path: Path) -> None:
    model = tiny(name)
    loaded = rx.llm.load(write_folder(model, tmp_path / "model"), cache=False)
    expected = numpy_decoder.logits(model.variant, model.weights, TOKENS)
    numpy.testing.assert_allclose(loaded.logits(TOKENS), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [each for each in architectures() if tiny(each).metadata])
def test_gguf(name: str, tmp_path: Path) -> None:
    model = tiny(name)
    loaded = rx.llm.load(write_gguf(model, tmp_path / "model.gguf"), cache=False)
    # The format has the weights of llama in the order of another rope, and the norms of gemma with the offset.
    variant = replace(model.variant, adjacent=name in ADJACENT, norm_offset=0.0)
    expected = numpy_decoder.logits(variant, gguf_weights(model), TOKENS)
    numpy.testing.assert_allclose(loaded.logits(TOKENS), expected, rtol=1e-4, atol=1e-4)


def test_several_safetensors_files_with_an_index(tmp_path: Path) -> None:
    model = tiny("qwen3")
    one = rx.llm.load(write_folder(model, tmp_path / "one"), cache=False)
    three = rx.llm.load(write_folder(model, tmp_path / "three", shards=3), cache=False)
    numpy.testing.assert_array_equal(three.logits(TOKENS), one.logits(TOKENS))


def test_a_short_context_selects_the_short_factors_of_longrope(tmp_path: Path) -> None:
    model = tiny("phi3")
    loaded = rx.llm.load(write_folder(model, tmp_path / "model"), context=32, cache=False)
    plain = numpy_decoder.plain_frequencies(10000.0, 8)
    variant = replace(model.variant, frequencies=(plain, plain))
    expected = numpy_decoder.logits(variant, model.weights, TOKENS)
    numpy.testing.assert_allclose(loaded.logits(TOKENS), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("prefix", ["language_model.model.", "model.language_model."])
def test_the_text_model_of_a_model_with_pictures(prefix: str, tmp_path: Path) -> None:
    model = tiny("gemma3")
    folder = write_folder(model, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    nested = {"model_type": "gemma3", "text_config": {**config, "model_type": "gemma3_text"}}
    (folder / "config.json").write_text(json.dumps(nested))
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    renamed = {f"{prefix}{name.removeprefix('model.')}": each for name, each in tensors.items()}
    safetensors.numpy.save_file(renamed, folder / "model.safetensors")
    expected = numpy_decoder.logits(model.variant, model.weights, TOKENS)
    found = rx.llm.load(folder, cache=False).logits(TOKENS)
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
