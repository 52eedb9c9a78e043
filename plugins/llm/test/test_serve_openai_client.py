# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The unmodified client `openai` with a server."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator

import pytest
from relax_mlir_llm.serve import embeddings, field_names, openai_requests
from served_text import SayingEngine, Texts, texts

openai = pytest.importorskip("openai", reason="the package openai is not installed")

TOOL = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}},
}


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts(SayingEngine(page_count=160, page_size=16, context=1000), key="secret") as made:
        yield made


@pytest.fixture
def client(served: Texts) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="secret", max_retries=0) as made:
        yield made


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"say:{text}⏎"}]


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "relax-mlir"


def test_completions(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="tiny", prompt="say:hello⏎", logprobs=2, n=2)
    assert [choice.text for choice in answer.choices] == ["hello"] * 2
    assert answer.choices[0].logprobs.tokens == ["h", "e", "llo"]
    assert answer.usage.completion_tokens == 6
    parts = client.completions.create(model="tiny", prompt="say:hello⏎", stream=True)
    assert "".join(part.choices[0].text for part in parts) == "hello"


def test_chats(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="tiny", messages=said("hello"), seed=1, logprobs=True, top_logprobs=2, extra_body={"min_p": 0.1}
    )
    assert answer.choices[0].message.content == "hello"
    assert answer.choices[0].logprobs.content[0].bytes == [ord("h")]
    assert answer.usage.prompt_tokens_details.cached_tokens == 0
    parts = client.chat.completions.create(
        model="tiny", messages=said("hello"), stream=True, stream_options={"include_usage": True}
    )
    *texts_, last = list(parts)
    assert "".join(part.choices[0].delta.content or "" for part in texts_) == "hello"
    assert last.usage.completion_tokens == 3 and last.choices == []


def test_all_fields_of_the_client_are_known(client: openai.OpenAI, caplog: pytest.LogCaptureFixture) -> None:
    resources = [
        (client.chat.completions, openai_requests._CHAT_FIELDS),
        (client.completions, openai_requests._COMPLETION_FIELDS),
        (client.embeddings, embeddings._FIELDS),
    ]
    for resource, known in resources:
        names = set(inspect.signature(resource.create).parameters)
        of_client = {"extra_headers", "extra_query", "extra_body", "timeout"}
        assert names - of_client <= {*known, *field_names._UNSUPPORTED}
    answer = client.chat.completions.create(
        model="tiny", messages=said("hello"), user="u", metadata={"a": "b"}, store=False, service_tier="auto",
        safety_identifier="s", prompt_cache_key="k", verbosity="low", parallel_tool_calls=True, reasoning_effort="low",
        prediction={"type": "content", "content": "hello"}, extra_body={"not_known_to_any_server": 1},
    )  # fmt: skip
    assert answer.choices[0].message.content == "hello"
    assert [each.args[0] for each in caplog.records if each.name == "relax-serve"] == ["not_known_to_any_server"]


def test_tools(client: openai.OpenAI) -> None:
    call = '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'
    answer = client.chat.completions.create(model="tiny", messages=said(call), tools=[TOOL])
    (found,) = answer.choices[0].message.tool_calls
    assert (found.function.name, json.loads(found.function.arguments)) == ("f", {"x": 1})
    assert answer.choices[0].finish_reason == "tool_calls"
    with client.chat.completions.stream(model="tiny", messages=said(call), tools=[TOOL]) as stream:
        (found,) = stream.get_final_completion().choices[0].message.tool_calls
    assert json.loads(found.function.arguments) == {"x": 1}


def test_schemas(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {**schema, "additionalProperties": False}}}
    answer = client.chat.completions.create(model="tiny", messages=said("hello"), response_format=form)
    assert isinstance(json.loads(answer.choices[0].message.content)["ok"], bool)


def test_errors_have_the_client_s_classes(client: openai.OpenAI, served: Texts) -> None:
    with pytest.raises(openai.NotFoundError, match="there is no model 'huge'"):
        client.completions.create(model="huge", prompt="a")
    with pytest.raises(openai.BadRequestError, match="temperature is 1000") as refused:
        client.completions.create(model="tiny", prompt="a", temperature=1000)
    assert refused.value.param == "temperature"
    with pytest.raises(openai.AuthenticationError), openai.OpenAI(base_url=f"{served.url}/v1", api_key="no") as other:
        other.models.list()
    with pytest.raises(openai.BadRequestError, match="has logits and no embeddings"):
        client.embeddings.create(model="tiny", input="a")


def test_a_closed_stream_cancels(client: openai.OpenAI, served: Texts) -> None:
    served.engine.seconds = 0.01
    parts = client.completions.create(model="tiny", prompt=f"say:{'a' * 90}⏎", stream=True, max_tokens=90)
    next(iter(parts))
    parts.close()
    served.check_empty()
    served.engine.seconds = 0.0
    assert served.metrics.ends["cancelled"] == 1
