# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests that a server refuses: statuses, and sentences with expected and actual values."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from relax_mlir_llm.serve import field_names
from served_text import Texts, texts


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts() as made:
        yield made


TEXT = {"model": "tiny", "prompt": "say:a⏎"}
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "say:a⏎"}]}
TOOL = {"type": "function", "function": {"name": "f"}}

#: Body of a completion, the field of the error, and a part of the message.
COMPLETIONS = [
    ({"model": 5, "prompt": "a"}, "model", "model is 5, expected a text"),
    ({"model": "tiny"}, "prompt", "the field prompt is missing"),
    ({**TEXT, "prompt": ""}, "prompt", "has no tokens"),
    ({**TEXT, "prompt": []}, "prompt", "has no tokens"),
    ({**TEXT, "prompt": 5}, "prompt", "prompt is 5, expected a text"),
    ({**TEXT, "prompt": [1, "a"]}, "prompt", "expected a text, a list of tokens"),
    ({**TEXT, "prompt": [1, -1]}, "prompt", "expected a text, a list of tokens"),
    ({**TEXT, "prompt": [[1], [True]]}, "prompt", "expected a text, a list of tokens"),
    ({**TEXT, "prompt": [100000]}, "prompt", "has the token 100000, expected less than 266"),
    ({**TEXT, "prompt": "a" * 200}, "prompt", "prompt has 200 tokens, expected fewer than 200"),
    ({**TEXT, "max_tokens": 0}, "max_tokens", "max_tokens is 0, expected an integer from 1 to 200"),
    ({**TEXT, "max_tokens": "5"}, "max_tokens", "max_tokens is '5', expected an integer"),
    ({**TEXT, "max_tokens": True}, "max_tokens", "expected an integer"),
    ({**TEXT, "n": 0}, "n", "n is 0, expected an integer from 1 to 128"),
    ({**TEXT, "best_of": 2}, "best_of", "the same number as n"),
    ({**TEXT, "temperature": -1}, "temperature", "temperature is -1, expected a number from 0"),
    ({**TEXT, "temperature": "hot"}, "temperature", "temperature is 'hot'"),
    ({**TEXT, "top_p": 0}, "top_p", "top_p is 0, expected a number above 0"),
    ({**TEXT, "top_k": -2}, "top_k", "top_k is -2"),
    ({**TEXT, "min_p": 2}, "min_p", "min_p is 2"),
    ({**TEXT, "presence_penalty": 3}, "presence_penalty", "from -2 to 2"),
    ({**TEXT, "repetition_penalty": 0}, "repetition_penalty", "repetition_penalty is 0"),
    ({**TEXT, "seed": 1.5}, "seed", "seed is 1.5, expected an integer"),
    ({**TEXT, "logit_bias": {"a": 1}}, "logit_bias", "logit_bias has the key 'a'"),
    ({**TEXT, "logit_bias": {"1": 200}}, "logit_bias", "expected a number from -100 to 100"),
    ({**TEXT, "logit_bias": {"9999": 1}}, "logit_bias", "has the token 9999, expected less than 266"),
    ({**TEXT, "logit_bias": [1]}, "logit_bias", "expected a mapping"),
    ({**TEXT, "stop": 5}, "stop", "stop is 5, expected a text, or a list"),
    ({**TEXT, "stop": [""]}, "stop", "texts with at least one character"),
    ({**TEXT, "stop": ["a"] * 65}, "stop", "a list of at most 64 texts"),
    ({**TEXT, "stop_token_ids": ["a"]}, "stop_token_ids", "stop_token_ids is ['a']"),
    ({**TEXT, "logprobs": 21}, "logprobs", "from 0 to 20"),
    ({**TEXT, "max_tokens": 0}, "max_tokens", "max_tokens is 0, expected an integer from 1 to 200"),
    ({**TEXT, "logprobs": -1, "echo": True}, "logprobs", "from 0 to 20"),
    ({**TEXT, "min_tokens": -1}, "min_tokens", "min_tokens is -1, expected an integer of at least 0"),
    ({**TEXT, "min_tokens": 9, "max_tokens": 8}, "min_tokens", "min_tokens is 9, expected at most max_tokens, 8"),
    ({**TEXT, "min_tokens": 2, "guided_regex": "a"}, "min_tokens", "min_tokens and guided_regex exclude each other"),
    ({**TEXT, "suffix": "b"}, "suffix", "suffix: 'tiny' fills in no gaps, for its tokenizer has no tokens such as"),
    ({**TEXT, "suffix": "b", "echo": True}, "suffix", "suffix and echo exclude each other"),
    ({**TEXT, "suffix": 5}, "suffix", "suffix is 5, expected a text"),
    ({**TEXT, "stream": "yes"}, "stream", "stream is 'yes', expected true or false"),
    ({**TEXT, "stream_options": {"include_usage": True}}, "stream_options", "needs stream: true"),
    ({**TEXT, "stream": True, "stream_options": {"all": True}}, "stream_options.all", "is not supported"),
    ({**TEXT, "use_beam_search": True}, "use_beam_search", "is not supported: expected no such field, or False"),
    ({**TEXT, "prompt_logprobs": 1}, "prompt_logprobs", "is not supported: expected no such field"),
    ({**TEXT, "guided_json": "5"}, "guided_json", "guided_json is 5, expected a JSON schema"),
    ({**TEXT, "guided_json": "{"}, "guided_json", "is no valid JSON"),
    ({**TEXT, "guided_json": {"type": "nothing"}}, "guided_json", "JSON schema"),
    ({**TEXT, "guided_regex": "("}, "guided_regex", "regular expression"),
    ({**TEXT, "guided_regex": 5}, "guided_regex", "expected a text"),
    ({**TEXT, "guided_grammar": "start: other"}, "guided_grammar", "Lark grammar"),
    ({**TEXT, "guided_choice": []}, "guided_choice", "expected a list of texts"),
    ({**TEXT, "guided_regex": "((((a{99}){99}){99}){99}){99}"}, "guided_regex", "the grammar is too large"),
    ({**TEXT, "guided_grammar": "start: start"}, "guided_grammar", "no text matches the grammar"),
    ({**TEXT, "guided_json": {"$ref": "#"}}, "guided_json", "no text matches the grammar"),
    ({**TEXT, "guided_regex": "xxxx((((a{99}){99}){99}){99}){99}"}, "guided_regex", "the grammar is too large"),
    ({**TEXT, "guided_regex": "a", "guided_choice": ["b"]}, "guided_choice", "exclude each other"),
    ({**TEXT, "structured_outputs": {"xml": "a"}}, "structured_outputs.xml", "is not supported"),
]

