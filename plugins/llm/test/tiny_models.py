# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of two layers with random weights, as files of GGUF and of Hugging Face, with the expected variant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import gguf
import numpy
import safetensors.numpy
from numpy import ndarray
from numpy_decoder import Variant, llama3_frequencies, plain_frequencies, yarn_frequencies
from tiny_tokenizer import TEMPLATE, VOCABULARY, add_tokenizer, tiny_tokenizer

LAYERS, WIDTH, INNER, CONTEXT = 2, 64, 96, 64
HEADS, KV_HEADS, HEAD_SIZE = 4, 2, 16
#: GGUF's name of a weight -> name in safetensors files.
THEIR_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_qkv": "self_attn.qkv_proj",
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate_exps": "mlp.experts.{}.gate_proj",
    "ffn_up_exps": "mlp.experts.{}.up_proj",
    "ffn_down_exps": "mlp.experts.{}.down_proj",
}
#: Architectures with a rope of adjacent pairs in GGUF.
ADJACENT = ("llama", "granite")
EXPERTS, USED_EXPERTS = 5, 2
_MIXTRAL_NAMES = {
    "ffn_gate_inp": "block_sparse_moe.gate",
    "ffn_gate_exps": "block_sparse_moe.experts.{}.w1",
    "ffn_down_exps": "block_sparse_moe.experts.{}.w2",
    "ffn_up_exps": "block_sparse_moe.experts.{}.w3",
}
GEMMA_NAMES = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}


@dataclass(frozen=True)
class Tiny:
    """Tiny model: weights under GGUF's names in the order of Hugging Face, and the entries of both kinds of files."""

    architecture: str
    variant: Variant
    weights: Mapping[str, ndarray]
    #: Entries of config.json, and of GGUF's metadata without the architecture.
    config: Mapping[str, object]
    metadata: Mapping[str, object]
    #: Other entries of GGUF, such as factors of the rope.
    tensors: Mapping[str, ndarray] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


def tiny(architecture: str, seed: int = 0) -> Tiny:
    """Return the tiny model of an architecture."""
    return _MAKERS[architecture](numpy.random.default_rng(seed))


def wide(architecture: str) -> Tiny:
    """Return a model of llama, qwen2 or qwen3 with rows of 256 numbers, as some types of GGUF need. It is for GGUF."""
    width, size, is_tied = 256, 64, architecture == "qwen2"
    weights = _weights(
        numpy.random.default_rng(1), head_size=size, width=width, inner=width, tied=is_tied, bias=is_tied,
        qk_norm=architecture == "qwen3",
    )  # fmt: skip
    sizes = {"embedding_length": width, "feed_forward_length": width, "attention.key_length": size}
    variant = _variant(plain_frequencies(10000.0, size), head_size=size)
    return Tiny(architecture, variant, weights, {}, _metadata(**sizes))


def architectures() -> list[str]:
    return list(_MAKERS)


def _matrix(random: numpy.random.Generator, rows: int, columns: int) -> ndarray:
    return random.standard_normal((rows, columns), "f4") * numpy.float32(columns**-0.5)


def _vector(random: numpy.random.Generator, size: int, middle: float) -> ndarray:
    return (middle + 0.2 * random.standard_normal(size)).astype("f4")


