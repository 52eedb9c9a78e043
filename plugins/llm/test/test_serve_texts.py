# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of answers token by token: stop texts, calls of tools, and the format of metrics."""

from __future__ import annotations

import json
from random import Random

import pytest
from relax_mlir_llm.requests import Token
from relax_mlir_llm.serve.answer_text import AnswerText, TextPiece, scored_prompt
from relax_mlir_llm.serve.metrics import Histogram, sample
from relax_mlir_llm.serve.tool_calls import CallFilter, ToolCall, parse_calls
from relax_mlir_llm.stop_texts import StopTexts
from served_text import TOKENIZER

STOPS = [(), ("ab",), ("aab", "b"), ("abab", "ba"), ("aaa",), ("b", "bb", "abc")]


def expected(text: str, stops: tuple[str, ...]) -> str:
    """Return the text before the first stop text that a reader who adds characters one by one completes."""
    for end in range(1, len(text) + 1):
        places = [text[:end].find(stop) for stop in stops if stop in text[:end]]
        if places:
            return text[: min(places)]
    return text


class Spaced:
    """Tokenizer that puts a space in front of a text."""

    special = frozenset({0})

    def token_bytes(self, token: int) -> bytes:
        return (b"<s>", b" one", b" t", b"wo", b"\xc3", b"\xa9")[token]


@pytest.mark.parametrize(
    ("tokens", "echo", "places"),
    [
        ([1, 2, 3], "one two", [0, 3, 5]),
        ([0, 1, 2], "one t", [0, 0, 3]),
        ([2, 4, 5], "t\xe9", [0, 1, 1]),
        ([2, 4], "t\ufffd", [0, 1]),
    ],
)
def test_places_of_a_prompt_s_tokens(tokens: list[int], echo: str, places: list[int]) -> None:
    found = scored_prompt(Spaced(), [Token(each) for each in tokens], echo)
    assert [(place, token.token) for place, token in found] == list(zip(places, tokens, strict=True))


@pytest.mark.parametrize("stops", STOPS)
def test_parts_of_a_text_do_not_change_its_end(stops: tuple[str, ...]) -> None:
    random = Random(3)
    for _ in range(200):
        text = "".join(random.choice("abc") for _ in range(12))
        found, parts = StopTexts(stops), ""
        for character in text:
            parts += found.add(character)
            assert expected(text, stops).startswith(parts)
        parts += "" if found.is_stopped else found.end()
        assert parts == expected(text, stops)
        assert found.is_stopped == any(stop in text for stop in stops)


def test_a_stop_text_in_a_longer_part() -> None:
    found = StopTexts(["two", "one"])
    assert found.add("zero one two three") == "zero " and found.is_stopped
    assert found.add("more") == ""


def test_tokens_come_with_the_text_that_they_begin() -> None:
    text = AnswerText(TOKENIZER, ["lo w"])
    tokens = [Token(token) for token in TOKENIZER.encode("hello é")]
    pieces = [text.add([token]) for token in tokens]
    assert [piece.text for piece in pieces] == ["h", "e", "l", "", "", "lo é"]
    assert [[place for place, _ in piece.tokens] for piece in pieces] == [[0], [1], [2], [], [], [5, 6, 6]]
    assert text.end() == TextPiece("", ())


def test_special_tokens_are_text_only_if_wanted() -> None:
    tokens = [Token(token) for token in TOKENIZER.encode("a<|python_tag|>b")]
    assert AnswerText(TOKENIZER, []).add(tokens).text == "ab"
    assert AnswerText(TOKENIZER, [], keep_special=True).add(tokens).text == "a<|python_tag|>b"


F, G = '{"name": "f", "arguments": {"x": "é"}}', '{"name": "g", "parameters": {}}'
CALLS = [
    (f"<tool_call>{F}</tool_call>", "", ["f"]),
    (f"Sure.\n<tool_call>\n{F}\n</tool_call>\n<tool_call>\n{G}\n</tool_call>", "Sure.", ["f", "g"]),
    (f"<tool_call>{F}</tool_call><tool_call>[]</tool_call>", None, []),
    (f"[TOOL_CALLS] [{F}, {G}]", "", ["f", "g"]),
    ('[TOOL_CALLS]f{"x": 1}[TOOL_CALLS]g{}', "", ["f", "g"]),
    ('[TOOL_CALLS]f[ARGS]{"x": 1}', "", ["f"]),
    ("[TOOL_CALLS]f", None, []),
    (f"<|python_tag|>{F}; {G}", "", ["f", "g"]),
    ("<|python_tag|>print(1)", None, []),
    (F, "", ["f"]),
    (f" {F}\n{G} ", "", ["f", "g"]),
    (f"{F} and so on", None, []),
    ('{"name": "f", "arguments": "{\\"x\\": 1}"}', "", ["f"]),
    ('{"type": "function", "function": {"name": "f", "parameters": {"x": 1}}}', "", ["f"]),
    ('{"name": "f", "arguments": [1]}', None, []),
    ('{"name": "h", "arguments": {}}', None, []),
    ('<tool_call>{"name": "h"}</tool_call>', "", ["h"]),
    ("", None, []),
    ("x < y, and [TOOL", None, []),
    ("[" * 5000, None, []),
]


@pytest.mark.parametrize("text, rest, names", CALLS)
def test_calls_in_whole_texts_and_in_parts(text: str, rest: str | None, names: list[str]) -> None:
    found = parse_calls(text, ["f", "g"])
    assert found.text == (text if rest is None else rest)
    assert [call.name for call in found.calls] == names
    assert all(isinstance(json.loads(call.arguments), dict) for call in found.calls)
    for size in (1, 3, 100):
        stream = CallFilter(["f", "g"])
        shown = "".join(stream.add(text[start : start + size]) for start in range(0, len(text), size))
        last = stream.end()
        assert (shown + last.text).rstrip() == found.text.rstrip() and last.calls == found.calls


def test_arguments_keep_their_characters() -> None:
    assert parse_calls(F, ["f"]).calls == (ToolCall("f", '{"x": "é"}'),)


def test_text_before_a_call_is_shown_at_once() -> None:
    stream = CallFilter(["f"])
    assert stream.add("Look: <") == "Look:" and stream.add("b> a ") == " <b> a" and stream.add("<tool_") == ""
    assert stream.add(f"call>{F}") == "" and [call.name for call in stream.end().calls] == ["f"]


def test_the_format_of_metrics() -> None:
    histogram = Histogram((0.5, 1.0))
    for value, times in ((0.5, 1), (0.75, 2), (3.0, 1)):
        histogram.observe(value, times)
    assert list(histogram.lines("t", {"model": "m"})) == [
        't_bucket{model="m",le="0.5"} 1',
        't_bucket{model="m",le="1"} 3',
        't_bucket{model="m",le="+Inf"} 4',
        't_sum{model="m"} 5',
        't_count{model="m"} 4',
    ]
    assert sample("a", {"b": 'c"\\\n'}, 12345678) == 'a{b="c\\"\\\\\\n"} 12345678'
