# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers of /v1/responses: items, typed events, tools, formats, and refused fields."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator

import pytest
from relax_mlir_llm.serve import field_names, response_requests
from served_text import TOKENIZER, SayingEngine, Texts, texts

TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
CALL = '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts(SayingEngine(page_count=160, page_size=16, context=1000)) as made:
        yield made


def respond(served: Texts, said: str, **body: object) -> dict[str, object]:
    answer = served.post("responses", input=f"say:{said}⏎", **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def events(served: Texts, text: str, **body: object) -> list[dict[str, object]]:
    """Return the events of a stream. Check that each line `event` has the type of its data, and the numbers."""
    body = {"model": "tiny", "input": f"say:{text}⏎", "stream": True, **body}
    with served.client.stream("POST", "/v1/responses", json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    found = [json.loads(line.removeprefix("data: ")) for line in lines[1::2]]
    assert [line.removeprefix("event: ") for line in lines[::2]] == [each["type"] for each in found]
    assert [each["sequence_number"] for each in found] == list(range(len(found)))
    return found


def prompt(served: Texts) -> str:
    return TOKENIZER.decode(served.scheduler.added[-1].prompt, skip_special=False)


def test_a_response_has_a_message_and_the_usage(served: Texts) -> None:
    found = respond(served, "hello", metadata={"a": "b"}, instructions="Be kind.", temperature=0.5, max_output_tokens=9)
    (item,) = found["output"]
    assert found["object"] == "response" and found["status"] == item["status"] == "completed"
    assert (item["type"], item["role"]) == ("message", "assistant")
    assert item["content"] == [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}]
    assert found["usage"]["output_tokens"] == 3 and found["usage"]["input_tokens_details"]["cached_tokens"] == 0
    assert found["usage"]["total_tokens"] == found["usage"]["input_tokens"] + 3
    expected = {"metadata": {"a": "b"}, "instructions": "Be kind.", "temperature": 0.5, "max_output_tokens": 9}
    assert {name: found[name] for name in expected} == expected
    assert prompt(served) == "<|system|>Be kind.<|end|><|user|>say:hello⏎<|end|><|assistant|>"


def test_a_limit_makes_a_response_incomplete(served: Texts) -> None:
    found = respond(served, "hello", max_output_tokens=2)
    assert found["status"] == "incomplete" and found["incomplete_details"] == {"reason": "max_output_tokens"}
    assert found["output"][0]["content"][0]["text"] == "he" and found["output"][0]["status"] == "incomplete"
    last = events(served, "hello", max_output_tokens=2)[-1]
    assert last["type"] == "response.incomplete" and last["response"]["status"] == "incomplete"


def test_items_are_the_messages_of_a_chat(served: Texts) -> None:
    items = [
        {"role": "developer", "content": [{"type": "input_text", "text": each} for each in ("Be ", "kind")]},
        {"type": "message", "role": "user", "content": "one"},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
        {"type": "function_call", "call_id": "a1", "name": "f", "arguments": '{"x": 1}'},
        {"type": "function_call", "call_id": "a2", "name": "g", "arguments": ""},
        {"type": "function_call_output", "call_id": "a1", "output": "three"},
        {"type": "function_call", "call_id": "a3", "name": "g", "arguments": "{}"},
        {"role": "user", "content": "say:x⏎"},
    ]  # fmt: skip
    rendered: list[dict[str, object]] = []
    template = served.model.template.render
    try:
        object.__setattr__(
            served.model.template,
            "render",
            lambda messages, **rest: rendered.extend(messages) or template(messages, **rest),
        )
        assert served.post("responses", input=items).json()["output"][0]["content"][0]["text"] == "x"
    finally:
        del served.model.template.render
    roles = [each["role"] for each in rendered]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert rendered[0]["content"] == "Be kind" and rendered[2]["content"] == "two"
    calls = [(each["id"], each["function"]) for each in rendered[2]["tool_calls"]]
    assert calls == [("a1", {"name": "f", "arguments": {"x": 1}}), ("a2", {"name": "g", "arguments": {}})]
    assert rendered[3] == {"role": "tool", "tool_call_id": "a1", "content": "three"}
    assert [each["id"] for each in rendered[4]["tool_calls"]] == ["a3"]


def test_a_stream_has_typed_events(served: Texts) -> None:
    found = events(served, "hello")
    kinds = [each["type"] for each in found]
    assert kinds == [
        *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
        *["response.output_text.delta"] * 3,
        *("response.output_text.done", "response.content_part.done", "response.output_item.done"),
        "response.completed",
    ]
    assert "".join(each.get("delta", "") for each in found) == "hello"
    final = found[-1]["response"]
    assert found[0]["response"]["status"] == "in_progress" and found[0]["response"]["id"] == final["id"]
    assert final["status"] == "completed" and final["output"] == [found[-2]["item"]]
    assert final["output"][0]["content"] == [found[-3]["part"]] and found[-4]["text"] == "hello"
    assert final["usage"]["output_tokens"] == 3
    empty = events(served, "")[-1]["response"]
    assert empty["output"][0]["content"][0]["text"] == ""


def test_calls_of_functions_are_items(served: Texts) -> None:
    found = respond(served, CALL, tools=[TOOL])
    (item,) = found["output"]
    assert (item["type"], item["name"], item["arguments"]) == ("function_call", "f", '{"x": 1}')
    text, call = respond(served, f"Sure. {CALL}", tools=[TOOL])["output"]
    assert text["content"][0]["text"] == "Sure." and call["name"] == "f"
    stream = events(served, f"Sure. {CALL}", tools=[TOOL])
    assert [each["type"] for each in stream][-5:] == [
        *("response.output_item.added", "response.function_call_arguments.delta"),
        *("response.function_call_arguments.done", "response.output_item.done", "response.completed"),
    ]
    assert stream[-3]["arguments"] == '{"x": 1}' and stream[-3]["output_index"] == 1
    assert [each["type"] for each in stream[-1]["response"]["output"]] == ["message", "function_call"]
    for choice in ("required", {"type": "function", "name": "f"}):
        (item,) = respond(served, "zz", tools=[TOOL], tool_choice=choice, temperature=0)["output"]
        assert item["name"] == "f" and isinstance(json.loads(item["arguments"]), dict)


def test_formats_of_the_text(served: Texts) -> None:
    form = {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}
    found = respond(served, "zz", text={"format": form, "verbosity": "low"})
    assert isinstance(json.loads(found["output"][0]["content"][0]["text"])["ok"], bool)
    assert found["text"]["format"] == form
    for kind, said in (("json_object", "{}"), ("text", "a")):
        found = respond(served, said, text={"format": {"type": kind}})
        assert found["output"][0]["content"][0]["text"] == said


def test_log_probabilities(served: Texts) -> None:
    body = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    logprobs = respond(served, "hé", **body)["output"][0]["content"][0]["logprobs"]
    assert [bytes(each["bytes"]) for each in logprobs] == [b"h", b"\xc3", b"\xa9"]
    assert [len(each["top_logprobs"]) for each in logprobs] == [2, 2, 2]
    stream = events(served, "hé", **body)
    parts = [each for each in stream if each["type"] == "response.output_text.delta"]
    assert [each["token"] for part in parts for each in part["logprobs"]] == [each["token"] for each in logprobs]


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ({}, "input", "input is None, expected a text, or a list with at least one item"),
        ({"input": []}, "input", "input is [], expected a text"),
        ({"input": [5]}, "input.0", "input.0 is 5, expected an object"),
        ({"input": [{"role": "system", "content": "a"}]}, "input", "has no message besides those of the system"),
        ({"input": [{"role": "tool", "content": "a"}]}, "input.0.role", "expected one of system, developer, user"),
        ({"input": [{"role": "user"}]}, "input.0.content", "expected a text, or a list of parts"),
        ({"input": [{"type": "item_reference", "id": "a"}]}, "input.0.type", "expected one of message, function_call"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input.0.content.0.type", "neither"),
        ({"input": [{"type": "function_call", "name": "f"}]}, "input.0.arguments", "the text of a JSON object"),
        ({"input": "a", "previous_response_id": "r"}, "previous_response_id", "expected no such field"),
        ({"input": "a", "background": True}, "background", "expected no such field, or False"),
        ({"input": "a", "max_tokens": 5}, "max_tokens", "the field 'max_tokens' is not supported"),
        ({"input": "a", "guided_regex": "a"}, "guided_regex", "the field 'guided_regex' is not supported"),
        ({"input": "a", "continue_final_message": True}, "continue_final_message", "or False"),
        ({"input": "a", "max_output_tokens": 0}, "max_output_tokens", "expected an integer from 1 to 1000"),
        ({"input": "a", "tools": [{"type": "web_search"}]}, "tools.0.type", "calls no tools by itself"),
        ({"input": "a", "tools": [{"type": "function"}]}, "tools.0.name", "the field tools.0.name is missing"),
        ({"input": "a", "text": {"format": {"type": "xml"}}}, "text.format.type", "expected one of text, json_object"),
        ({"input": "a", "text": {"format": {"type": "json_schema"}}}, "text.format.schema", "expected a JSON schema"),
        ({"input": "a", "include": ["file"]}, "include", "include is ['file'], expected a list of"),
        ({"input": "a", "temperature": "hot"}, "temperature", "temperature is 'hot'"),
        ({"input": "refuse"}, "input", "the model's chat template refuses these messages"),
        ({"input": "a" * 1000}, "input", "input has 10"),
        ({"input": "a" * 70_000}, "input", "input has 70,000 bytes"),
        ({"input": "a", "stream_options": {}}, "stream_options", "stream_options needs stream: true"),
    ],
)  # fmt: skip
def test_refused_requests(served: Texts, body: dict[str, object], field: str, problem: str) -> None:
    answer = served.post("responses", **body)
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["param"] == field and problem in error["message"], error


