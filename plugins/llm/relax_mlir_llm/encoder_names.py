# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of encoders' weights of Hugging Face, in one form for BERT and for both forms of Nomic BERT."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from .weights import Weight

ENCODERS = ("bert", "nomic_bert")
#: Part of a name in the files -> part of the name here. Each name has one of them at most.
_PARTS = {
    # BERT
    "attention.self.query": "self_attn.q_proj",
    "attention.self.key": "self_attn.k_proj",
    "attention.self.value": "self_attn.v_proj",
    "attention.output.dense": "self_attn.o_proj",
    "attention.output.LayerNorm": "post_attention_layernorm",
    "intermediate.dense": "mlp.up_proj",
    "output.dense": "mlp.down_proj",
    "output.LayerNorm": "post_mlp_layernorm",
    # Nomic BERT
    "attn.Wqkv": "self_attn.qkv_proj",
    "attn.out_proj": "self_attn.o_proj",
    "mlp.fc11": "mlp.up_proj",
    "mlp.fc12": "mlp.gate_proj",
    "mlp.fc2": "mlp.down_proj",
    "norm1": "post_attention_layernorm",
    "norm2": "post_mlp_layernorm",
}
_OTHERS = {
    "embeddings.word_embeddings": "embed_tokens",
    "embeddings.LayerNorm": "embedding_norm",
    "emb_ln": "embedding_norm",
    "embeddings.position_embeddings": "position_embeddings",
    "embeddings.token_type_embeddings": "token_type_embeddings",
}
_NAME = re.compile(r"(?:bert\.|nomic_bert\.)?(?:(?:encoder\.)?layers?\.(\d+)\.)?(.+)\.(\w+)")
#: Older files name the weight and the bias of a norm so.
_OLD_KINDS = {"gamma": "weight", "beta": "bias"}


def with_encoder_names(tensors: Mapping[str, Weight]) -> dict[str, Weight]:
    """Return weights under names such as `model.layers.0.self_attn.q_proj.weight`."""
    return {name: replace(weight, name=name) for theirs, weight in tensors.items() if (name := _rename_weight(theirs))}


def _rename_weight(name: str) -> str:
    if (match := _NAME.fullmatch(name)) is None:
        return name
    number, part, kind = match.groups()
    kind = _OLD_KINDS.get(kind, kind)
    if number is None:
        return f"model.{_OTHERS.get(part, part)}.{kind}"
    return f"model.layers.{number}.{_PARTS.get(part, part)}.{kind}"
