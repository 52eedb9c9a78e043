# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Server of tests: an engine that repeats a part of its prompt, a small tokenizer, and a server in a thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import httpx
import numpy as np
import tokenizers
from relax_mlir_llm.chat_template import ChatTemplate
from relax_mlir_llm.embedding_batches import EmbeddingBatches
from relax_mlir_llm.engine import Step
from relax_mlir_llm.grammar import GrammarCompiler
from relax_mlir_llm.pooling import Pooling
from relax_mlir_llm.requests import Request
from relax_mlir_llm.scheduler import Scheduler
from relax_mlir_llm.serve.embedding_jobs import EmbeddingJobs
from relax_mlir_llm.serve.http_app import State
from relax_mlir_llm.serve.limits import ServerLimits
from relax_mlir_llm.serve.loop import SchedulerLoop
from relax_mlir_llm.serve.metrics import ModelMetrics
from relax_mlir_llm.serve.openai_app import make_openai_app
from relax_mlir_llm.serve.served_model import ServedModel
from relax_mlir_llm.serve.serving import Server, address_of, bind
from relax_mlir_llm.tokenizer import Marks, Tokenizer
from starlette.applications import Starlette
from tokenizers import decoders, models, pre_tokenizers

SPECIAL = ("<|end|>", "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>", "<|python_tag|>", "[TOOL_CALLS]", "⏎")
END, ASSISTANT, PARAGRAPH = 0, 2, 7
TEMPLATE = (
    "{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}"
    "{% for message in messages %}"
    "{% if message['content'] == 'refuse' %}{{ raise_exception('no such message') }}{% endif %}"
    "<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer() -> Tokenizer:
    """Return a tokenizer of bytes with two longer tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*SPECIAL, *alphabet, "ll", "llo"]
    model = models.BPE({name: number for number, name in enumerate(names)}, [("l", "l"), ("ll", "o")])
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(SPECIAL))
    return Tokenizer(backend, Marks(None, END, (), False, False))


TOKENIZER = make_tokenizer()


class SayingEngine:
    """Engine that answers `say:TEXT⏎` with TEXT, or in capitals with the adapter `loud`.

    Its pages have the tokens, so lost pages change answers.
    """

    vocabulary = len(SPECIAL) + 256 + 2
    adapters = ("loud",)

    def __init__(self, page_count: int = 64, page_size: int = 4, context: int = 200) -> None:
        self.page_count, self.page_size, self.context = page_count, page_size, context
        self.tokens = np.full(page_count * page_size, -1, np.int32)
        self.seconds = 0.0
        #: Error of the next steps.
        self.error: Exception | None = None

    def copy_page(self, source: int, target: int) -> None:
        pages = self.tokens.reshape(self.page_count, self.page_size)
        pages[target] = pages[source]

    def step(self, step: Step) -> np.ndarray:
        time.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        self.tokens[step.slots] = step.tokens
        logits = np.zeros((step.selected.size, self.vocabulary), np.float32)
        for row, place in zip(logits, step.selected, strict=True):
            seen = np.arange(step.positions[place] + 1)
            table = step.table[step.sequences[place]]
            text = self.tokens[table[seen // self.page_size] * self.page_size + seen % self.page_size]
            row += np.sin(np.arange(self.vocabulary) * (len(text) + 1.0))
            row[next_token(text.tolist(), bool(step.adapters[step.sequences[place]]))] += 20
        return logits


def next_token(text: Sequence[int], is_loud: bool) -> int:
    """Return the token that continues a text."""
    if PARAGRAPH not in text:
        return END
    end = len(text) - 1 - text[::-1].index(PARAGRAPH)
    start = max((n + 1 for n in range(end, len(text)) if text[n] in (ASSISTANT, PARAGRAPH)), default=0)
    before = TOKENIZER.decode(text[:end], skip_special=False)
    answer = before.rpartition("say:")[2]
    wanted, said = TOKENIZER.encode(answer.upper() if is_loud else answer), text[start:]
    return wanted[len(said)] if wanted[: len(said)] == said and len(said) < len(wanted) else END


class SummingEngine:
    """Engine of hidden states: sum of the tokens so far, number of the tokens, token. Its pages have the tokens."""

    vocabulary = SayingEngine.vocabulary

    def __init__(self, page_size: int = 4, context: int = 200) -> None:
        self.page_count, self.page_size, self.context = 1, page_size, context
        self.tokens = np.full(page_size, -1, np.int32)
        self.seconds = 0.0
        self.error: Exception | None = None
        #: Number of tokens of each call.
        self.calls: list[int] = []

    def grow(self, page_count: int) -> None:
        more = np.full((page_count - self.page_count) * self.page_size, -1, np.int32)
        self.page_count, self.tokens = page_count, np.concatenate([self.tokens, more])

    def step(self, step: Step) -> np.ndarray:
        time.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        self.calls.append(len(step.tokens))
        self.tokens[step.slots] = step.tokens
        states = np.zeros((step.selected.size, 3), np.float32)
        for row, place in zip(states, step.selected, strict=True):
            seen = np.arange(step.positions[place] + 1)
            table = step.table[step.sequences[place]]
            text = self.tokens[table[seen // self.page_size] * self.page_size + seen % self.page_size]
            row[:] = text.sum(), len(text), step.tokens[place]
        return states


class KeptScheduler(Scheduler):
    """Scheduler that keeps its requests for tests."""

    def __init__(self, engine: SayingEngine, **options: object) -> None:
        super().__init__(engine, end_tokens=TOKENIZER.ends, **options)  # type: ignore[arg-type]
        self.added: list[Request] = []

    def add(self, request: Request) -> None:
        self.added.append(request)
        super().add(request)


class Served:
    """Server in a thread."""

    def __init__(self, app: Starlette, state: State, grace: float, limits: ServerLimits | None = None) -> None:
        bound = bind("127.0.0.1", 0)
        self.url = address_of(bound)
        self.state = state
        self.server = Server(app, state, grace, limits)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [bound]})
        self.client = httpx.Client(base_url=self.url, timeout=30)

    @contextmanager
    def running(self) -> Iterator[None]:
        self.thread.start()
        wait_for(lambda: self.server.started)
        try:
            yield
        finally:
            self.client.close()
            self.server.should_exit = True
            self.thread.join(30)
            assert not self.thread.is_alive()


class Texts(Served):
    """Server of a SayingEngine."""

    def __init__(
        self,
        engine: SayingEngine,
        loop_options: Mapping[str, int],
        key: str | None = None,
        origins: Sequence[str] = (),
        hidden: SummingEngine | None = None,
        pooling: Pooling = "last",
        chunk: int = 16,
        grace: float = 10.0,
        adapters: Sequence[str] = (),
        limits: ServerLimits = ServerLimits(),  # noqa: B008  # it is frozen
        **options: object,
    ) -> None:
        self.engine = engine
        self.scheduler = KeptScheduler(engine, **options)
        self.metrics = ModelMetrics()
        embeddings = None
        if hidden is not None:
            batches = EmbeddingBatches(hidden, most_tokens=chunk)  # type: ignore[arg-type]
            embeddings = EmbeddingJobs(batches, pooling, self.metrics)
        self.loop = SchedulerLoop(self.scheduler, self.metrics, embeddings=embeddings, **loop_options)
        self.model = ServedModel(
            name="tiny",
            loop=self.loop,
            tokenizer=TOKENIZER,
            context=engine.context,
            vocabulary=engine.vocabulary,
            template=ChatTemplate(TEMPLATE, "", ""),
            grammars=GrammarCompiler(TOKENIZER.backend, engine.vocabulary, [END]),
            width=None if hidden is None else 3,
            limits=limits,
        )
        state = State()
        models = [self.model, *(replace(self.model, name=name, parent="tiny", adapter=name) for name in adapters)]
        #: Models by name, as the routes see them.
        self.models = {model.name: model for model in models}
        super().__init__(make_openai_app(self.models, state, key=key, origins=origins), state, grace, limits)

    def post(self, path: str, **body: object) -> httpx.Response:
        """Send a request for a text to the model."""
        return self.client.post(f"/v1/{path}", json={"model": "tiny", **body})

    def complete(self, text: str, **body: object) -> dict[str, object]:
        """Return the first choice of a completion that says a text."""
        answer = self.post("completions", prompt=f"say:{text}⏎", **{"max_tokens": 100, **body})
        assert answer.status_code == 200, answer.text
        return answer.json()["choices"][0]

    def chat(self, text: str, **body: object) -> dict[str, object]:
        """Return the first choice of a chat that says a text."""
        answer = self.post("chat/completions", messages=[{"role": "user", "content": f"say:{text}⏎"}], **body)
        assert answer.status_code == 200, answer.text
        return answer.json()["choices"][0]

    def stream(self, path: str, **body: object) -> list[dict[str, object]]:
        """Return the events of a stream. The last one is [DONE]."""
        found = []
        with self.client.stream("POST", f"/v1/{path}", json={"model": "tiny", "stream": True, **body}) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
        assert lines.pop() == "[DONE]"
        found = [json.loads(line) for line in lines]
        return found

    def check_empty(self) -> None:
        """Check that nothing runs and no page is lost."""
        wait_for(lambda: self.scheduler.is_idle and not self.loop.active)
        found = self.scheduler.statistics
        assert found.running == found.waiting == found.pages_used == 0
        assert found.pages_cached + found.pages_free == self.engine.page_count


@contextmanager
def texts(
    engine: SayingEngine | None = None, *, loop_options: Mapping[str, int] | None = None, **options: object
) -> Iterator[Texts]:
    """Run a server of a SayingEngine."""
    served = Texts(engine or SayingEngine(), loop_options or {}, **options)  # type: ignore[arg-type]
    served.loop.start()
    try:
        with served.running():
            yield served
        if served.loop.is_alive:
            served.check_empty()
    finally:
        served.loop.close()


def wait_for(condition: object, seconds: float = 20.0) -> None:
    """Wait until a function returns True."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.005)