MESSAGE = {"role": "user", "content": "a"}
CHATS = [
    ({"model": "tiny"}, "messages", "missing or empty"),
    ({**CHAT, "messages": []}, "messages", "missing or empty"),
    ({**CHAT, "messages": "hello"}, "messages", "expected a list"),
    ({**CHAT, "messages": ["hello"]}, "messages.0", "expected an object"),
    ({**CHAT, "messages": [{"content": "a"}]}, "messages.0.role", "expected one of system"),
    ({**CHAT, "messages": [{"role": "king", "content": "a"}]}, "messages.0.role", "messages.0.role is 'king'"),
    ({**CHAT, "messages": [{"role": "user"}]}, "messages.0.content", "is missing, expected a text"),
    ({**CHAT, "messages": [{"role": "user", "content": 5}]}, "messages.0.content", "a list of parts"),
    (
        {**CHAT, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        "messages.0.content.0.type",
        "reads neither pictures nor sounds",
    ),
    ({**CHAT, "messages": [{"role": "user", "content": "refuse"}]}, "messages", "no such message"),
    (
        {**CHAT, "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "["}}]}]},
        "messages.0.tool_calls.0.function.arguments",
        "the text of a JSON object",
    ),
    ({**CHAT, "messages": [{"role": "user", "content": "a" * 300}]}, "messages", "expected fewer than 200"),
    ({**CHAT, "top_logprobs": 2}, "top_logprobs", "needs logprobs: true"),
    ({**CHAT, "functions": [{"name": "f"}]}, "functions", "is not supported: expected no such field, or []"),
    ({**CHAT, "web_search_options": {}}, "web_search_options", "is not supported"),
    ({**CHAT, "modalities": ["audio"]}, "modalities", '["text"]'),
    ({**CHAT, "tools": [{"function": {"name": "f"}}]}, "tools.0.type", "function"),
    ({**CHAT, "tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools.0.function.name", "letters"),
    ({**CHAT, "tools": [{"type": "function"}]}, "tools.0.function", "an object with the name"),
    ({**CHAT, "tool_choice": "required"}, "tool_choice", "tool_choice needs tools"),
    ({**CHAT, "tools": [TOOL], "tool_choice": "always"}, "tool_choice", "one of none, auto, required"),
    (
        {**CHAT, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}},
        "tool_choice",
        "names 'g', expected one of f",
    ),
    (
        {**CHAT, "tools": [TOOL], "tool_choice": "required", "response_format": {"type": "json_object"}},
        "tool_choice",
        "exclude each other",
    ),
    ({**CHAT, "response_format": {"type": "xml"}}, "response_format.type", "one of text, json_object"),
    ({**CHAT, "response_format": {}}, "response_format.type", "one of text, json_object"),
    ({**CHAT, "response_format": {"type": "json_schema"}}, "response_format.json_schema.schema", "is missing"),
    (
        {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 5}}}},
        "response_format.json_schema.schema",
        "JSON schema",
    ),
    ({**CHAT, "chat_template_kwargs": {"messages": []}}, "chat_template_kwargs", "a field of its own"),
]


