# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Server of language models, made from the options of relax-serve."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TextIO

import relax_mlir as rx

from ..encoder_engine import EncoderEngine
from ..engine import Engine
from ..grammar import GrammarCompiler
from ..load_options import mesh_of
from ..loading import load
from ..model import Model
from ..scheduler import Scheduler
from .embedding_jobs import EmbeddingJobs
from .http_app import State
from .limits import ServerLimits
from .loop import SchedulerLoop
from .metrics import ModelMetrics
from .openai_app import make_openai_app
from .program_server import ServerParts
from .served_model import ServedModel

_LOG = logging.getLogger("relax-serve")
_GIB = 1 << 30
#: Most tokens of one step, as a multiple of the part of one prompt.
_CHUNKS = 2


def language_server(options: argparse.Namespace, limits: ServerLimits, stderr: TextIO) -> ServerParts:
    """Return the server of a language model. Each adapter is a model of its own name, with the same scheduler."""
    model = _load(options.model, options, stderr, _adapters(options.lora), embeddings=options.embeddings)
    name = options.name or model.description.name
    adapters = model.description.adapters
    if name in adapters:
        raise rx.OptionError(f"--lora: '{name}' is the name of the model, expected another name for the adapter")
    base = _serve(name, model, options, limits, stderr)
    # Embeddings come from the model without adapters.
    models = [base, *(replace(base, name=adapter, parent=name, adapter=adapter, width=None) for adapter in adapters)]
    state = State()
    app = make_openai_app(
        {each.name: each for each in models}, state, key=options.api_key, origins=options.allow_origin
    )
    base.loop.start()
    return ServerParts(app, state, [each.name for each in models], base.loop.close)


class _Progress:
    """Line for each part of a compilation."""

    def __init__(self, stderr: TextIO) -> None:
        self._stderr, self._told = stderr, ""

    def __call__(self, text: str, share: float) -> None:
        if text != self._told:
            self._stderr.write(f"relax-serve: {text}\n")
            self._stderr.flush()
        self._told = text


def _load(
    path: str,
    options: argparse.Namespace,
    stderr: TextIO,
    adapters: Mapping[str, str] | None = None,
    *,
    embeddings: bool = False,
) -> Model:
    return load(
        path,
        target=options.target,
        context=options.context,
        threads=options.threads,
        kv=options.kv,
        page_size=options.page,
        activations=options.activations,
        mesh=mesh_of(options),
        engine=options.engine,
        adapters=adapters,
        embeddings=embeddings,
        progress=_Progress(stderr),
    )


def _adapters(texts: list[str]) -> dict[str, str]:
    """Return the folders of --lora by name."""
    adapters: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not name or not equals or not path:
            raise rx.OptionError(f"--lora is '{text}', expected name=path")
        if name in adapters:
            raise rx.OptionError(f"--lora: the name '{name}' is used twice, expected a name for each adapter")
        adapters[name] = path
    return adapters


def _serve(name: str, model: Model, options: argparse.Namespace, limits: ServerLimits, stderr: TextIO) -> ServedModel:
    """Return a model with a scheduler and pages of its own."""
    description, tokenizer = model.description, model.tokenizer
    tokenizer.prepare()
    if description.is_encoder:
        return _encoder(name, model, options, limits)
    engine = model.engine(options.pages)
    stderr.write(
        f"relax-serve: {options.pages} pages of {engine.page_size} tokens: at most "
        f"{description.pages.bytes(options.pages) / _GIB:.2f} GiB of memory (--pages, --kv)\n"
    )
    scheduler = Scheduler(
        engine,
        max_sequences=options.max_seqs,
        prefill_chunk=options.prefill_chunk,
        max_batched_tokens=max(_CHUNKS * options.prefill_chunk, options.max_seqs),
        prefix_cache=not options.no_prefix_cache,
        draft=_draft(options, stderr),
        end_tokens=tokenizer.ends,
    )
    metrics = ModelMetrics()
    embeddings = _embeddings(model, options, metrics)
    return ServedModel(
        name=name,
        loop=SchedulerLoop(scheduler, metrics, most_requests=options.max_queue, embeddings=embeddings),
        tokenizer=tokenizer,
        context=min(engine.context, engine.page_size * engine.page_count),
        vocabulary=description.vocabulary,
        template=model.template,
        grammars=_grammars(model, limits),
        limits=limits,
        width=None if embeddings is None else description.width,
    )


def _encoder(name: str, model: Model, options: argparse.Namespace, limits: ServerLimits) -> ServedModel:
    """Return a model that has embeddings only."""
    metrics = ModelMetrics()
    scheduler = Scheduler(EncoderEngine(model.description))
    embeddings = _embeddings(model, options, metrics)
    return ServedModel(
        name=name,
        loop=SchedulerLoop(scheduler, metrics, most_requests=options.max_queue, embeddings=embeddings),
        tokenizer=model.tokenizer,
        context=model.description.context,
        vocabulary=model.description.vocabulary,
        has_answers=False,
        limits=limits,
        width=model.description.width,
    )


def _embeddings(model: Model, options: argparse.Namespace, metrics: ModelMetrics) -> EmbeddingJobs | None:
    """Return the queue of embeddings, or None for a model that was compiled without them."""
    if model.description.pooling is None:
        return None
    pooling = model.checked_pooling(options.pooling)
    return EmbeddingJobs(model.embedding_batches(options.prefill_chunk), pooling, metrics)


def _grammars(model: Model, limits: ServerLimits) -> GrammarCompiler | None:
    """Return the compiler of grammars, or None for a tokenizer without ends of answers."""
    tokenizer = model.tokenizer
    try:
        ends = sorted(tokenizer.ends)
        return GrammarCompiler(tokenizer.backend, model.description.vocabulary, ends, limits.grammar)
    except rx.RelaxError as error:
        _LOG.warning("answers under a grammar are refused: %s", error.message)
        return None


def _draft(options: argparse.Namespace, stderr: TextIO) -> Engine | Literal["ngram"] | None:
    """Return the source of drafts of --draft."""
    if options.draft is None or options.draft == "ngram":
        return "ngram" if options.draft else None
    return _load(options.draft, options, stderr).engine(options.pages)