def _weights(
    random: numpy.random.Generator, *, head_size: int = HEAD_SIZE, bias: bool = False, qk_norm: bool = False,
    tied: bool = False, post_norms: bool = False, fused: bool = False, middle: float = 1.0, width: int = WIDTH,
    inner: int = INNER,
) -> dict[str, ndarray]:  # fmt: skip
    rows = {"attn_q": HEADS * head_size, "attn_k": KV_HEADS * head_size, "attn_v": KV_HEADS * head_size}
    if fused:
        rows = {"attn_qkv": sum(rows.values())}
    found = {"token_embd.weight": _matrix(random, VOCABULARY, width) * numpy.float32(width**0.5)}
    found["output_norm.weight"] = _vector(random, width, middle)
    if not tied:
        found["output.weight"] = _matrix(random, VOCABULARY, width)
    for n in range(LAYERS):
        own = {"attn_norm.weight": _vector(random, width, middle), "ffn_norm.weight": _vector(random, width, middle)}
        for name, count in rows.items():
            own[f"{name}.weight"] = _matrix(random, count, width) * numpy.float32(2)
            if bias:
                own[f"{name}.bias"] = _vector(random, count, 0.0)
        own["attn_output.weight"] = _matrix(random, width, HEADS * head_size)
        own["ffn_up.weight"] = _matrix(random, 2 * inner if fused else inner, width)
        if not fused:
            own["ffn_gate.weight"] = _matrix(random, inner, width)
        own["ffn_down.weight"] = _matrix(random, width, inner)
        if qk_norm:
            own.update(
                (f"{name}.weight", _vector(random, head_size, middle)) for name in ("attn_q_norm", "attn_k_norm")
            )
        if post_norms:
            names = ("post_attention_norm", "post_ffw_norm")
            own.update((f"{name}.weight", _vector(random, width, middle)) for name in names)
        found.update((f"blk.{n}.{name}", each) for name, each in own.items())
    return found


def _config(**changes: object) -> dict[str, object]:
    return {
        "num_hidden_layers": LAYERS, "hidden_size": WIDTH, "intermediate_size": INNER, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "max_position_embeddings": CONTEXT, "vocab_size": VOCABULARY,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False, "hidden_act": "silu", **changes,
    }  # fmt: skip


def _metadata(**changes: object) -> dict[str, object]:
    return {
        "block_count": LAYERS, "embedding_length": WIDTH, "feed_forward_length": INNER, "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS, "context_length": CONTEXT, "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 10000.0, **changes,
    }  # fmt: skip


def _variant(*frequencies: ndarray, **changes: object) -> Variant:
    ropes = frequencies * LAYERS if len(frequencies) == 1 else frequencies
    return replace(Variant(LAYERS, HEADS, KV_HEADS, HEAD_SIZE, ropes), **changes)  # type: ignore[arg-type]


def _llama(random: numpy.random.Generator) -> Tiny:
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    frequencies = llama3_frequencies(10000.0, HEAD_SIZE, 8.0, 1.0, 4.0, 32)
    config = _config(rope_scaling={**scaling, "original_max_position_embeddings": 32})
    # GGUF's files have the factors that the converter has computed.
    factors = (plain_frequencies(10000.0, HEAD_SIZE) / frequencies).astype("f4")
    tensors = {"rope_freqs.weight": factors}
    metadata = _metadata(**{"rope.dimension_count": HEAD_SIZE})
    return Tiny("llama", _variant(frequencies), _weights(random), config, metadata, tensors)


def _mistral(random: numpy.random.Generator) -> Tiny:
    variant = _variant(plain_frequencies(10000.0, 32), head_size=32, windows=(5, 5))
    config = _config(head_dim=32, sliding_window=5)
    return Tiny("mistral", variant, _weights(random, head_size=32), config, {})


def _qwen2(random: numpy.random.Generator) -> Tiny:
    frequencies, magnitude = yarn_frequencies(1e6, HEAD_SIZE, 4.0, 16)
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    config = _config(rope_theta=1e6, rope_scaling=scaling, tie_word_embeddings=True, use_sliding_window=False,
                     sliding_window=4)  # fmt: skip
    metadata = _metadata(**{
        "rope.freq_base": 1e6, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": 16,
    })  # fmt: skip
    variant = _variant(frequencies, magnitude=magnitude)
    return Tiny("qwen2", variant, _weights(random, bias=True, tied=True), config, metadata)


def _qwen3(random: numpy.random.Generator) -> Tiny:
    variant = _variant(plain_frequencies(1e6, 32), head_size=32)
    config = _config(head_dim=32, rope_parameters={"rope_theta": 1e6, "rope_type": "default"})
    metadata = _metadata(**{"rope.freq_base": 1e6, "attention.key_length": 32, "attention.value_length": 32})
    return Tiny("qwen3", variant, _weights(random, head_size=32, qk_norm=True), config, metadata)


