# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama of a GGUF file as a folder of safetensors, which vLLM reads: its weights in bf16."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import ml_dtypes
import numpy
from accuracy import variant_of
from safetensors.numpy import save_file

import relax_mlir as rx

__all__ = ["write_folder"]

_OUTSIDE = {"token_embd": "embed_tokens", "output_norm": "norm"}
_IN_LAYERS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write_folder(path: Path, folder: Path) -> None:
    """Write config.json, the tokenizer and the weights of a Llama with tied embeddings."""
    reader = gguf.GGUFReader(path)
    variant = variant_of(reader)
    weights = {}
    for each in reader.tensors:
        name, kind = _renamed(each.name)
        values = gguf.dequantize(each.data, each.tensor_type).astype("float32")
        if kind in ("attn_q", "attn_k"):
            values = _in_halves(values, variant.heads if kind == "attn_q" else variant.kv_heads)
        weights[name] = numpy.ascontiguousarray(values.astype(ml_dtypes.bfloat16))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    embedding = weights["model.embed_tokens.weight"].shape
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "vocab_size": embedding[0],
        "hidden_size": embedding[1],
        "intermediate_size": weights["model.layers.0.mlp.up_proj.weight"].shape[0],
        "num_hidden_layers": variant.layers,
        "num_attention_heads": variant.heads,
        "num_key_value_heads": variant.kv_heads,
        "max_position_embeddings": int(reader.fields["llama.context_length"].contents()),
        "rms_norm_eps": variant.epsilon,
        "rope_theta": float(reader.fields["llama.rope.freq_base"].contents()),
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "eos_token_id": int(reader.fields["tokenizer.ggml.eos_token_id"].contents()),
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}', encoding="utf-8")
    rx.llm.load(path, context=1024).tokenizer.save(folder)


def _renamed(name: str) -> tuple[str, str]:
    """Return the name of a tensor in transformers, and its kind."""
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{_IN_LAYERS[parts[2]]}.weight", parts[2]
    return f"model.{_OUTSIDE[parts[0]]}.weight", parts[0]


def _in_halves(values: numpy.ndarray, heads: int) -> numpy.ndarray:
    """Return the rows of a projection in transformers' order: GGUF has rotated pairs side by side."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)
