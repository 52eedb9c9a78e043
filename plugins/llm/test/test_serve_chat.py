# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields of /v1/chat/completions: messages, tools, and answers under a grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from relax_mlir_llm.chat_template import ChatTemplate
from served_text import TOKENIZER, SayingEngine, Texts, texts

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Return the weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"$ref": "#/$defs/city"}},
            "required": ["city"],
            "additionalProperties": False,
            "$defs": {"city": {"enum": ["Rome", "Oslo"]}},
        },
    },
}
TIME = {"type": "function", "function": {"name": "time"}}
CALL = '{"name": "weather", "arguments": {"city": "Rome"}}'
ARGUMENTS = {"city": "Rome"}


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts(SayingEngine(page_count=160, page_size=16, context=1200)) as made:
        yield made


def prompt_of(served: Texts) -> str:
    """Return the last prompt of the scheduler."""
    return TOKENIZER.decode(served.scheduler.added[-1].prompt, skip_special=False)


def test_an_answer_is_a_message(served: Texts) -> None:
    choice = served.chat("hello")
    assert choice == {
        "index": 0,
        "message": {"role": "assistant", "content": "hello", "refusal": None},
        "logprobs": None,
        "finish_reason": "stop",
    }
    assert prompt_of(served) == "<|user|>say:hello⏎<|end|><|assistant|>"


def test_a_stream_begins_with_the_role(served: Texts) -> None:
    messages = [{"role": "user", "content": "say:hey⏎"}]
    events = served.stream("chat/completions", messages=messages)
    deltas = [event["choices"][0]["delta"] for event in events]
    assert deltas[0] == {"role": "assistant", "content": ""} and deltas[-1] == {}
    assert [delta["content"] for delta in deltas[1:-1]] == ["h", "e", "y"]
    assert {event["object"] for event in events} == {"chat.completion.chunk"}
    assert [event["choices"][0]["finish_reason"] for event in events] == [None] * 4 + ["stop"]