def _with_experts(weights: Mapping[str, ndarray], random: numpy.random.Generator, inner: int) -> dict[str, ndarray]:
    """Return weights with experts instead of the feed-forward blocks."""
    found = {name: each for name, each in weights.items() if ".ffn_" not in name or "norm" in name}
    for n in range(LAYERS):
        found[f"blk.{n}.ffn_gate_inp.weight"] = _matrix(random, EXPERTS, WIDTH)
        for part, rows, columns in (("gate", inner, WIDTH), ("up", inner, WIDTH), ("down", WIDTH, inner)):
            matrices = [_matrix(random, rows, columns) for _ in range(EXPERTS)]
            found[f"blk.{n}.ffn_{part}_exps.weight"] = numpy.stack(matrices)
    return found


def _mixtral(random: numpy.random.Generator) -> Tiny:
    variant = _variant(plain_frequencies(10000.0, HEAD_SIZE), used_experts=USED_EXPERTS)
    weights = _with_experts(_weights(random), random, INNER)
    config = _config(num_local_experts=EXPERTS, num_experts_per_tok=USED_EXPERTS, sliding_window=None)
    return Tiny("mixtral", variant, weights, config, {}, names=_MIXTRAL_NAMES)


def mixtral_as_llama() -> Tiny:
    """Return the tiny Mixtral as GGUF has it, a llama."""
    metadata = _metadata(**{"expert_count": EXPERTS, "expert_used_count": USED_EXPERTS})
    return replace(tiny("mixtral"), architecture="llama", metadata=metadata)


def _qwen3_moe(random: numpy.random.Generator) -> Tiny:
    base = _qwen3(random)
    config = {**base.config, "num_experts": EXPERTS, "num_experts_per_tok": USED_EXPERTS, "moe_intermediate_size": 32}
    # The second layer has a feed-forward block without experts.
    config.update(norm_topk_prob=False, decoder_sparse_step=1, mlp_only_layers=[1])
    weights = {name: each for name, each in _with_experts(base.weights, random, 32).items() if "blk.1.ffn_" not in name}
    weights.update((name, each) for name, each in base.weights.items() if "blk.1.ffn_" in name)
    variant = replace(base.variant, used_experts=USED_EXPERTS, normalizes_experts=False)
    return Tiny("qwen3_moe", variant, weights, config, {})


def _qwen3moe(random: numpy.random.Generator) -> Tiny:
    base = _qwen3(random)
    metadata = {**base.metadata, "expert_count": EXPERTS, "expert_used_count": USED_EXPERTS}
    variant = replace(base.variant, used_experts=USED_EXPERTS)
    metadata["expert_feed_forward_length"] = 32
    return Tiny("qwen3moe", variant, _with_experts(base.weights, random, 32), {}, metadata)


def _gpt_oss(random: numpy.random.Generator) -> Tiny:
    frequencies, magnitude = yarn_frequencies(150000.0, HEAD_SIZE, 4.0, 16, truncates=False)
    variant = _variant(frequencies, magnitude=magnitude, windows=(6, None), used_experts=USED_EXPERTS, expert_limit=7.0)
    weights = {name: each for name, each in _weights(random, bias=True).items() if "ffn_norm" not in name}
    weights = _with_experts(weights, random, 32)
    for n in range(LAYERS):
        sizes = {"attn_output": (WIDTH,), "ffn_gate_inp": (EXPERTS,), "ffn_gate_exps": (EXPERTS, 32)}
        sizes |= {"ffn_up_exps": (EXPERTS, 32), "ffn_down_exps": (EXPERTS, WIDTH)}
        biases = {f"blk.{n}.{name}.bias": random.standard_normal(shape).astype("f4") for name, shape in sizes.items()}
        weights |= biases
        weights[f"blk.{n}.attn_sinks.weight"] = _vector(random, HEADS, 0.5)
        weights[f"blk.{n}.post_attention_norm.weight"] = _vector(random, WIDTH, 1.0)
    metadata = _metadata(**{
        "rope.freq_base": 150000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": 16, "attention.sliding_window": 6, "attention.key_length": HEAD_SIZE,
        "expert_count": EXPERTS, "expert_used_count": USED_EXPERTS, "expert_feed_forward_length": 32,
    })  # fmt: skip
    return Tiny("gpt-oss", variant, weights, {}, metadata)


