# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that a request offers to the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .bodies import Fields
from .errors import invalid

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_CHOICES = ("none", "auto", "required")


@dataclass(frozen=True)
class Tools:
    """Tools in the form of the request, and the choice among them."""

    #: Entries of `tools`, for the template.
    entries: Sequence[Mapping[str, object]]
    functions: Sequence[Mapping[str, object]]
    #: True if the answer must be a call.
    is_forced: bool = False
    #: Function that the answer must call.
    named: Mapping[str, object] | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of the functions."""
        return [str(function["name"]) for function in self.functions]


def parse_tools(fields: Fields) -> Tools | None:
    """Return the tools of a request, or None without tools or with the choice "none"."""
    fields.flag("parallel_tool_calls")
    entries = list(fields.parts("tools"))
    functions = [_function(entry) for entry in entries]
    tools = Tools([entry.values for entry in entries], functions)
    if (choice := fields.get("tool_choice")) is None or choice == "auto":
        return tools if entries else None
    if not entries and choice != "none":
        raise invalid("tool_choice needs tools, and the request has none", "tool_choice")
    if choice == "none":
        return None
    if choice == "required":
        return Tools(tools.entries, functions, True)
    named = _choose(fields)
    if (found := next((function for function in functions if function["name"] == named), None)) is None:
        raise invalid(f"tool_choice names '{named}', expected one of {', '.join(tools.names)}", "tool_choice")
    return Tools(tools.entries, functions, True, found)


def _choose(fields: Fields) -> str:
    """Return the name in the form {"type": "function", "function": {"name": ...}}."""
    if not isinstance(value := fields.get("tool_choice"), dict):
        raise fields.refuse("tool_choice", f"one of {', '.join(_CHOICES)}, or a function's name in an object")
    choice = Fields(value, "tool_choice")
    choice.choice("type", ("function",))
    function = choice.part("function") or choice
    return function.needed_text("name")


def _function(entry: Fields) -> Mapping[str, object]:
    if entry.choice("type", ("function",)) is None:
        raise entry.refuse("type", "function")
    if (function := entry.part("function")) is None:
        raise entry.refuse("function", "an object with the name of a function")
    if not _NAME.fullmatch(function.needed_text("name")):
        raise function.refuse("name", "at most 128 letters, digits and _ . : -")
    function.text("description")
    function.part("parameters")
    return function.values
