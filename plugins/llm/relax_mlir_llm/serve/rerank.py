# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests that rank documents by their relevance to a query, in the form of Jina and vLLM."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..pooling import normalized
from .bodies import Fields
from .embeddings import MOST_TEXTS, check_embeddings, check_result
from .errors import invalid
from .field_names import check_names
from .openai_requests import check_tokens
from .sampling_fields import IGNORED_FIELDS
from .served_model import ServedModel

if TYPE_CHECKING:
    from numpy import ndarray

_FIELDS = ("model", "query", "documents", "top_n", "return_documents", *IGNORED_FIELDS)


@dataclass(frozen=True)
class RankingCall:
    """Request for a ranking: the documents, and the tokens of the query and of each document."""

    model: ServedModel
    documents: Sequence[str]
    texts: Sequence[Sequence[int]]
    #: Number of results.
    most: int
    has_documents: bool


def parse_ranking(fields: Fields, model: ServedModel) -> RankingCall:
    """Return the call of /v1/rerank."""
    check_names(fields, _FIELDS)
    check_embeddings(model, "rerank needs embeddings, and ")
    query, documents = fields.needed_text("query"), _documents(fields)
    most = fields.count("top_n", len(documents), 1, 1 << 31)
    texts = [_tokens(query, "query", model)]
    texts += [_tokens(text, f"documents.{number}", model) for number, text in enumerate(documents)]
    return RankingCall(model, documents, texts, most, fields.flag("return_documents", True))


def _documents(fields: Fields) -> list[str]:
    """Return the texts of the documents, which are texts or objects with a text."""
    if not (items := fields.items("documents")) or len(items) > MOST_TEXTS:
        raise fields.refuse("documents", f"a list of 1 to {MOST_TEXTS} texts")
    return [_document(item, f"documents.{number}") for number, item in enumerate(items)]


def _document(item: object, path: str) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        raise invalid(f"{path} is {item!r:.60}, expected a text, or an object with the field text", path)
    return Fields(item, path).needed_text("text")


def _tokens(text: str, param: str, model: ServedModel) -> list[int]:
    tokens = model.encode(text, param, is_embedded=True)
    check_tokens(tokens, model, param, model.context)
    return tokens


def ranking_answer(call: RankingCall, pooled: ndarray) -> dict[str, object]:
    """Return the body of the answer from pooled hidden states [texts, width], of which the first is the query."""
    vectors = normalized(pooled, pooled.shape[1])
    check_result(call.model, vectors)
    scores = [float(score) for score in vectors[1:] @ vectors[0]]
    order = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
    count = sum(map(len, call.texts))
    return {
        "id": f"rerank-{uuid.uuid4().hex}",
        "model": call.model.name,
        "usage": {"prompt_tokens": count, "total_tokens": count},
        "results": [_result(call, number, scores[number]) for number in order[: call.most]],
    }


def _result(call: RankingCall, number: int, score: float) -> dict[str, object]:
    document = {"document": {"text": call.documents[number]}} if call.has_documents else {}
    return {"index": number, **document, "relevance_score": score}