@pytest.mark.parametrize("body, param, message", COMPLETIONS)
def test_completions_refuse(served: Texts, body: dict[str, object], param: str, message: str) -> None:
    check(served, "completions", body, param, message)


def test_unknown_fields_are_logged_once(served: Texts, caplog: pytest.LogCaptureFixture) -> None:
    neutral = {"use_beam_search": False, "bad_words": [], "length_penalty": 1.0, "prediction": {"content": "a"}}
    for _ in range(2):
        body = {**TEXT, **neutral, "temprature": 1, "keep_alive": {"a": [1]}, "unknown": None}
        assert served.post("completions", **body).json()["choices"][0]["text"] == "a"
        assert served.post("chat/completions", **{**CHAT, "keep_alive": 5}).status_code == 200
    own = [each.getMessage() for each in caplog.records if each.name == "relax-serve"]
    assert own == [
        "requests have the unknown field 'temprature', which has no effect; did you mean 'temperature'?",
        "requests have the unknown field 'keep_alive', which has no effect",
    ]


def test_the_log_of_unknown_fields_is_bounded(
    served: Texts, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_names, "_LOGGED", set())
    start = time.monotonic()
    served.post("completions", **{**TEXT, **{f"{number}\n": 1 for number in range(20000)}, "z" * 2_000_000: 1})
    assert time.monotonic() - start < 3
    own = [each.getMessage() for each in caplog.records if each.name == "relax-serve"]
    assert len(own) == 100 and all("\n" not in each and len(each) < 200 for each in own)


@pytest.mark.parametrize("body, param, message", CHATS)
def test_chats_refuse(served: Texts, body: dict[str, object], param: str, message: str) -> None:
    check(served, "chat/completions", body, param, message)


def check(served: Texts, path: str, body: dict[str, object], param: str, message: str) -> None:
    before = len(served.scheduler.added)
    answer = served.client.post(f"/v1/{path}", json=body)
    error = answer.json()["error"]
    assert answer.status_code == 400, error
    assert error["type"] == "invalid_request_error" and error["param"] == param, error
    assert message in error["message"] and "\n" not in error["message"], error
    assert len(served.scheduler.added) == before


