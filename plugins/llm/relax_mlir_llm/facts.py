# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts of a model's file under one set of names: GGUF's metadata, or config.json of Hugging Face."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import relax_mlir as rx

#: Name here -> key in GGUF's metadata behind the architecture's name, and key in config.json.
_KEYS = {
    "layers": ("block_count", "num_hidden_layers"),
    "width": ("embedding_length", "hidden_size"),
    "inner": ("feed_forward_length", "intermediate_size"),
    "heads": ("attention.head_count", "num_attention_heads"),
    "kv_heads": ("attention.head_count_kv", "num_key_value_heads"),
    "head_size": ("attention.key_length", "head_dim"),
    "experts": ("expert_count", "num_experts"),
    "used_experts": ("expert_used_count", "num_experts_per_tok"),
    "expert_inner": ("expert_feed_forward_length", "moe_intermediate_size"),
    "context": ("context_length", "max_position_embeddings"),
    "vocabulary": ("vocab_size", "vocab_size"),
    "epsilon": ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    "norm_epsilon": ("attention.layer_norm_epsilon", "norm_epsilon"),
    "is_causal": ("attention.causal", "is_causal"),
    "window": ("attention.sliding_window", "sliding_window"),
    "window_pattern": ("attention.sliding_window_pattern", "sliding_window_pattern"),
    "attention_softcap": ("attn_logit_softcapping", "attn_logit_softcapping"),
    "embedding_scale": ("embedding_scale", "embedding_multiplier"),
    "attention_scale": ("attention.scale", "attention_multiplier"),
    "residual_scale": ("residual_scale", "residual_multiplier"),
    "logit_divisor": ("logit_scale", "logits_scaling"),
    "logit_softcap": ("final_logit_softcapping", "final_logit_softcapping"),
}


@dataclass(frozen=True)
class Facts:
    """Metadata of a model's file."""

    path: str
    #: Name of the architecture in the file, such as `llama` or `gemma3_text`.
    architecture: str
    is_gguf: bool
    #: GGUF's values without the prefix of the architecture, or config.json.
    values: Mapping[str, object]

    def key(self, name: str) -> str:
        """Return the file's key of a fact."""
        return _KEYS[name][0 if self.is_gguf else 1] if name in _KEYS else name

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number. Without a default, a missing number is an error."""
        if (found := self.values.get(self.key(name))) is None:
            if default is None:
                raise self.error(name, "is missing")
            return default
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise self.error(name, f"is {_show(found)}, expected a number")
        if not math.isfinite(found):
            raise self.error(name, f"is {found}, expected a finite number")
        return found

    def positive(self, name: str, default: float | None = None, most: float = math.inf) -> float:
        """Return a number above 0. Raise ModelError for 0, a negative number, or a number above `most`."""
        found = self.number(name, default)
        if not 0 < found <= most:
            expected = "a number above 0" + ("" if most == math.inf else f", at most {most:g}")
            raise self.error(name, f"is {found}, expected {expected}")
        return found

    def count(self, name: str, default: int | None = None) -> int:
        """Return a positive integer."""
        if (found := self.number(name, default)) != int(found) or found < 1:
            raise self.error(name, f"is {found}, expected a positive integer")
        return int(found)

    def optional(self, name: str) -> float | None:
        """Return a number above 0, or None if the file has none, or 0."""
        return self.positive(name) if self.number(name, 0) else None

    def text(self, name: str, default: str) -> str:
        if (found := self.values.get(self.key(name))) is None:
            return default
        if not isinstance(found, str):
            raise self.error(name, f"is {_show(found)}, expected text")
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        if not isinstance(found := self.values.get(self.key(name), default), bool):
            raise self.error(name, f"is {_show(found)}, expected true or false")
        return found

    def numbers(self, name: str) -> Sequence[float] | None:
        """Return a list of numbers, or None."""
        if (found := self.values.get(self.key(name))) is None:
            return None
        if not isinstance(found, list) or not all(isinstance(each, (int, float)) and each > 0 for each in found):
            raise self.error(name, f"is {_show(found)}, expected a list of numbers above 0")
        return found

    def texts(self, name: str) -> Sequence[str] | None:
        """Return a list of texts, or None."""
        if (found := self.values.get(self.key(name))) is None:
            return None
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.error(name, f"is {_show(found)}, expected a list of texts")
        return found

    def part(self, name: str) -> Facts:
        """Return the facts in a dictionary of config.json, such as `rope_scaling`, or empty facts."""
        if not ((found := self.values.get(name)) is None or isinstance(found, dict)):
            raise self.error(name, f"is {_show(found)}, expected a dictionary")
        return Facts(self.path, self.architecture, self.is_gguf, found or {})

    def error(self, name: str, problem: str) -> rx.ModelError:
        """Return an error about a fact."""
        key = f"{self.architecture}.{self.key(name)}" if self.is_gguf else self.key(name)
        where = "metadata" if self.is_gguf else "configuration"
        return rx.ModelError(f"{self.path}: '{key}' in the model's {where} {problem}")


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
