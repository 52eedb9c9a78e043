# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizer of tiny models: bytes, and the results of some merges."""

from __future__ import annotations

import gguf
import tokenizers

#: Tokens of a tiny model.
VOCABULARY = 300
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
    """Return the tokenizer, and its tokens."""
    tokens = tiny_vocabulary()
    numbered = {text: number for number, text in enumerate(tokens)}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(numbered, list(_MERGES)))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(list(_SPECIAL))
    return backend, tokens


def add_tokenizer(writer: gguf.GGUFWriter) -> None:
    """Write the tokenizer to the metadata of a GGUF file."""
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