def test_messages_have_parts_and_roles(served: Texts) -> None:
    call = {"id": "123456789", "type": "function", "function": {"name": "time", "arguments": '{"zone": "utc"}'}}
    messages = [
        {"role": "developer", "content": "be short"},
        {"role": "user", "content": [{"type": "text", "text": "say:"}, {"type": "text", "text": "hi⏎"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "noon", "tool_call_id": "123456789"},
    ]
    answer = served.post("chat/completions", messages=messages).json()
    assert answer["choices"][0]["message"]["content"] == "hi"
    expected = "<|system|>be short<|end|><|user|>say:hi⏎<|end|><|assistant|><|end|><|tool|>noon<|end|><|assistant|>"
    assert prompt_of(served) == expected


def test_an_answer_has_room_up_to_the_end_of_the_context(served: Texts) -> None:
    choice = served.chat("ab" * 320)
    assert choice["finish_reason"] == "length"
    assert served.scheduler.added[-1].parameters.max_tokens is None
    assert served.chat("abcd", max_completion_tokens=2)["message"]["content"] == "ab"


def test_logprobs_have_bytes_and_alternatives(served: Texts) -> None:
    content = served.chat("é", logprobs=True, top_logprobs=2)["logprobs"]["content"]
    assert [each["bytes"] for each in content] == [[0xC3], [0xA9]]
    assert all(len(each["top_logprobs"]) == 2 and each["logprob"] > -0.1 for each in content)
    events = served.stream(
        "chat/completions", messages=[{"role": "user", "content": "say:ab⏎"}], logprobs=True, stop="zz"
    )
    logprobs = [event["choices"][0]["logprobs"] for event in events]
    assert [each["token"] for found in logprobs if found for each in found["content"]] == ["a", "b"]


CALLS = {
    "hermes": f"Let me look.<tool_call>\n{CALL}\n</tool_call>\n<tool_call>{CALL}</tool_call>",
    "hermes without an end": f"<tool_call>{CALL}",
    "mistral": f"[TOOL_CALLS][{CALL}]",
    "new mistral": '[TOOL_CALLS]weather[ARGS]{"city": "Rome"}',
    "llama": '<|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}',
    "llama without a mark": '{"name": "weather", "parameters": {"city": "Rome"}}',
    "two of llama": f'{CALL}; {{"name": "time", "parameters": {{}}}}',
}


@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize("is_stream", [False, True])
def test_calls_of_tools_are_parsed(served: Texts, form: str, is_stream: bool) -> None:
    body = {"messages": [{"role": "user", "content": f"say:{CALLS[form]}⏎"}], "tools": [WEATHER, TIME]}
    if is_stream:
        events = served.stream("chat/completions", **body)
        deltas = [event["choices"][0]["delta"] for event in events]
        text = "".join(delta.get("content") or "" for delta in deltas)
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        assert [call["index"] for call in calls] == list(range(len(calls)))
        reason = events[-1]["choices"][0]["finish_reason"]
    else:
        choice = served.post("chat/completions", **body).json()["choices"][0]
        text, calls = choice["message"]["content"] or "", choice["message"]["tool_calls"]
        reason = choice["finish_reason"]
    assert reason == "tool_calls" and text == ("Let me look." if form == "hermes" else "")
    first = calls[0]
    assert first["type"] == "function" and len(first["id"]) == 9 and first["function"]["name"] == "weather"
    assert json.loads(first["function"]["arguments"]) == ARGUMENTS
    assert len(calls) == (2 if form in ("hermes", "two of llama") else 1)
    assert prompt_of(served).startswith('<|system|>[{"type": "function"')


@pytest.mark.parametrize("text", ['{"a": 1}', '{"name": "other", "parameters": {}}', "<tool_call>no json", "a < b"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_texts_that_are_no_calls_are_contents(served: Texts, text: str, is_stream: bool) -> None:
    body = {"messages": [{"role": "user", "content": f"say:{text}⏎"}], "tools": [WEATHER]}
    if is_stream:
        events = served.stream("chat/completions", **body)
        content = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
    else:
        message = served.post("chat/completions", **body).json()["choices"][0]["message"]
        content = message["content"]
        assert "tool_calls" not in message
    assert content == text


def test_tool_choice_none_offers_no_tools(served: Texts) -> None:
    message = served.chat(CALL, tools=[WEATHER], tool_choice="none")["message"]
    assert message["content"] == CALL and "tool_calls" not in message
    assert not prompt_of(served).startswith("<|system|>")


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_forced_call_has_valid_arguments(served: Texts, choice: object, is_stream: bool) -> None:
    # The model itself would say something else.
    body = {"messages": [{"role": "user", "content": "say:hello⏎"}], "temperature": 0}
    body |= {"tools": [WEATHER], "tool_choice": choice}
    if is_stream:
        events = served.stream("chat/completions", **body)
        deltas = [event["choices"][0]["delta"] for event in events]
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        assert not any(delta.get("content") for delta in deltas)
        assert events[-1]["choices"][0]["finish_reason"] == "tool_calls"
    else:
        found = served.post("chat/completions", **body).json()["choices"][0]
        calls = found["message"]["tool_calls"]
        assert found["message"]["content"] is None and found["finish_reason"] == "tool_calls"
    (call,) = calls
    arguments = json.loads(call["function"]["arguments"])
    assert call["function"]["name"] == "weather" and set(arguments) == {"city"}
    assert arguments["city"] in ("Rome", "Oslo")


def test_response_format_binds_answers(served: Texts) -> None:
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}, "size": {"enum": ["small", "large"]}},
        "required": ["ok", "size"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    choice = served.chat("hello", response_format=form, n=3, temperature=100.0)
    assert choice["finish_reason"] == "stop"
    found = json.loads(choice["message"]["content"])
    assert set(found) == {"ok", "size"} and isinstance(found["ok"], bool) and found["size"] in ("small", "large")
    text = '{"a": [1, 2]}'
    assert served.chat(text, response_format={"type": "json_object"})["message"]["content"] == text
    assert served.chat("zz", response_format={"type": "regex", "regex": "a|b"})["message"]["content"] in "ab"
    assert served.chat("zz", response_format={"type": "grammar", "grammar": 'start: "k"'})["message"]["content"] == "k"
    assert served.chat("zz", response_format={"type": "text"})["message"]["content"] == "zz"


def test_every_answer_under_a_schema_is_valid(served: Texts) -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "minItems": 1, "maxItems": 3}
    body = {"messages": [{"role": "user", "content": "say:x⏎"}], "temperature": 100.0, "n": 16, "seed": 5}
    answer = served.post("chat/completions", **body, guided_json=schema).json()
    values = [json.loads(each["message"]["content"]) for each in answer["choices"]]
    assert all(1 <= len(value) <= 3 and all(0 <= each <= 99 for each in value) for value in values)
    assert len({str(value) for value in values}) > 1


def test_template_variables(served: Texts) -> None:
    served.chat("hi", chat_template_kwargs={"unused": 1}, add_generation_prompt=False)
    assert prompt_of(served) == "<|user|>say:hi⏎<|end|>"


@pytest.mark.parametrize("model", ["tiny", "changed"])
def test_tools_without_a_place_in_the_template(served: Texts, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}<|assistant|>", "", "")
    monkeypatch.setitem(served.models, model, replace(served.models["tiny"], name=model, template=plain))
    body = {"model": model, "messages": [{"role": "user", "content": f"say:{CALL}⏎"}], "tools": [WEATHER]}
    answer = served.post("chat/completions", **body)
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "tools"
    assert f"the chat template of '{model}' has no place for tools" in answer.json()["error"]["message"]
    for choice in ("none", "required"):
        assert served.post("chat/completions", **body, tool_choice=choice).status_code == 200
