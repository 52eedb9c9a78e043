# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration of a decoder, from the facts in a model's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import relax_mlir as rx

from .facts import Facts
from .load_options import check_context
from .rope import Rope, Scaling, make_rope
from .weights import Source

#: Names of details in config.json, and in GGUF's metadata.
_DETAILS = {"beta_fast": "rope.scaling.yarn_beta_fast", "beta_slow": "rope.scaling.yarn_beta_slow"}
#: Limit of a context, far above existing models: numbers in damaged files are larger.
_MOST_POSITIONS = 1 << 24


@dataclass(frozen=True)
class Config:
    """Sizes and variants of a decoder. Architectures differ in the defaults."""

    layers: int
    width: int
    #: Width of the hidden layer between the projections of a feed-forward block.
    inner: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    context: int
    epsilon: float
    rope: Rope
    #: Window of each layer in tokens, the token itself included; None: the whole context.
    windows: tuple[int | None, ...]
    attention_scale: float
    #: Head and embedding share one matrix.
    is_tied: bool
    #: Tokens see the whole text, and there are no logits.
    is_encoder: bool = False
    #: Queries and keys are turned by their positions. Other models have a vector for each position.
    has_rope: bool = True
    #: Rope of layers with a window, if another one.
    local_rope: Rope | None = None
    activation: str = "silu"
    embedding_scale: float = 1.0
    #: Factor of the results of attention and feed-forward blocks.
    residual_scale: float = 1.0
    #: Number that is added to the weights of norms.
    norm_offset: float = 0.0
    attention_softcap: float | None = None
    logit_divisor: float = 1.0
    logit_softcap: float | None = None
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_mlp_bias: bool = False
    has_head_bias: bool = False
    #: Feed-forward blocks multiply by a gate.
    has_gate: bool = True
    #: Norms subtract the mean, and add a bias.
    has_layer_norm: bool = False
    has_qk_norm: bool = False
    #: All heads of queries, and all of keys, have one norm.
    has_wide_qk_norm: bool = False
    #: Experts of a layer, experts of a token, and width of an expert's hidden layer. 0: no experts.
    experts: int = 0
    used_experts: int = 0
    expert_inner: int = 0
    #: The factors of a token's experts have the sum 1.
    has_normalized_experts: bool = False
    #: The router and the experts have biases.
    has_expert_bias: bool = False
    #: Bound of the experts' gates, which then are gate * sigmoid(steepness * gate) * (up + 1). None: no bound.
    expert_limit: float | None = None
    expert_steepness: float = 1.0
    #: Each head has a further score without a value.
    has_sinks: bool = False
    #: Rows of queries and keys are in the order of a rope with adjacent pairs, as in GGUF's files of llama.
    is_interleaved: bool = False

    def window_of(self, layer: int) -> int | None:
        return self.windows[layer]

    def rope_of(self, layer: int) -> Rope:
        """Return the rope of a layer."""
        is_local = self.local_rope is not None and self.windows[layer] is not None
        return self.local_rope if is_local and self.local_rope is not None else self.rope


