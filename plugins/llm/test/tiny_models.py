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
import tokenizers
from numpy import ndarray
from numpy_decoder import Variant, llama3_frequencies, plain_frequencies, yarn_frequencies

LAYERS, WIDTH, INNER, VOCABULARY, CONTEXT = 2, 64, 96, 300, 64
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
    "phi3": _phi3,
}  # fmt: skip


def write_folder(model: Tiny, folder: Path, *, shards: int = 1) -> Path:
    """Write a folder of Hugging Face."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": model.architecture, **model.config}))
    tensors = {their_name(model, name): each for name, each in model.weights.items()}
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
    _, number, head = head.split(".")
    return f"model.layers.{number}.{names[head]}.{kind}"


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
    _add_tokenizer(writer)
    for name, each in {**gguf_weights(model), **model.tensors}.items():
        own = (types or {}).get(name.split(".")[-2], type_)
        kind = gguf.GGMLQuantizationType[own if each.ndim == 2 else "F32"]
        data = _random_blocks(kind, each) if own in ("Q4_K", "Q6_K") and each.ndim == 2 else gguf.quantize(each, kind)
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
        if model.architecture == "llama" and part in ("attn_q", "attn_k"):
            found[name] = _permuted(each, HEADS if part == "attn_q" else KV_HEADS)
        if model.architecture.startswith("gemma") and part.endswith("norm"):
            found[name] = each + numpy.float32(1)
    return found


def _permuted(weight: ndarray, heads: int) -> ndarray:
    """Return rows in the order of a rope of adjacent pairs, as convert_hf_to_gguf.py has them."""
    size = weight.shape[0] // heads
    return weight.reshape(heads, 2, size // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def _random_blocks(kind: gguf.GGMLQuantizationType, weight: ndarray) -> ndarray:
    """Return random blocks of a type that the package gguf cannot write. Scales are small f16 numbers."""
    numbers, nbytes = gguf.GGML_QUANT_SIZES[kind]
    random = numpy.random.default_rng(weight.size)
    blocks = random.integers(0, 256, (weight.shape[0], weight.shape[1] // numbers, nbytes), "u1")
    scales = random.uniform(0.5, 1.0, blocks.shape[:2]).astype("f4")
    if kind.name == "Q4_K":  # 6-bit scales and offsets of 4-bit codes
        pair = numpy.stack([scales * 1e-3, scales * 7e-3], -1).astype("f2")
        blocks[..., :4] = pair.view("u1")
    else:
        blocks[..., -2:] = (scales * 5e-5).astype("f2")[..., None].view("u1")
    return blocks.reshape(weight.shape[0], -1)


#: Template of tiny models.
TEMPLATE = (
    "{% for m in messages %}{% if m.role not in ['system', 'user', 'assistant'] %}{{ raise_exception('no ' + m.role) }}"
    "{% endif %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SPECIAL = ("<s>", "</s>")
_MERGES = (("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("\u0120", "w"), ("o", "r"), ("\u0120w", "or"))


def tiny_vocabulary() -> list[str]:
    """Return special tokens, the 256 bytes as GPT-2 writes them, results of merges, and tokens without a use."""
    plain = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    found = [*_SPECIAL, *sorted(plain), *("".join(each) for each in _MERGES)]
    return [*found, *(f"<unused{number}>" for number in range(VOCABULARY - len(found)))]


def tiny_tokenizer() -> tuple[tokenizers.Tokenizer, list[str]]:
    tokens = tiny_vocabulary()
    numbered = {text: number for number, text in enumerate(tokens)}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(numbered, list(_MERGES)))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(list(_SPECIAL))
    return backend, tokens


def _add_tokenizer(writer: gguf.GGUFWriter) -> None:
    tokens = tiny_vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if each in _SPECIAL else 1 for each in tokens])
    writer.add_token_merges([" ".join(each) for each in _MERGES])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