def _gemma1(random: numpy.random.Generator) -> Tiny:
    variant = _gemma(plain_frequencies(10000.0, 32), head_size=32)
    config = _gemma_config(head_dim=32, hidden_act="gelu")
    del config["hidden_activation"]
    metadata = _metadata(**{"attention.key_length": 32, "attention.value_length": 32})
    return Tiny("gemma", variant, _weights(random, head_size=32, tied=True, middle=0.0), config, metadata)


def _granite(random: numpy.random.Generator) -> Tiny:
    variant = _variant(plain_frequencies(10000.0, HEAD_SIZE), embedding_scale=12.0, scale=0.1, residual_scale=0.22,
                       logit_divisor=8.0)  # fmt: skip
    config = _config(embedding_multiplier=12.0, attention_multiplier=0.1, residual_multiplier=0.22, logits_scaling=8.0)
    metadata = _metadata(**{
        "embedding_scale": 12.0, "attention.scale": 0.1, "residual_scale": 0.22, "logit_scale": 8.0,
        "rope.dimension_count": HEAD_SIZE,
    })  # fmt: skip
    return Tiny("granite", variant, _weights(random), config, metadata)


def _olmo2(random: numpy.random.Generator) -> Tiny:
    weights = _weights(random, post_norms=True, qk_norm=True)
    for name in list(weights):
        if name.endswith((".attn_norm.weight", ".ffn_norm.weight")):
            del weights[name]
        elif name.endswith(("q_norm.weight", "k_norm.weight")):
            heads = HEADS if "q_norm" in name else KV_HEADS
            weights[name] = _vector(random, heads * HEAD_SIZE, 1.0)
    return Tiny("olmo2", _variant(plain_frequencies(10000.0, HEAD_SIZE)), weights, _config(), _metadata(),
                names=GEMMA_NAMES)  # fmt: skip


def _with_layer_norms(weights: Mapping[str, ndarray], random: numpy.random.Generator) -> dict[str, ndarray]:
    """Return weights without gates, and with a bias of each norm and matrix of a layer."""
    kept = {name: each for name, each in weights.items() if "ffn_gate" not in name}
    biased = [name for name in kept if name.startswith("blk.") or name.startswith("output_norm")]
    return {**kept, **{name.replace(".weight", ".bias"): _vector(random, len(kept[name]), 0.0) for name in biased}}