def read_config(source: Source, context: int | None, *, is_encoder: bool = False) -> Config:
    """Return the configuration of a decoder without the variants of its architecture.

    context: positions of the longest sequence; None for all that the model was trained for.
    """
    facts = source.facts
    if not is_encoder:
        _check_causal(facts)
    heads, width = facts.count("heads"), facts.count("width")
    head_size = facts.count("head_size", width // heads or 1)
    kv_heads = facts.count("kv_heads", heads)
    if heads % kv_heads:
        raise facts.error("kv_heads", f"is {kv_heads}, which does not divide the number of heads, {heads}")
    layers, positions = facts.count("layers"), context_of(facts, context)
    return Config(
        layers=layers,
        width=width,
        inner=facts.count("inner"),
        heads=heads,
        kv_heads=kv_heads,
        head_size=head_size,
        vocabulary=_vocabulary(source),
        context=positions,
        epsilon=facts.positive("epsilon", 1e-6, 1.0),
        rope=read_rope(source, head_size, positions),
        windows=(None,) * layers,
        attention_scale=head_size**-0.5,
        is_tied=facts.flag("tie_word_embeddings", source.shape("output.weight") is None),
    )


def with_experts(config: Config, source: Source, *, is_normalized: bool) -> Config:
    """Return the configuration of a decoder with experts, or the same one for a file without them."""
    facts = source.facts
    if not (experts := int(facts.number("experts", facts.number("num_local_experts", 0)))):
        return config
    if (used := facts.count("used_experts")) > experts:
        raise facts.error("used_experts", f"is {used}, expected at most {experts}, the number of experts")
    return replace(
        config,
        experts=experts,
        used_experts=used,
        expert_inner=facts.count("expert_inner", config.inner),
        has_normalized_experts=is_normalized,
    )


def _check_causal(facts: Facts) -> None:
    """Raise RefusalError for a model with tokens that see later tokens, as some models of embeddings have."""
    is_causal, both = facts.values.get(facts.key("is_causal")), facts.values.get("use_bidirectional_attention")
    if is_causal is False or both:
        raise rx.RefusalError(
            f"{facts.path}: the model has attention in both directions, which is not supported: expected a model in "
            "which a token sees itself and earlier tokens only"
        )


def context_of(facts: Facts, context: int | None) -> int:
    """Return the positions of the longest sequence."""
    if (most := facts.count("context")) > _MOST_POSITIONS:
        raise facts.error("context", f"is {most}, expected at most {_MOST_POSITIONS}")
    if context is None:
        return most
    check_context(facts.path, context, most)
    return context


def _vocabulary(source: Source) -> int:
    shape = source.shape("token_embd.weight")
    stated = source.facts.count("vocabulary", shape[0] if shape else 0) if shape else source.facts.count("vocabulary")
    # Some files of GGUF state the tokens of the tokenizer, and have a row for each token with padding.
    return shape[0] if shape and source.facts.is_gguf else stated


def read_rope(source: Source, head_size: int, context: int, parameters: str = "") -> Rope:
    """Return the rope of a model. parameters: key of its facts in `rope_parameters`, where layers differ."""
    facts = source.facts
    if facts.is_gguf:
        size = facts.count("rope.dimension_count", head_size)
        return make_rope(facts.number("rope.freq_base", 10000.0), size, _gguf_scaling(source, context))
    # Version 5 of transformers has one dictionary, version 4 has keys beside `rope_scaling`.
    details = facts.part("rope_parameters" if "rope_parameters" in facts.values else "rope_scaling")
    if parameters and parameters in details.values:
        details = details.part(parameters)
    base = details.number("rope_theta", facts.number("rope_theta", 10000.0))
    share = details.number("partial_rotary_factor", facts.number("partial_rotary_factor", 1.0))
    return make_rope(base, int(head_size * share), _scaling(facts, details, context))


def _scaling(facts: Facts, details: Facts, context: int) -> Scaling:
    most = facts.count("context")
    kind = details.text("rope_type", details.text("type", "none"))
    stated = facts.values.get("original_max_position_embeddings", most)
    original = details.count("original_max_position_embeddings", stated if isinstance(stated, int) else most)
    divisors = None
    if kind in ("longrope", "su"):
        divisors = details.numbers("long_factor" if context > original else "short_factor")
    return Scaling(kind, details.number("factor", most / original), original, details, divisors)


def _gguf_scaling(source: Source, context: int) -> Scaling:
    facts = source.facts
    most = facts.count("context")
    kind = facts.text("rope.scaling.type", "none")
    original = facts.count("rope.scaling.original_context_length", most)
    factor = facts.number("rope.scaling.factor", facts.number("rope.scale_linear", most / original))
    values = {name: facts.values[key] for name, key in _DETAILS.items() if key in facts.values}
    if facts.architecture == "gpt-oss":  # its files do not state this
        values["truncate"] = False
    if (magnitude := facts.optional("rope.scaling.attn_factor")) is not None and kind != "yarn":
        values["attention_factor"] = magnitude
    details = Facts(facts.path, facts.architecture, facts.is_gguf, values)
    divisors = _divisors(source, "rope_freqs.weight")
    if source.shape("rope_factors_long.weight") is not None:
        kind = "longrope"
        divisors = _divisors(source, f"rope_factors_{'long' if context > original else 'short'}.weight")
    return Scaling(kind, factor, original, details, divisors)


def _divisors(source: Source, name: str) -> Sequence[float] | None:
    shape = source.shape(name)
    return None if shape is None else [float(each) for each in source.read(name, shape).floats()]