def test_a_failure_is_an_event(served: Texts) -> None:
    served.engine.error = RuntimeError("broken")
    try:
        found = events(served, "a")
        assert [each["type"] for each in found][-1] == "response.failed"
        error = found[-1]["response"]["error"]
        assert error["code"] == "engine_failed" and "broken" in error["message"]
        assert served.post("responses", input="say:a⏎").status_code == 500
    finally:
        served.engine.error = None


def test_the_client_of_openai(served: Texts) -> None:
    openai = pytest.importorskip("openai", reason="the package openai is not installed")
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        names = set(inspect.signature(client.responses.create).parameters)
        known = {*response_requests.FIELDS, *response_requests.UNSUPPORTED, *field_names._UNSUPPORTED}
        assert names - {"extra_headers", "extra_query", "extra_body", "timeout"} <= known
        assert client.responses.create(model="tiny", input="say:hello⏎").output_text == "hello"
        with client.responses.stream(model="tiny", input=f"say:Sure. {CALL}⏎", tools=[TOOL]) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_response()
        assert {"response.output_text.delta", "response.function_call_arguments.done", "response.completed"} <= kinds
        assert final.output_text == "Sure." and final.output[1].name == "f"
        with pytest.raises(openai.BadRequestError, match="previous_response_id"):
            client.responses.create(model="tiny", input="a", previous_response_id="resp_1")