def _starcoder2(random: numpy.random.Generator) -> Tiny:
    variant = _variant(plain_frequencies(10000.0, HEAD_SIZE), windows=(9, 9), activation="gelu_tanh")
    config = _config(hidden_act="gelu_pytorch_tanh", norm_epsilon=1e-5, sliding_window=9, tie_word_embeddings=True)
    metadata = _metadata(**{"attention.layer_norm_epsilon": 1e-5, "attention.sliding_window": 9})
    names = {"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
    return Tiny("starcoder2", variant, _with_layer_norms(_weights(random, tied=True), random), config, metadata,
                names=names)  # fmt: skip


def _phi1(random: numpy.random.Generator) -> Tiny:
    return replace(_phi2(random), architecture="phi", metadata={})


def _phi2(random: numpy.random.Generator) -> Tiny:
    variant = _variant(plain_frequencies(10000.0, 8), activation="gelu_tanh", is_parallel=True)
    weights = _with_layer_norms(_weights(random), random)
    weights = {name: each for name, each in weights.items() if "ffn_norm" not in name}
    weights["output.bias"] = _vector(random, VOCABULARY, 0.0)
    config = _config(hidden_act="gelu_new", layer_norm_eps=1e-5)
    metadata = _metadata(**{"attention.layer_norm_epsilon": 1e-5, "rope.dimension_count": 8})
    names = {"attn_output": "self_attn.dense", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2",
             "output_norm": "model.final_layernorm"}  # fmt: skip
    return Tiny("phi2", variant, weights, {**config, "partial_rotary_factor": 0.5}, metadata, names=names)


def _gemma2(random: numpy.random.Generator) -> Tiny:
    variant = _gemma(plain_frequencies(10000.0, HEAD_SIZE), windows=(6, None), score_cap=5.0, logit_cap=3.0)
    config = _gemma_config(attn_logit_softcapping=5.0, final_logit_softcapping=3.0, sliding_window=6)
    metadata = _metadata(**{
        "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0, "attention.sliding_window": 6,
        "attention.key_length": HEAD_SIZE,
    })  # fmt: skip
    weights = _weights(random, tied=True, post_norms=True, middle=0.0)
    return Tiny("gemma2", variant, weights, config, metadata, names=GEMMA_NAMES)


def _gemma3(random: numpy.random.Generator) -> Tiny:
    variant = _gemma(plain_frequencies(10000.0, HEAD_SIZE), plain_frequencies(1e6, HEAD_SIZE) / 8, windows=(6, None))
    kinds = ["sliding_attention", "full_attention"]
    config = _gemma_config(layer_types=kinds, sliding_window=6, rope_theta=1e6, rope_local_base_freq=10000.0,
                           rope_scaling={"rope_type": "linear", "factor": 8.0})  # fmt: skip
    metadata = _metadata(**{
        "attention.sliding_window": 6, "attention.sliding_window_pattern": 2, "attention.key_length": HEAD_SIZE,
        "rope.freq_base": 1e6, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0,
    })  # fmt: skip
    weights = _weights(random, tied=True, post_norms=True, qk_norm=True, middle=0.0)
    return Tiny("gemma3", variant, weights, config, metadata, names=GEMMA_NAMES)


def _gemma(*frequencies: ndarray, **changes: object) -> Variant:
    common = {"embedding_scale": WIDTH**0.5, "norm_offset": 1.0, "activation": "gelu_tanh"}
    return _variant(*frequencies, **{**common, **changes})


def _gemma_config(**changes: object) -> dict[str, object]:
    config = _config(head_dim=HEAD_SIZE, query_pre_attn_scalar=HEAD_SIZE, hidden_activation="gelu_pytorch_tanh")
    del config["tie_word_embeddings"]  # config.json has it only where it differs from the architecture's default
    return {**config, **changes}


def _phi3(random: numpy.random.Generator) -> Tiny:
    turned = HEAD_SIZE // 2
    long = numpy.linspace(1.0, 3.0, turned // 2, dtype="f4")
    # The context is twice the original one.
    magnitude = (1 + numpy.log(2.0) / numpy.log(CONTEXT / 2)) ** 0.5
    variant = _variant(plain_frequencies(10000.0, turned) / long, magnitude=magnitude, windows=(7, 7))
    scaling = {"type": "longrope", "long_factor": long.tolist(), "short_factor": [1.0] * (turned // 2)}
    config = _config(rope_scaling=scaling, partial_rotary_factor=0.5, original_max_position_embeddings=CONTEXT // 2,
                     sliding_window=7)  # fmt: skip
    metadata = _metadata(**{
        "rope.dimension_count": turned, "rope.scaling.original_context_length": CONTEXT // 2,
        "attention.sliding_window": 7, "rope.scaling.attn_factor": float(magnitude),
    })  # fmt: skip
    tensors = {"rope_factors_long.weight": long, "rope_factors_short.weight": numpy.ones(turned // 2, "f4")}
    names = {"ffn_up": "mlp.gate_up_proj"}
    return Tiny("phi3", variant, _weights(random, fused=True), config, metadata, tensors, names)


_MAKERS = {
    "llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "gemma2": _gemma2, "gemma3": _gemma3,
    "phi3": _phi3, "gemma": _gemma1, "granite": _granite, "olmo2": _olmo2,
    "mixtral": _mixtral, "qwen3_moe": _qwen3_moe, "qwen3moe": _qwen3moe, "gpt-oss": _gpt_oss,
    "phi": _phi1, "phi2": _phi2, "starcoder2": _starcoder2,
}  # fmt: skip


def write_folder(model: Tiny, folder: Path, *, shards: int = 1) -> Path:
    """Write a folder of Hugging Face."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": model.architecture, **model.config}))
    tensors = {their_name(model, name): each for name, each in _apart(model.weights).items()}
    if shards == 1:
        safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    else:
        table = {name: f"model-{number % shards}.safetensors" for number, name in enumerate(tensors)}
        for file in set(table.values()):
            part = {name: tensors[name] for name, where in table.items() if where == file}
            safetensors.numpy.save_file(part, folder / file)
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    backend, tokens = tiny_tokenizer()
    backend.save(str(folder / "tokenizer.json"))
    settings = {"bos_token": tokens[0], "eos_token": tokens[1], "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def their_name(model: Tiny, name: str) -> str:
    """Return the name of a weight in safetensors files."""
    head, _, kind = name.rpartition(".")
    names = {**THEIR_NAMES, **model.names}
    if not head.startswith("blk."):
        return f"{names[head]}.{kind}"
    _, number, head, *expert = head.split(".")
    return f"model.layers.{number}.{names[head].format(*expert)}.{kind}"


def _apart(weights: Mapping[str, ndarray]) -> dict[str, ndarray]:
    """Return weights with a matrix of each expert, as safetensors files have them."""
    found = {name: each for name, each in weights.items() if each.ndim < 3}
    for name, each in weights.items():
        if each.ndim == 3:
            before = name.removesuffix("weight")
            found.update((f"{before}{number}.weight", matrix) for number, matrix in enumerate(each))
    return found


def write_gguf(
    model: Tiny, path: Path, type_: str = "F32", *, types: Mapping[str, str] | None = None, part_tensors: int = 0
) -> Path:
    """Write a GGUF file. Matrices have one type, or the type of their name's part in `types`. Vectors are F32.

    With `part_tensors`, write parts of so many tensors, and return the path of the first one.
    """
    writer = gguf.GGUFWriter(path, model.architecture, split_max_tensors=part_tensors)
    for name, value in model.metadata.items():
        key = f"{model.architecture}.{name}"
        add = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}[type(value)]
        add(key, value)
    add_tokenizer(writer)
    for name, each in {**gguf_weights(model), **model.tensors}.items():
        own = (types or {}).get(name.split(".")[-2], type_)
        kind = gguf.GGMLQuantizationType[own if each.ndim > 1 else "F32"]
        data = _random_blocks(kind, each) if kind.name in _SCALES else gguf.quantize(each, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return min(path.parent.glob(f"{path.stem}-00001-of-*.gguf")) if part_tensors else path


def gguf_weights(model: Tiny) -> dict[str, ndarray]:
    """Return weights as llama.cpp's converter changes them."""
    found = dict(model.weights)
    for name, each in found.items():
        part = name.split(".")[-2]
        if model.architecture in ADJACENT and part in ("attn_q", "attn_k"):
            found[name] = _permuted(each, HEADS if part == "attn_q" else KV_HEADS)
        if model.architecture.startswith("gemma") and part.endswith("norm"):
            found[name] = each + numpy.float32(1)
    return found


def _permuted(weight: ndarray, heads: int) -> ndarray:
    """Return rows in the order of a rope of adjacent pairs, as convert_hf_to_gguf.py has them."""
    size = weight.shape[0] // heads
    return weight.reshape(heads, 2, size // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


#: Types that the package gguf cannot write -> places of the f16 numbers in a block, with sizes of these.
_SCALES = {
    "Q2_K": {80: 4e-3, 82: 6e-3}, "Q3_K": {108: 1e-3}, "Q4_K": {0: 1e-3, 2: 7e-3}, "Q5_K": {0: 5e-4, 2: 7e-3},
    "Q6_K": {208: 5e-5}, "IQ4_NL": {0: 1e-3}, "IQ4_XS": {0: 6e-5},
}  # fmt: skip


def _random_blocks(kind: gguf.GGMLQuantizationType, weight: ndarray) -> ndarray:
    """Return random blocks of a type that the package gguf cannot write. Scales are small f16 numbers."""
    numbers, nbytes = gguf.GGML_QUANT_SIZES[kind]
    random = numpy.random.default_rng(weight.size)
    blocks = random.integers(0, 256, (*weight.shape[:-1], weight.shape[-1] // numbers, nbytes), "u1")
    scales = random.uniform(0.5, 1.0, blocks.shape[:-1]).astype("f4")
    for place, scale in _SCALES[kind.name].items():
        blocks[..., place : place + 2] = (scales * scale).astype("f2")[..., None].view("u1")
    return blocks.reshape(*weight.shape[:-1], -1)
