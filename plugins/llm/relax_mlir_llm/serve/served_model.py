# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language model with everything that a server needs, under the name that requests use."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..fill_marks import FillMarks
from ..requests import TokenMask
from .answer_text import TokenBytes
from .errors import ApiError
from .limits import ServerLimits
from .loop import SchedulerLoop


class Tokenizer(TokenBytes, Protocol):
    """Tokenizer of a model."""

    #: Token of the beginning of a text.
    bos: int | None

    def encode(self, text: str, *, add_bos: bool | None = None, is_embedded: bool = False) -> list[int]:
        """Return the tokens of a text."""

    def encode_rest(self, text: str) -> list[int]:
        """Return the tokens of a text behind other text."""

    @property
    def fill_marks(self) -> FillMarks | None:
        """Return the tokens around a gap that the model fills in, or None."""

    def decode(self, tokens: Iterable[int], *, skip_special: bool = True) -> str:
        """Return the text of tokens."""


class Template(Protocol):
    """Chat template of a model."""

    @property
    def has_tools(self) -> bool:
        """Return True if the template has a place for tools."""

    def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        add_generation_prompt: bool = True,
        **variables: object,
    ) -> str:
        """Return the text of messages. Raise RelaxError if the template refuses them."""


class Grammars(Protocol):
    """Compiler of grammars. Each call returns a new object, for one answer."""

    def json_schema(self, schema: str | Mapping[str, object] | bool) -> TokenMask:
        """Return a grammar of the JSON texts that a schema accepts."""

    def json_object(self) -> TokenMask:
        """Return a grammar of all JSON objects."""

    def regex(self, pattern: str) -> TokenMask:
        """Return a grammar of the texts that match a regular expression."""

    def lark(self, text: str) -> TokenMask:
        """Return a grammar written in Lark."""

    def gbnf(self, text: str) -> TokenMask:
        """Return a grammar written in GBNF."""

    def choice(self, texts: Sequence[str]) -> TokenMask:
        """Return a grammar of some texts."""


@dataclass(frozen=True)
class ServedModel:
    """Model that requests can name."""

    name: str
    loop: SchedulerLoop
    tokenizer: Tokenizer
    #: Positions of the longest sequence, and number of tokens in the vocabulary.
    context: int
    vocabulary: int
    template: Template | None = None
    grammars: Grammars | None = None
    #: False for an encoder, which has embeddings only.
    has_answers: bool = True
    #: Numbers in an embedding, which the loop computes. None: the model has logits only.
    width: int | None = None
    #: Name of the model that an adapter changes, and name of the adapter in the model.
    parent: str | None = None
    adapter: str | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    created: int = field(default_factory=lambda: int(time.time()))

    def encode(self, text: str, param: str, *, add_bos: bool | None = None, is_embedded: bool = False) -> list[int]:
        """Return the tokens of a prompt. Raise ApiError for more bytes than the context can need."""
        self.check_size(len(text.encode("utf-8", "surrogatepass")), param)
        return self.tokenizer.encode(text, add_bos=add_bos, is_embedded=is_embedded)

    def filled(self, before: Sequence[int], after: str, marks: FillMarks, param: str) -> list[int]:
        """Return the prompt of the text between a prompt and a text after it, which the field `param` has."""
        self.check_size(len(after.encode("utf-8", "surrogatepass")), param)
        start = 1 if self.tokenizer.bos is not None and before[:1] == [self.tokenizer.bos] else 0
        rest = self.tokenizer.encode_rest(after)
        return [*before[:start], marks.before, *before[start:], marks.after, *rest, marks.middle]

    def check_size(self, size: int, param: str) -> None:
        """Raise ApiError for more bytes than the context can need."""
        most = self.limits.prompt_bytes(self.context)
        if size > most:
            raise ApiError(
                400,
                f"{param} has {size:,} bytes, expected at most {most:,} for the {self.context:,} tokens of the context "
                f"of '{self.name}' (--max-prompt)",
                param=param,
                code="context_length_exceeded",
            )

    def description(self) -> dict[str, object]:
        """Return the model's entry in the list of models."""
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "relax-mlir",
            "parent": self.parent,
            "max_model_len": self.context,
        }
