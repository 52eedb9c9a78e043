# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizers from GGUF's metadata: byte-level BPE of GPT-2's kind, and SentencePiece's BPE and unigram models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import relax_mlir as rx
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from .gguf_source import GgufSource
from .tokenizer import Marks, Tokenizer

_SPACE = "\u2581"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LLAMA_3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT_4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
    rf"{_CONTRACTIONS}?|\p{{N}}{{1,3}}|{_TAIL}"
)
_TEKKEN = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}|{_TAIL}"


class _Pre(NamedTuple):
    """Rules that split a text before its parts become tokens."""

    #: Regular expressions, applied one after the other.
    patterns: tuple[str, ...]
    #: Whole parts in the vocabulary are one token, whatever the merges say.
    ignores_merges: bool = False


_DEFAULT = _Pre((r"[\p{P}\$\+<=>\^~\|]+", _GPT_2, r"\p{N}+", "[0-9][0-9][0-9]"))
_PRES = {
    "default": _DEFAULT,
    "gpt-2": _Pre((_GPT_2,)),
    "llama-bpe": _Pre((_LLAMA_3,), True),
    "llama3": _Pre((_LLAMA_3,), True),
    "llama-v3": _Pre((_LLAMA_3,), True),
    "dbrx": _Pre((_LLAMA_3,)),
    "smaug-bpe": _Pre((_LLAMA_3,)),
    "qwen2": _Pre((_LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}"),)),
    "smollm": _Pre((r"\p{N}", _GPT_2)),
    "gpt-4o": _Pre((_GPT_4O,)),
    "tekken": _Pre((_TEKKEN,), True),
}


class _Type(IntEnum):
    """Type of a token in GGUF's metadata."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def gguf_tokenizer(source: GgufSource) -> Tokenizer:
    """Return the tokenizer in a GGUF file."""
    kind = source.metadata("tokenizer.ggml.model")
    makers = {"gpt2": _byte_level, "llama": _sentencepiece, "t5": _unigram, "bert": _wordpiece}
    if not isinstance(kind, str) or kind not in makers:
        raise rx.RefusalError(
            f"{source.path}: the tokenizer '{kind}' is not supported (supported: {', '.join(makers)})"
        )
    tokens = _texts(source, "tokens")
    adds_space = kind in ("llama", "t5") and source.metadata("tokenizer.ggml.add_space_prefix") is not False
    try:
        backend = makers[kind](source, tokens, adds_space)
    except rx.RelaxError:
        raise
    except Exception as error:  # the package tokenizers raises plain exceptions
        raise rx.ModelError(f"{source.path}: the tokenizer in the metadata is damaged: {error}") from None
    if kind == "bert":
        return Tokenizer(backend, _encoder_marks(source))
    types = source.metadata("tokenizer.ggml.token_type")
    _add_tokens(backend, tokens, types if isinstance(types, list) else [])
    ids = {name: source.metadata(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos", "eot", "eom")}
    known = {name: id_ for name, id_ in ids.items() if isinstance(id_, int)}
    adds_bos = source.metadata("tokenizer.ggml.add_bos_token")
    marks = Marks(
        known.get("bos"),
        known.get("eos"),
        tuple(known[name] for name in ("eot", "eom") if name in known),
        kind == "llama" if adds_bos is None else bool(adds_bos),
        adds_space,
        known.get("eos") if source.metadata("tokenizer.ggml.add_eos_token") is True else None,
        _fill_marks(source),
    )
    return Tokenizer(backend, marks)


def _fill_marks(source: GgufSource) -> tuple[int, ...] | None:
    """Return the tokens around a gap that the metadata name, under newer or older names."""
    for names in (("fim_pre", "fim_suf", "fim_mid"), ("prefix", "suffix", "middle")):
        found = [source.metadata(f"tokenizer.ggml.{name}_token_id") for name in names]
        tokens = tuple(each for each in found if isinstance(each, int))
        if len(tokens) == len(names):
            return tokens
    return None


def _texts(source: GgufSource, name: str) -> list[str]:
    if not isinstance(texts := source.metadata(f"tokenizer.ggml.{name}"), list):
        raise rx.ModelError(f"{source.path}: the metadata lack 'tokenizer.ggml.{name}', which the tokenizer needs")
    return texts


def _byte_level(source: GgufSource, tokens: Sequence[str], adds_space: bool) -> tokenizers.Tokenizer:
    named = source.metadata("tokenizer.ggml.pre")
    if (pre := _PRES.get(str(named or "default"))) is None:
        raise rx.RefusalError(
            f"{source.path}: the pre-tokenizer '{named}' is not supported (supported: {', '.join(_PRES)})"
        )
    merges = [tuple(text.split(" ", 1)) for text in _texts(source, "merges")]
    backend = tokenizers.Tokenizer(
        models.BPE(_number(tokens), _pairs(source, merges), ignore_merges=pre.ignores_merges)
    )
    splits = [pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated") for pattern in pre.patterns]
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([*splits, last])
    backend.decoder = decoders.ByteLevel()
    return backend


def _pairs(source: GgufSource, merges: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    pairs = [(merge[0], merge[1]) for merge in merges if len(merge) == 2]
    if len(pairs) != len(merges):
        raise rx.ModelError(f"{source.path}: an entry of 'tokenizer.ggml.merges' has no space between two tokens")
    return pairs


def _sentencepiece(source: GgufSource, tokens: Sequence[str], adds_space: bool) -> tokenizers.Tokenizer:
    """Return SentencePiece's BPE: the pair with the highest score is merged first."""
    scores = source.metadata("tokenizer.ggml.scores")
    numbered = _number(tokens)
    ranked = scores if isinstance(scores, list) and len(scores) == len(tokens) else [-n for n in range(len(tokens))]
    merges = _merges_by_score(numbered, ranked)
    model = models.BPE(numbered, merges, unk_token=_unknown(source, tokens), fuse_unk=True, byte_fallback=True)
    backend = tokenizers.Tokenizer(model)
    _use_spaces(backend, adds_space)
    return backend


def _merges_by_score(tokens: Mapping[str, int], scores: Sequence[float]) -> list[tuple[str, str]]:
    """Return the pairs of tokens that make a token, by falling score of the whole."""
    found = []
    for whole, number in tokens.items():
        pairs = ((whole[:cut], whole[cut:]) for cut in range(1, len(whole)))
        found += [(scores[number], *pair) for pair in pairs if pair[0] in tokens and pair[1] in tokens]
    found.sort(key=lambda each: (-each[0], len(each[1]), len(each[2]), tokens[each[1]], tokens[each[2]]))
    return [(first, second) for _, first, second in found]


def _wordpiece(source: GgufSource, tokens: Sequence[str], adds_space: bool) -> tokenizers.Tokenizer:
    """Return BERT's tokenizer. In the file, tokens that begin a word have U+2581 in front, and others nothing."""
    types = source.metadata("tokenizer.ggml.token_type")
    kinds = types if isinstance(types, list) else [_Type.NORMAL] * len(tokens)
    special = [text for text, kind in zip(tokens, kinds, strict=True) if kind in (_Type.CONTROL, _Type.UNKNOWN)]
    apart = set(special)
    texts = [_word_part(text, text in apart) for text in tokens]
    unknown = _unknown(source, texts) or "[UNK]"
    backend = tokenizers.Tokenizer(models.WordPiece(_number(texts), unk_token=unknown, max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens([tokenizers.AddedToken(each, special=True, normalized=False) for each in special])
    return backend


def _word_part(text: str, is_special: bool) -> str:
    if is_special or (text.startswith("[") and text.endswith("]")):
        return text
    return text[1:] if text.startswith(_SPACE) else f"##{text}"


def _encoder_marks(source: GgufSource) -> Marks:
    """Return the tokens around a text of BERT. Older files name the first one as the beginning."""
    names = ("cls", "bos", "seperator", "eos")
    first, other, last, end = (source.metadata(f"tokenizer.ggml.{name}_token_id") for name in names)
    bos = first if isinstance(first, int) else other if isinstance(other, int) else None
    sep = last if isinstance(last, int) else end if isinstance(end, int) else None
    return Marks(bos, None, (), True, False, sep)


def _unigram(source: GgufSource, tokens: Sequence[str], adds_space: bool) -> tokenizers.Tokenizer:
    scores = source.metadata("tokenizer.ggml.scores")
    if not isinstance(scores, list) or len(scores) != len(tokens):
        raise rx.ModelError(
            f"{source.path}: 'tokenizer.ggml.scores' must have a score for each of {len(tokens)} tokens"
        )
    unknown = source.metadata("tokenizer.ggml.unknown_token_id")
    pairs = list(zip(tokens, scores, strict=True))
    model = models.Unigram(pairs, unknown if isinstance(unknown, int) else 0, byte_fallback="<0x00>" in set(tokens))
    backend = tokenizers.Tokenizer(model)
    _use_spaces(backend, adds_space)
    return backend


def _use_spaces(backend: tokenizers.Tokenizer, adds_space: bool) -> None:
    """Write spaces as U+2581, and read them so."""
    first = [normalizers.Prepend(_SPACE)] if adds_space else []
    backend.normalizer = normalizers.Sequence([*first, normalizers.Replace(" ", _SPACE)])
    strip = [decoders.Strip(" ", 1, 0)] if adds_space else []
    steps = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    backend.decoder = decoders.Sequence(steps)


def _unknown(source: GgufSource, tokens: Sequence[str]) -> str | None:
    number = source.metadata("tokenizer.ggml.unknown_token_id")
    number = 0 if number is None else number
    return tokens[number] if isinstance(number, int) and 0 <= number < len(tokens) else None


def _number(tokens: Sequence[str]) -> dict[str, int]:
    return {text: number for number, text in enumerate(tokens)}


def _add_tokens(backend: tokenizers.Tokenizer, tokens: Sequence[str], types: Sequence[int]) -> None:
    """Declare the tokens that are found in a text before all others."""
    kinds = list(zip(tokens, types, strict=False))
    special = [text for text, kind in kinds if kind in (_Type.CONTROL, _Type.UNKNOWN)]
    plain = [text for text, kind in kinds if kind == _Type.USER_DEFINED]
    backend.add_special_tokens([tokenizers.AddedToken(each, special=True, normalized=False) for each in special])
    backend.add_tokens([tokenizers.AddedToken(each, normalized=False) for each in plain])
