# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens of texts and chats, versions, web pages of other origins, and answers that continue a message."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import relax_mlir as rx
from served_text import TOKENIZER, Texts, texts

USER = {"role": "user", "content": "say:abc⏎"}


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts(key="secret", origins=("https://page.example",)) as made:
        made.client.headers["Authorization"] = "Bearer secret"
        yield made


def ask(served: Texts, path: str, **body: object) -> httpx.Response:
    return served.client.post(path, json={"model": "tiny", **body})


@pytest.mark.parametrize("text", ["hello", "", "<|user|>hällo", " " * 70])
def test_tokens_of_a_text(served: Texts, text: str) -> None:
    answer = ask(served, "/tokenize", prompt=text)
    tokens = TOKENIZER.encode(text)
    assert answer.json() == {"count": len(tokens), "max_model_len": 200, "tokens": tokens}
    assert ask(served, "/detokenize", tokens=tokens).json() == {"prompt": text}


def test_tokens_of_a_chat(served: Texts) -> None:
    found = ask(served, "/tokenize", messages=[USER]).json()["tokens"]
    assert TOKENIZER.decode(found, skip_special=False) == "<|user|>say:abc⏎<|end|><|assistant|>"
    found = ask(served, "/tokenize", messages=[USER], add_generation_prompt=False).json()["tokens"]
    assert TOKENIZER.decode(found, skip_special=False) == "<|user|>say:abc⏎<|end|>"


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("/tokenize", {}, "the field prompt is missing, expected a text"),
        ("/tokenize", {"prompt": [1]}, "prompt is [1], expected a text"),
        ("/tokenize", {"prompt": "a" * 70_000}, "prompt has 70,000 bytes, expected at most 65,536"),
        ("/tokenize", {"prompt": "a", "return_token_strs": True}, "the field 'return_token_strs' is not supported"),
        ("/detokenize", {"tokens": "a"}, "tokens is 'a', expected a list"),
        ("/detokenize", {"tokens": [-1]}, "tokens is [-1], expected a list of tokens"),
        ("/detokenize", {"tokens": [266]}, "tokens has the token 266, expected less than 266"),
    ],
)
def test_refused_tokens(served: Texts, path: str, body: dict[str, object], problem: str) -> None:
    answer = ask(served, path, **body)
    assert answer.status_code == 400 and problem in answer.json()["error"]["message"]


def test_tokens_need_the_key(served: Texts) -> None:
    for path in ("/tokenize", "/detokenize"):
        assert httpx.post(f"{served.url}{path}", json={"prompt": "a"}).status_code == 401


def test_the_version(served: Texts) -> None:
    assert httpx.get(f"{served.url}/version").json() == {"version": rx.__version__}


def test_pages_of_other_origins(served: Texts) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    url = f"{served.url}/v1/chat/completions"
    allowed = httpx.options(url, headers={"Origin": "https://page.example", **asked})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "https://page.example"
    assert "authorization" in allowed.headers["access-control-allow-headers"]
    refused = httpx.options(url, headers={"Origin": "https://other.example", **asked})
    assert refused.status_code == 400 and "access-control-allow-origin" not in refused.headers


def test_an_answer_continues_the_last_message(served: Texts) -> None:
    messages = [USER, {"role": "assistant", "content": "ab"}]
    answer = ask(served, "/v1/chat/completions", messages=messages, continue_final_message=True)
    assert answer.json()["choices"][0]["message"]["content"] == "c"
    prompt = TOKENIZER.decode(served.scheduler.added[-1].prompt, skip_special=False)
    assert prompt == "<|user|>say:abc⏎<|end|><|assistant|>ab"


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [USER]},
        {"messages": [{"role": "assistant", "content": " "}]},
        {"messages": [{"role": "assistant", "content": "a"}], "add_generation_prompt": True},
    ],
)
def test_refused_continuations(served: Texts, body: dict[str, object]) -> None:
    answer = ask(served, "/v1/chat/completions", continue_final_message=True, **body)
    assert answer.status_code == 400
    assert "needs a last message of the assistant with a text, and no add_generation_prompt" in answer.text


def test_fields_without_an_effect(served: Texts) -> None:
    body = {"messages": [USER], "unknown_field": None, "cache_salt": "a", "request_id": "b", "priority": 0}
    assert ask(served, "/v1/chat/completions", **body).status_code == 200
