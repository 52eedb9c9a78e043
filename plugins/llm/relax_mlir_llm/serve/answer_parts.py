# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of one answer, and counts of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..requests import Output, Token
from .answer_text import AnswerText, TextPiece, scored_prompt
from .openai_requests import AnswersRequest
from .tool_calls import CallFilter, Parsed, ToolCall, parse_calls


class Usage(NamedTuple):
    """Tokens of a call."""

    prompt: int
    completion: int
    #: Tokens of prompts that the prefix cache had.
    cached: int


def usage_content(usage: Usage) -> dict[str, object]:
    """Return the field `usage` of an answer."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


class CallAnswer:
    """One answer of a call."""

    def __init__(self, call: AnswersRequest, index: int, prompt: Sequence[int], echo: str) -> None:
        self.call = call
        self.index = index
        # With log-probabilities, the prompt comes with them.
        has_scores = call.parameters.prompt_logprobs is not None
        self.echo, self._scored_echo = ("", echo) if has_scores else (echo, "")
        self.finish_reason: str | None = None
        #: Tokens of the answer, with the tokens of a stop text, and tokens of the prompt in the prefix cache.
        self.count = self.cached = 0
        # Marks of calls are special tokens in some models.
        self.text = AnswerText(
            call.model.tokenizer, call.stops, keep_special=call.tools is not None, start=len(self._scored_echo)
        )
        self._filter = None if call.tools is None else CallFilter(call.tools.names)
        self._texts: list[str] = []
        self.kept_tokens: list[tuple[int, Token]] = []

    def add(self, output: Output) -> TextPiece:
        """Return the part that an output completes."""
        tokens = () if self.call.has_no_tokens else output.tokens
        self.count += len(tokens)
        self.cached = max(self.cached, output.cached_tokens)
        piece = self.text.add(tokens)
        if self.text.is_stopped:
            self.finish_reason = "stop"
        elif output.finish_reason is not None:
            last = self.text.end()
            piece = TextPiece(piece.text + last.text, (*piece.tokens, *last.tokens))
            self.finish_reason = "stop" if self.text.is_stopped else output.finish_reason
        if output.prompt:
            scored = scored_prompt(self.call.model.tokenizer, output.prompt, self._scored_echo)
            piece = TextPiece(self._scored_echo + piece.text, (*scored, *piece.tokens))
        return piece

    # Whole answers

    def keep(self, piece: TextPiece) -> None:
        """Keep a part for the whole answer."""
        self._texts.append(piece.text)
        self.kept_tokens += piece.tokens

    @property
    def kept_text(self) -> str:
        """Return the text of the parts from `keep`."""
        return "".join(self._texts)

    def parsed(self) -> Parsed:
        """Return the text from `keep` without calls of tools, and the calls."""
        return self._parse(self.kept_text)

    def _parse(self, text: str) -> Parsed:
        if (tools := self.call.tools) is None:
            return Parsed(text, ())
        if tools.named is not None:  # the answer has only the arguments
            return Parsed("", (ToolCall(str(tools.named["name"]), text),))
        return parse_calls(text, tools.names)

    # Streams

    @property
    def _is_named(self) -> bool:
        return self.call.tools is not None and self.call.tools.named is not None

    def visible(self, piece: TextPiece) -> str:
        """Return the text of a part that is certainly no call of a tool."""
        if self._is_named:
            self.keep(piece)
            return ""
        return piece.text if self._filter is None else self._filter.add(piece.text)

    def rest(self) -> Parsed:
        """Return the rest of the text at the end of a stream, and the calls."""
        if self._is_named:
            return self.parsed()
        return Parsed("", ()) if self._filter is None else self._filter.end()
