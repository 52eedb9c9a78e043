# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of tools in the text of an answer, in the forms of Hermes and Qwen, Mistral, and Llama 3."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..stop_texts import overlap

#: Marks before calls: Hermes and Qwen, Mistral, Llama 3.
_HERMES, _HERMES_END, _MISTRAL, _LLAMA = "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<|python_tag|>"
_MISTRAL_ARGUMENTS = "[ARGS]"
_MARKS = (_HERMES, _MISTRAL, _LLAMA)
#: Names of the arguments of a call, in the order of preference.
_ARGUMENTS = ("arguments", "parameters")


class ToolCall(NamedTuple):
    """Call of a tool, with its arguments as the text of a JSON object."""

    name: str
    arguments: str


class Parsed(NamedTuple):
    """Answer, split into text for the user and calls."""

    text: str
    calls: tuple[ToolCall, ...]


def parse_calls(text: str, names: Collection[str]) -> Parsed:
    """Return the calls in an answer. A text without valid calls is returned unchanged.

    Without a mark before it, an object is a call only if it names one of the tools.
    """
    found = [(place, mark) for mark in _MARKS if (place := text.find(mark)) >= 0]
    if not found:
        calls = _objects(text)
        is_known = bool(calls) and all(call.name in names for call in calls)
        return Parsed("", calls) if is_known else Parsed(text, ())
    place, mark = min(found)
    before, rest = text[:place].rstrip(), text[place + len(mark) :]
    calls = {_HERMES: _hermes, _MISTRAL: _mistral, _LLAMA: _objects}[mark](rest)
    return Parsed(before, calls) if calls else Parsed(text, ())


def _hermes(text: str) -> tuple[ToolCall, ...]:
    """Parse `{...}</tool_call> <tool_call>{...}</tool_call>`. An answer may end without the last mark."""
    parts = [part.partition(_HERMES_END)[0].strip() for part in text.split(_HERMES)]
    calls = [_call(_parse_json(part)) for part in parts]
    return tuple(call for call in calls if call) if all(calls) else ()


def _mistral(text: str) -> tuple[ToolCall, ...]:
    """Parse `[{...}, {...}]`, or `name{...}` and `name[ARGS]{...}`, which newer models repeat with the mark."""
    if isinstance(values := _parse_json(text.strip()), list):
        calls = [_call(value) for value in values]
        return tuple(call for call in calls if call) if all(calls) else ()
    found = []
    for part in text.split(_MISTRAL):
        name, brace, rest = part.partition("{")
        arguments = _parse_json((brace + rest).strip())
        if not (name := name.replace(_MISTRAL_ARGUMENTS, "").strip()) or not isinstance(arguments, dict):
            return ()
        found.append(ToolCall(name, json.dumps(arguments, ensure_ascii=False)))
    return tuple(found)


def _objects(text: str) -> tuple[ToolCall, ...]:
    """Parse objects with semicolons or spaces between them, as Llama 3 writes calls."""
    found = []
    for value in _values(text):
        if (call := _call(value)) is None:
            return ()
        found.append(call)
    return tuple(found)


def _values(text: str) -> Iterator[object]:
    """Yield the JSON values of a text. An invalid rest is None."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            yield None
            return
        yield value
        text = text[end:].lstrip("; \n")


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(value: object) -> ToolCall | None:
    """Return the call that an object describes, or None."""
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    described: dict[str, object] = function if isinstance(function, dict) else value
    name = described.get("name")
    arguments = next((described[key] for key in _ARGUMENTS if key in described), {})
    if isinstance(arguments, str):  # some models write JSON in a text
        arguments = _parse_json(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return ToolCall(name, json.dumps(arguments, ensure_ascii=False))


class CallFilter:
    """Filter of an answer that grows: passes on text for the user, and keeps text that may be calls of tools."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._held = ""
        self._returned = ""
        self._is_call = False

    def add(self, text: str) -> str:
        """Return the text that is certainly no call."""
        self._held += text
        if self._is_call:
            return ""
        # Llama 3 writes an object without a mark, at the beginning only.
        if not self._returned.strip() and self._held.lstrip()[:1] in ("", "{"):
            return ""
        places = [place for mark in _MARKS if (place := self._held.find(mark)) >= 0]
        if places:
            self._is_call = True
            keep = min(places)
        else:
            keep = len(self._held) - max(overlap(self._held, mark) for mark in _MARKS)
        # Space before a call belongs to neither.
        keep = len(self._held[:keep].rstrip())
        new, self._held = self._held[:keep], self._held[keep:]
        self._returned += new
        return new

    def end(self) -> Parsed:
        """Return the rest of the text, and the calls."""
        held, self._held = self._held, ""
        return parse_calls(held, () if self._returned.strip() else self._names)
