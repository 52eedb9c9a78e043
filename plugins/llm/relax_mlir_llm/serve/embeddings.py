# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests for embeddings in the form of OpenAI's API, and their answers."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from ..pooling import normalized
from .bodies import Fields
from .errors import ApiError, invalid
from .field_names import check_names
from .openai_requests import check_tokens, prompts_of
from .sampling_fields import IGNORED_FIELDS
from .served_model import ServedModel

if TYPE_CHECKING:
    from numpy import ndarray

_FIELDS = ("model", "input", "encoding_format", "dimensions", *IGNORED_FIELDS)
_FLOAT, _BASE64 = "float", "base64"
#: OpenAI's limit of the texts in a request.
MOST_TEXTS = 2048


@dataclass(frozen=True)
class EmbeddingCall:
    """Request for embeddings: texts as tokens, and the form of the result."""

    model: ServedModel
    texts: Sequence[Sequence[int]]
    #: Numbers in an embedding.
    dimensions: int
    form: str

    @property
    def count(self) -> int:
        """Return the number of tokens."""
        return sum(map(len, self.texts))


def parse_embeddings(fields: Fields, model: ServedModel) -> EmbeddingCall:
    """Return the call of /v1/embeddings."""
    check_names(fields, _FIELDS)
    width = check_embeddings(model)
    form = fields.choice("encoding_format", (_FLOAT, _BASE64)) or _FLOAT
    dimensions = fields.count("dimensions", width, 1, width)
    items = fields.get("input")
    if isinstance(items, list) and len(items) > MOST_TEXTS and not all(type(each) is int for each in items):
        raise invalid(f"input has {len(items)} texts, expected at most {MOST_TEXTS}", "input")
    texts = prompts_of(fields, "input", model, is_embedded=True)
    for text in texts:
        check_tokens(text, model, "input", model.context)
    return EmbeddingCall(model, texts, dimensions, form)


def check_embeddings(model: ServedModel, reason: str = "") -> int:
    """Return the numbers in an embedding. Raise ApiError for a model without embeddings, with a reason in front."""
    if model.width is None:
        raise invalid(
            f"{reason}the model '{model.name}' has logits and no embeddings: start the server with --embeddings",
            "model",
        )
    return model.width


def check_result(model: ServedModel, vectors: ndarray) -> None:
    """Raise ApiError for embeddings with infinite numbers or NaN."""
    if not numpy.isfinite(vectors).all():
        raise ApiError(
            500, f"an embedding of '{model.name}' has numbers that are not finite: the weights may be damaged"
        )


def embeddings_answer(call: EmbeddingCall, pooled: ndarray) -> dict[str, object]:
    """Return the body of the answer from pooled hidden states [texts, width]."""
    found = normalized(pooled, call.dimensions)
    check_result(call.model, found)
    data = [
        {"object": "embedding", "index": number, "embedding": _encode(each, call.form)}
        for number, each in enumerate(found)
    ]
    usage = {"prompt_tokens": call.count, "total_tokens": call.count}
    return {"object": "list", "data": data, "model": call.model.name, "usage": usage}


def _encode(values: ndarray, form: str) -> object:
    if form == _FLOAT:
        return values.tolist()
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")
