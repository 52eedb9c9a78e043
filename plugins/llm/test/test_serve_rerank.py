# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""/v1/rerank: scores, order, fields and errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy
import pytest
from served_text import TOKENIZER, SummingEngine, Texts, texts

DOCUMENTS = ["z", "a", "aaaa", "zz bottom", "a"]


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts(hidden=SummingEngine()) as server:
        server.models["loud"] = replace(server.model, name="loud", width=None)
        yield server


def unit(text: str) -> numpy.ndarray:
    """Return the hidden state of SummingEngine behind a text, of length 1."""
    tokens = TOKENIZER.encode(text)
    state = numpy.array([sum(tokens), len(tokens), tokens[-1]], "f8")
    return state / numpy.linalg.norm(state)


def test_documents_by_falling_cosine(served: Texts) -> None:
    answer = served.post("rerank", query="ab", documents=DOCUMENTS).json()
    scores = [float(unit("ab") @ unit(text)) for text in DOCUMENTS]
    order = sorted(range(len(DOCUMENTS)), key=lambda number: (-scores[number], number))
    assert [result["index"] for result in answer["results"]] == order
    for result in answer["results"]:
        assert result["document"] == {"text": DOCUMENTS[result["index"]]}
        assert result["relevance_score"] == pytest.approx(scores[result["index"]], rel=1e-6)
    count = sum(len(TOKENIZER.encode(text)) for text in ("ab", *DOCUMENTS))
    assert answer["usage"] == {"prompt_tokens": count, "total_tokens": count} and answer["model"] == "tiny"


def test_other_forms_of_documents_and_results(served: Texts) -> None:
    body = {"query": "ab", "documents": [{"text": "z"}, "aaaa"]}
    whole = served.post("rerank", **body).json()["results"]
    assert [result["document"]["text"] for result in whole] == ["aaaa", "z"]
    short = served.post("rerank", **body, top_n=1, return_documents=False).json()["results"]
    assert short == [{"index": 1, "relevance_score": whole[0]["relevance_score"]}]
    assert len(served.post("rerank", **body, top_n=9).json()["results"]) == 2
    assert served.client.post("/rerank", json={"model": "tiny", **body}).json()["results"] == whole


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ({"documents": ["a"]}, "query", "the field query is missing, expected a text"),
        ({"query": "a"}, "documents", "documents is None, expected a list of 1 to 2048 texts"),
        ({"query": "a", "documents": []}, "documents", "documents is [], expected a list"),
        ({"query": "a", "documents": ["a"] * 2049}, "documents", "expected a list of 1 to 2048 texts"),
        ({"query": "a", "documents": ["a", 5]}, "documents.1", "documents.1 is 5, expected a text, or an object"),
        ({"query": "a", "documents": [{"title": "a"}]}, "documents.0.text", "the field documents.0.text is missing"),
        ({"query": "a", "documents": ["a", ""]}, "documents.1", "documents.1 has no tokens"),
        ({"query": "a" * 201, "documents": ["a"]}, "query", "query has 201 tokens, expected at most 200"),
        ({"query": "a", "documents": ["a"], "top_n": 0}, "top_n", "top_n is 0, expected an integer from 1"),
        ({"query": "a", "documents": ["a"], "model": "loud"}, "model", "rerank needs embeddings, and the model 'loud'"),
    ],
)
def test_refused_requests(served: Texts, body: dict[str, object], field: str, problem: str) -> None:
    answer = served.post("rerank", **body)
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["param"] == field and problem in error["message"]


def test_the_paths_need_the_key() -> None:
    with texts(hidden=SummingEngine(), key="secret") as server:
        for path in ("/v1/rerank", "/rerank"):
            assert server.client.post(path, json={"query": "a", "documents": ["a"]}).status_code == 401
