# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoRA adapters of PEFT, merged into the weights of a model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
import safetensors.numpy
from numpy import ndarray
from relax_mlir_llm.lora import MergedSource, read_adapter
from relax_mlir_llm.safetensors_source import folder_source
from tiny_models import INNER, WIDTH, tiny, write_folder, write_gguf

RANK = 4
#: Weights that the adapter changes: GGUF's name, name in the files, rows and columns.
CHANGED = {
    "blk.0.attn_q.weight": ("model.layers.0.self_attn.q_proj", 64, WIDTH),
    "blk.1.ffn_down.weight": ("model.layers.1.mlp.down_proj", WIDTH, INNER),
}
CONFIG = {"peft_type": "LORA", "r": RANK, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"], "bias": "none"}


def write_adapter(folder: Path, config: dict[str, object] | None = None, rows: int = 0) -> dict[str, ndarray]:
    """Write an adapter, and return its tensors. `rows` are added to each B, for another model."""
    random = numpy.random.default_rng(1)
    tensors = {}
    for name, height, width in CHANGED.values():
        tensors[f"base_model.model.{name}.lora_A.weight"] = random.standard_normal((RANK, width), "f4")
        tensors[f"base_model.model.{name}.lora_B.weight"] = random.standard_normal((height + rows, RANK), "f4")
    folder.mkdir()
    safetensors.numpy.save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **(config or {})}))
    return tensors


@pytest.mark.parametrize("config, scale", [({}, 2.0), ({"use_rslora": True}, 4.0), ({"lora_alpha": 2}, 0.5)])
def test_weights_have_the_product_added(tmp_path: Path, config: dict[str, object], scale: float) -> None:
    model = tiny("llama")
    source = folder_source(write_folder(model, tmp_path / "model"))
    tensors = write_adapter(tmp_path / "adapter", config)
    merged = MergedSource(source, tmp_path / "adapter")
    for name, weight in model.weights.items():
        wanted = weight.astype("f8")
        if name in CHANGED:
            a, b = (tensors[f"base_model.model.{CHANGED[name][0]}.lora_{each}.weight"] for each in "AB")
            wanted = wanted + scale * b.astype("f8") @ a.astype("f8")
        numpy.testing.assert_allclose(merged.read(name, weight.shape).floats(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_merged_model_has_other_logits(tmp_path: Path) -> None:
    model = tiny("llama")
    folder = write_folder(model, tmp_path / "model")
    tensors = write_adapter(tmp_path / "adapter")
    found = rx.llm.load(folder, adapter=tmp_path / "adapter", cache=False).logits([5, 6, 7])
    weights = dict(model.weights)
    for name, (theirs, _, _) in CHANGED.items():
        a, b = (tensors[f"base_model.model.{theirs}.lora_{each}.weight"] for each in "AB")
        weights[name] = weights[name] + numpy.float32(2) * (b @ a)
    expected = rx.llm.load(write_folder(replace(model, weights=weights), tmp_path / "merged"), cache=False).logits(
        [5, 6, 7]
    )
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    plain = rx.llm.load(folder, cache=False).logits([5, 6, 7])
    assert numpy.abs(found - plain).max() > 0.1


@pytest.mark.parametrize(
    "config, message",
    [
        ({"use_dora": True}, "adapters with use_dora = True are not supported"),
        ({"bias": "all"}, "adapters with bias = all are not supported"),
        ({"peft_type": "IA3"}, "the adapter has the type IA3, expected LORA"),
        ({"r": 0}, "r = 0 and lora_alpha = 8, expected numbers"),
    ],
)
def test_other_adapters_are_refused(tmp_path: Path, config: dict[str, object], message: str) -> None:
    write_adapter(tmp_path / "adapter", config)
    with pytest.raises(rx.RelaxError, match=message):
        read_adapter(tmp_path / "adapter")


def test_adapters_of_other_models_are_refused(tmp_path: Path) -> None:
    folder = write_folder(tiny("llama"), tmp_path / "model")
    write_adapter(tmp_path / "adapter", rows=1)
    with pytest.raises(rx.RelaxError, match=r"has the shape \(64, 64\): the adapter belongs to another model"):
        rx.llm.load(folder, adapter=tmp_path / "adapter", cache=False)
    fused = write_folder(tiny("phi3"), tmp_path / "fused")
    with pytest.raises(rx.RelaxError, match=r"changes 'model.layers.0.self_attn.q_proj.weight', which .* lacks"):
        rx.llm.load(fused, adapter=tmp_path / "adapter", cache=False)


def test_damaged_adapters_are_refused(tmp_path: Path) -> None:
    tensors = write_adapter(tmp_path / "adapter")
    del tensors["base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"]
    safetensors.numpy.save_file(tensors, tmp_path / "adapter" / "adapter_model.safetensors")
    with pytest.raises(rx.RelaxError, match=r"lacks 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight'"):
        read_adapter(tmp_path / "adapter")
    safetensors.numpy.save_file({"other": numpy.zeros(3, "f4")}, tmp_path / "adapter" / "adapter_model.safetensors")
    with pytest.raises(rx.RelaxError, match="'other' is neither an A nor a B"):
        read_adapter(tmp_path / "adapter")
    with pytest.raises(rx.RelaxError, match=r"has no adapter_config.json"):
        read_adapter(tmp_path)


@pytest.mark.slow
def test_models_without_a_place_for_adapters(tmp_path: Path) -> None:
    write_adapter(tmp_path / "adapter")
    file = write_gguf(tiny("llama"), tmp_path / "model.gguf")
    with pytest.raises(rx.RelaxError, match=r"is a GGUF file, and .* an adapter to merge: .* or use `adapters`"):
        rx.llm.load(file, adapter=tmp_path / "adapter", cache=False)
    folder = write_folder(tiny("llama"), tmp_path / "model")
    with pytest.raises(rx.RelaxError, match="none does not exist: pass the folder of an adapter"):
        rx.llm.load(folder, adapter=tmp_path / "none", cache=tmp_path / "cache")
    rx.llm.load(folder, cache=False).save(tmp_path / "saved")
    with pytest.raises(rx.RelaxError, match="is compiled, and has no place for"):
        rx.llm.load(tmp_path / "saved", adapter=tmp_path / "adapter")
    with pytest.raises(rx.RelaxError, match="was compiled with pages of 16 tokens, and not of 8"):
        rx.llm.load(tmp_path / "saved", page_size=8)