@pytest.mark.parametrize(
    "body, message",
    [
        (b"", "no valid JSON"),
        (b"{", "no valid JSON"),
        (b"[1]", "expected a JSON object"),
        (b"\xff", "no valid JSON"),
        (b'{"model": NaN}', "NaN is no number"),
        (b"[" * 50000, "no valid JSON"),
        (b'{"model": "tiny", "prompt": "\\ud800"}', "no valid JSON"),
        (b'{"model": "tiny", "seed": ' + b"9" * 5000 + b"}", "no valid JSON"),
    ],
)
def test_bodies_that_are_no_json(served: Texts, body: bytes, message: str) -> None:
    answer = served.client.post("/v1/completions", content=body)
    assert answer.status_code == 400 and message in answer.json()["error"]["message"]


def test_unknown_models_and_paths(served: Texts) -> None:
    answer = served.client.post("/v1/completions", json={**TEXT, "model": "huge"})
    error = answer.json()["error"]
    assert answer.status_code == 404 and error["code"] == "model_not_found" and "there is tiny" in error["message"]
    assert served.client.get("/v1/models/huge").status_code == 404
    answer = served.client.get("/v1/nothing")
    assert answer.status_code == 404 and "/v1/nothing" in answer.json()["error"]["message"]
    assert served.client.get("/v1/completions").status_code == 405


def test_a_model_without_hidden_states_has_no_embeddings(served: Texts) -> None:
    answer = served.post("embeddings", input="hello")
    assert answer.status_code == 400 and "has logits and no embeddings" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{}", "the body has 299999 commas, expected at most 200000"),
        ("1", "the body has 299999 commas, expected at most 200000"),
        ('{"a":1}', "colons and brackets, expected at most 60000"),
        ("[[1]]", "colons and brackets, expected at most 60000"),
    ],
)
def test_bodies_of_many_values_are_refused(served: Texts, value: str, problem: str) -> None:
    count = 300_000 if "commas" in problem else 100_000
    body = '{"messages": [' + ", ".join([value] * count) + "]}"
    start = time.monotonic()
    answer = served.client.post("/v1/chat/completions", content=body.encode())
    assert answer.status_code == 413 and problem in answer.text
    assert time.monotonic() - start < 1


def test_large_bodies_are_refused(served: Texts) -> None:
    body = json.dumps({**TEXT, "prompt": "a" * (5 << 20)}).encode()
    assert served.client.post("/v1/completions", content=body).status_code == 413
    chunks = (body[start : start + (1 << 20)] for start in range(0, len(body), 1 << 20))
    answer = served.client.post("/v1/completions", content=chunks)  # without Content-Length
    assert answer.status_code == 413 and "expected at most 4194304" in answer.json()["error"]["message"]


def deep(depth: int) -> object:
    """Return an object in objects."""
    found: object = {"type": "string"}
    for _ in range(depth):
        found = {"properties": {"a": found}}
    return found


@pytest.mark.parametrize("depth", [50, 200, 450])
def test_deep_schemas_do_not_break_the_server(served: Texts, depth: int) -> None:
    answer = served.post("completions", prompt="say:a⏎", guided_json=deep(depth), max_tokens=2)
    assert answer.status_code in (200, 400), answer.text
    function = {"name": "f", "parameters": deep(depth)}
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": "a"}]
    answer = served.post("chat/completions", messages=messages, tools=tools, tool_choice="required", max_tokens=2)
    assert answer.status_code in (200, 400), answer.text


def test_numbers_of_many_digits_are_refused(served: Texts) -> None:
    for name in ("temperature", "seed", "top_k", "logprobs"):
        answer = served.post("completions", prompt="say:a⏎", **{name: 10**400})
        assert answer.status_code == 400, name


def test_other_requests_go_on_after_refusals(served: Texts) -> None:
    assert served.complete("still here")["text"] == "still here"
