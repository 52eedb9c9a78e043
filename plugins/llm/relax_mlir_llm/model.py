# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled language model with its tokenizer: logits, text, chats."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING

import numpy
import relax_mlir as rx

from .description import HIDDEN
from .embedding_batches import EmbeddedText, EmbeddingBatches
from .encoder_engine import no_logits
from .generated import Generated
from .one_sequence import OneSequence
from .paged_engine import PagedEngine
from .pooling import Pooling, checked_dimensions, checked_pooling, normalized
from .requests import SamplingParameters
from .sampling import Sampler
from .saved import Saved

if TYPE_CHECKING:
    from .chat_template import ChatTemplate
    from .description import Description
    from .ranks import RankedEngine
    from .tokenizer import Tokenizer

#: Tokens for which a model has room at first. Longer sequences enlarge the room.
_FIRST_ROOM = 512


class Model:
    """Compiled language model.

    >>> model = rx.llm.load("model.gguf")
    >>> print("".join(model.generate("The capital of France is", max_tokens=8)))
    """

    def __init__(self, saved: Saved) -> None:
        self._saved = saved
        self._embedding_lock = threading.Lock()

    def __repr__(self) -> str:
        found = self.description
        return f"<Model {found.name}: {found.architecture}, {found.pages.layers} layers, context {found.context:,}>"

    @property
    def description(self) -> Description:
        """Return the sizes of the model."""
        return self._saved.description

    @property
    def tokenizer(self) -> Tokenizer:
        return self._saved.tokenizer

    @property
    def template(self) -> ChatTemplate:
        """Return the template of chats."""
        return self._saved.template

    @property
    def program(self) -> rx.runtime.Executable:
        """Return the compiled program with the function `main`, `hidden` for embeddings, and `adapted` for adapters."""
        return self._saved.program

    @property
    def threads(self) -> int:
        """Return the number of threads of a call. Assign a number from 1 to change it."""
        return int(self.program.threads)

    @threads.setter
    def threads(self, count: int) -> None:
        self.program.threads = count
        if self._saved.ranks is not None:
            self._saved.ranks.run("threads", count)

    def close(self) -> None:
        """End the other ranks of a model with several."""
        if self._saved.ranks is not None:
            self._saved.ranks.close()

    def engine(self, page_count: int) -> PagedEngine | RankedEngine:
        """Return a new engine with pages of its own, for a scheduler."""
        if page_count < 1:
            raise rx.OptionError(f"page_count={page_count}: expected at least one page")
        self._check_logits()
        if self._saved.ranks is not None:
            return self._saved.ranks.engine(page_count)
        return PagedEngine(self.program, self.description, page_count)

    def _check_logits(self) -> None:
        """Raise RefusalError for an encoder."""
        if self.description.is_encoder:
            raise no_logits(self.description.name)

    def logits(self, token_ids: Sequence[int] | numpy.ndarray, *, adapter: str | None = None) -> numpy.ndarray:
        """Return the logits f32 [tokens, vocabulary] behind each token of a sequence."""
        number = self.description.adapter_number(adapter)
        return self._sequence.all_logits(self._check(list(map(int, token_ids))), number)

    def embed(
        self,
        texts: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]] | numpy.ndarray,
        *,
        pooling: Pooling | None = None,
        normalize: bool = True,
        dimensions: int | None = None,
    ) -> numpy.ndarray:
        """Return the embedding f32 [width] of a text, or the embeddings [texts, width] of a list of texts.

        The model must be loaded with `embeddings=True`. Short texts share a call; long texts are divided.

        - texts: a text, the tokens of a text, or a list of these.
        - pooling: "last" for the hidden state of the last token, "mean" for the mean of all, "cls" for the first one in
          an encoder; None for the pooling that the model's files state, or "last", or "mean" in an encoder.
        - normalize: divide each embedding by its length.
        - dimensions: keep the first numbers only, for models that were trained for this.
        """
        description = self.description
        used = self.checked_pooling(pooling)
        kept = checked_dimensions(dimensions, description.width)
        is_one = _is_one_text(texts)
        items = [texts] if is_one else texts
        embedded = [EmbeddedText(self._embedded_tokens(each), used) for each in items]
        self._compute(embedded)
        vectors = numpy.stack([text.pooled for text in embedded])
        found = normalized(vectors, kept) if normalize else vectors[:, :kept].astype(numpy.float32)
        return found[0] if is_one else found

    def checked_pooling(self, pooling: object = None) -> Pooling:
        """Return a pooling by name, None for the model's own. Raise OptionError if the model has no embeddings."""
        if (own := self.description.pooling) is None:
            raise rx.OptionError(
                f"{self.description.name} was compiled without embeddings: load the model with embeddings=True"
            )
        return own if pooling is None else checked_pooling(pooling, self.description.is_encoder)

    def embedding_batches(self, most_tokens: int = 256) -> EmbeddingBatches:
        """Return a queue of texts to embed, with pages of its own, for a server."""
        self.checked_pooling()
        engine = PagedEngine(self.program, self.description, 1, HIDDEN)
        return EmbeddingBatches(engine, most_tokens=most_tokens, is_encoder=self.description.is_encoder)

    def generate(
        self,
        prompt: str | Sequence[int],
        max_tokens: int = 256,
        temperature: float = 0.0,
        *,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        adapter: str | None = None,
    ) -> Generated:
        """Return an iterator over the text that continues a prompt, as it is computed.

        - prompt: text, or tokens.
        - max_tokens: the number of tokens after which the text ends. It ends earlier at the end of the context.
        - temperature: 0 for the likeliest token each time; larger for more varied text.
        - top_p: the share of the likeliest tokens to choose from.
        - seed: the same seed gives the same text, also from a scheduler.
        - stop: texts that end the text, and are not part of it.
        - adapter: name of one of the `adapters` of `rx.llm.load`.
        """
        self._check_logits()
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        parameters = SamplingParameters(max_tokens, temperature, top_p, seed=seed, stop=tuple(filter(None, stops)))
        if parameters.stop:
            self.tokenizer.check_texts()
        tokens = self.tokenizer.encode(prompt) if isinstance(prompt, str) else [int(each) for each in prompt]
        self._check(tokens)
        number = self.description.adapter_number(adapter)
        chosen = self._tokens(tokens, max_tokens, Sampler(parameters, tokens), number)
        return Generated(tokens, chosen, self.tokenizer.stream(), parameters.stop)

    def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        max_tokens: int = 256,
        temperature: float = 0.0,
        *,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        adapter: str | None = None,
    ) -> Generated:
        """Return an iterator over the text of an answer to messages, `[{"role": "user", "content": "Hello"}]`.

        `generate` describes the other arguments.
        """
        text = self.template.render(messages)
        return self.generate(text, max_tokens, temperature, top_p=top_p, seed=seed, stop=stop, adapter=adapter)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program, tokenizer and template to a folder, which `rx.llm.load` reads without compiling."""
        self._saved.write(path)

    @cached_property
    def _sequence(self) -> OneSequence:
        return OneSequence(self.engine(max(1, _FIRST_ROOM // self.description.pages.page_size)))

    @cached_property
    def _batches(self) -> EmbeddingBatches:
        return self.embedding_batches()

    def _embedded_tokens(self, text: object) -> list[int]:
        """Return the tokens of a text to embed."""
        if isinstance(text, str):
            return self._check(self.tokenizer.encode(text, is_embedded=True), "text")
        try:
            tokens = [index(each) for each in text]  # type: ignore[attr-defined]
        except TypeError:
            raise rx.OptionError(f"a text is {text!r}, expected a text, or a list of tokens") from None
        return self._check(tokens, "text")

    def _compute(self, texts: Sequence[EmbeddedText]) -> None:
        """Compute the embeddings of texts."""
        with self._embedding_lock:
            batches = self._batches
            try:
                for text in texts:
                    batches.add(text)
                while not batches.is_idle:
                    batches.step()
            finally:
                batches.remove(texts)  # after an error, and after Ctrl-C

    def _check(self, tokens: list[int], noun: str = "prompt") -> list[int]:
        """Return tokens that are in the vocabulary and fit the context."""
        context, vocabulary = self.description.context, self.description.vocabulary
        if not tokens:
            raise rx.OptionError(f"the {noun} has no tokens, expected at least one")
        if len(tokens) > context:
            raise rx.OptionError(
                f"the {noun} has {len(tokens):,} tokens, and the context of {self.description.name} has {context:,}: "
                f"shorten the {noun}, or load the model with a larger `context`, if it was trained for one"
            )
        if (wrong := next((token for token in tokens if not 0 <= token < vocabulary), None)) is not None:
            raise rx.OptionError(f"the {noun} has the token {wrong}, and the vocabulary has 0 to {vocabulary - 1}")
        return tokens

    def _tokens(self, tokens: list[int], max_tokens: int, sampler: Sampler, adapter: int) -> Iterator[int]:
        """Yield tokens until one of them ends the text."""
        tokens = list(tokens)
        for _ in range(min(max_tokens, self.description.context - len(tokens) + 1)):
            token = sampler.choose(self._sequence.last_logits(tokens, adapter), len(tokens))
            if token in self.tokenizer.ends:
                return
            yield token
            tokens.append(token)


def _is_one_text(texts: object) -> bool:
    """Check whether an argument of `embed` is a text or its tokens, and no list of texts."""
    if isinstance(texts, str) or not isinstance(texts, (Sequence, numpy.ndarray)):
        return True
    return not any(isinstance(text, (str, Sequence, numpy.ndarray)) for text in texts)
