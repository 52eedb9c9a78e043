# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of a GGUF file's metadata against its tensors, before anything is built from either."""

from __future__ import annotations

import re
from collections.abc import Sequence

import relax_mlir as rx

from .gguf_source import GgufSource

_BLOCK = re.compile(r"blk\.(\d+)\.")
#: Tokens that the tokenizer or the server uses.
_TOKENS = (
    *("bos", "eos", "eot", "eom", "unknown"),
    *("fim_pre", "fim_suf", "fim_mid", "prefix", "suffix", "middle", "cls", "seperator", "mask"),
)
#: Architectures in which a rope may turn a part of a head.
_PARTIAL_ROPE = ("phi2", "phi3")
_ROUTER = re.compile(r"blk\.\d+\.ffn_gate_inp\.weight")
#: Architectures that may have experts. Mixtral is a llama.
_WITH_EXPERTS = ("llama", "qwen3moe", "gpt-oss")
#: Other settings of experts, with the supported values.
_USUAL_EXPERTS = {
    "expert_shared_count": (0,),
    "expert_weights_scale": (0, 1),
    "expert_gating_func": (0, 1),
    "expert_group_count": (0, 1),
    "interleave_moe_layer_step": (0, 1),
}
#: Types of tokens in the metadata: undefined, normal, unknown, control, user-defined, unused and byte.
_TOKEN_TYPES = range(7)
#: Tensors that depend on options, or that converters add without a use.
_OPTIONAL = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
_OPTIONAL_OF_LAYER = re.compile(r"blk\.\d+\.(rope_freqs|attn_rot_embd|rope_factors_(long|short))\.weight")


def check_metadata(source: GgufSource) -> None:
    """Raise ModelError for metadata that the tensors contradict, and RefusalError for experts."""
    facts = source.facts
    if facts.number("experts", 0):
        _check_experts(source)
    _check_layers(source)
    _check_heads(source)
    _check_vocabulary(source)


def _check_experts(source: GgufSource) -> None:
    """Raise RefusalError for other mixtures of experts than the ones of Mixtral and Qwen 3."""
    facts = source.facts
    if facts.architecture not in _WITH_EXPERTS:
        raise rx.RefusalError(
            f"{source.path}: the model has {facts.values['expert_count']} experts, which are not supported for the "
            f"architecture '{facts.architecture}' (supported: {', '.join(_WITH_EXPERTS)})"
        )
    if not any(_ROUTER.fullmatch(name) for name in source.names):
        raise facts.error("experts", f"is {facts.values['expert_count']}, and no layer has a router of experts")
    gating = {"expert_gating_func": (0, 1, 3)} if facts.architecture == "gpt-oss" else {}  # 3: softmax of the used ones
    for name, usual in {**_USUAL_EXPERTS, **gating}.items():
        if (value := facts.values.get(name, usual[0])) not in usual:
            raise rx.RefusalError(f"{source.path}: '{facts.architecture}.{name}' is {value!r}, which is not supported")


def _check_layers(source: GgufSource) -> None:
    """Check that the tensors have as many layers as the metadata state: memory is taken by this number."""
    stated = source.facts.count("layers")
    found = {int(each[1]) for each in map(_BLOCK.match, source.names) if each is not None}
    if len(found) != stated or max(found) != stated - 1:
        known = f"{len(found)} layers, the last one blk.{max(found)}" if found else "no layers"
        raise source.facts.error("layers", f"is {stated}, and the file has tensors of {known}")


def _check_heads(source: GgufSource) -> None:
    """Check the sizes of heads, and the numbers that frequencies are computed from."""
    facts = source.facts
    heads, width = facts.count("heads"), facts.count("width")
    if facts.values.get(facts.key("head_size")) is None and width % heads:
        raise facts.error("heads", f"is {heads}, which does not divide the width, {width}")
    size = facts.count("head_size", width // heads or 1)
    if (values := facts.count("attention.value_length", size)) != size:
        raise facts.error("attention.value_length", f"is {values}, expected {size}, the size of a key")
    turned = facts.count("rope.dimension_count", size)
    if facts.architecture not in _PARTIAL_ROPE and turned != size:
        raise facts.error("rope.dimension_count", f"is {turned}, expected {size}, the size of a head")


def _check_vocabulary(source: GgufSource) -> None:
    """Check that each token of the tokenizer has a row of the embedding, and that special tokens exist."""
    shape = source.shape("token_embd.weight")
    rows = shape[0] if shape else 0
    stated = source.facts.count("vocabulary", rows or 1)
    if not isinstance(tokens := source.metadata("tokenizer.ggml.tokens"), list) or not rows:
        return  # the tokenizer and the decoder name the missing entry
    if max(stated, len(tokens)) > rows:
        raise source.facts.error(
            "vocabulary", f"is {stated}, the tokenizer has {len(tokens)} tokens, and the embedding only {rows} rows"
        )
    for name in _TOKENS:
        key = f"tokenizer.ggml.{name}_token_id"
        token = source.metadata(key)
        if token is not None and (type(token) is not int or not 0 <= token < len(tokens)):
            raise rx.ModelError(
                f"{source.path}: '{key}' in the metadata is {token!r}, expected one of {len(tokens)} tokens"
            )
    _check_lists(source, tokens)


def _check_lists(source: GgufSource, tokens: Sequence[str]) -> None:
    """Check the lists with an entry for each token."""
    for name in ("token_type", "scores"):
        key = f"tokenizer.ggml.{name}"
        found = source.metadata(key)
        if found is not None and (not isinstance(found, list) or len(found) != len(tokens)):
            shown = f"{len(found)} entries" if isinstance(found, list) else repr(found)
            raise rx.ModelError(
                f"{source.path}: '{key}' in the metadata has {shown}, expected one for each of {len(tokens)} tokens"
            )
        if name == "token_type" and isinstance(found, list) and not set(found) <= set(_TOKEN_TYPES):
            wrong = next(each for each in found if each not in _TOKEN_TYPES)
            raise rx.ModelError(f"{source.path}: '{key}' in the metadata has the type {wrong!r}, expected 0 to 6")


def check_all_read(source: GgufSource) -> None:
    """Raise ModelError if the model has tensors that the architecture does not use, such as biases."""
    unread = [name for name in source.unread if name not in _OPTIONAL and not _OPTIONAL_OF_LAYER.fullmatch(name)]
    if unread:
        raise rx.ModelError(
            f"{source.path}: the architecture '{source.facts.architecture}' has no use for {len(unread)} tensors of "
            f"the file, such as '{unread[0]}': the file is damaged, or the model is a variant that is not supported"
        )
