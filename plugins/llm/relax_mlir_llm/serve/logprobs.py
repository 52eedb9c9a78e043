# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Log-probabilities of tokens in the two forms of OpenAI's API."""

from __future__ import annotations

from collections.abc import Sequence

from ..requests import Token
from .openai_requests import AnswersRequest
from .served_model import Tokenizer

#: JSON has no infinity. OpenAI returns this for tokens with a probability of 0.
_LEAST = -9999.0


def chat_logprobs(call: AnswersRequest, tokens: Sequence[tuple[int, Token]]) -> dict[str, object] | None:
    """Return the field `logprobs` of a chat, or None if it was not requested."""
    if call.parameters.logprobs is None:
        return None
    return {"content": described_tokens(call, tokens), "refusal": None}


def described_tokens(call: AnswersRequest, tokens: Sequence[tuple[int, Token]]) -> list[dict[str, object]]:
    """Return each token with its log-probability, or nothing if log-probabilities were not requested."""
    if call.parameters.logprobs is None:
        return []
    tokenizer = call.model.tokenizer
    return [
        {
            **_describe(tokenizer, token.token, token.logprob),
            "top_logprobs": [_describe(tokenizer, each.token, each.logprob) for each in token.top],
        }
        for _, token in tokens
    ]


def _describe(tokenizer: Tokenizer, token: int, logprob: float | None) -> dict[str, object]:
    data = tokenizer.token_bytes(token)
    return {"token": data.decode("utf-8", "replace"), "logprob": _finite(logprob), "bytes": list(data)}


def completion_logprobs(call: AnswersRequest, tokens: Sequence[tuple[int, Token]]) -> dict[str, object] | None:
    """Return the field `logprobs` of a completion, or None if it was not requested."""
    if call.parameters.logprobs is None:
        return None
    tokenizer = call.model.tokenizer
    return {
        "tokens": [_text(tokenizer, token.token) for _, token in tokens],
        "token_logprobs": [_finite(token.logprob) for _, token in tokens],
        "top_logprobs": [_tops(tokenizer, token) for _, token in tokens],
        "text_offset": [offset for offset, _ in tokens],
    }


def _tops(tokenizer: Tokenizer, token: Token) -> dict[str, float | None] | None:
    """Return the most likely tokens and the token itself, or None for the first token of a prompt."""
    if token.logprob is None:
        return None
    found = {_text(tokenizer, each.token): _finite(each.logprob) for each in token.top}
    found.setdefault(_text(tokenizer, token.token), _finite(token.logprob))
    return found


def _text(tokenizer: Tokenizer, token: int) -> str:
    """Return the text of a token. Bytes that are no text are written as OpenAI writes these."""
    data = tokenizer.token_bytes(token)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)


def _finite(logprob: float | None) -> float | None:
    return None if logprob is None else max(logprob, _LEAST)
