# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page: one HTML file that holds its style, its scripts and its data, and asks for nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

_SCRIPTS = ("text.js", "layout.js", "graph.js", "details.js", "tables.js", "memory.js", "page.js")
#: In the page, what stands for its parts.
_PLACES = re.compile("STYLE_PLACE|DATA_PLACE|SCRIPT_PLACE")


def page(data: Mapping[str, Any]) -> str:
    """The text of the file."""
    script = "\n".join(_part(name) for name in _SCRIPTS)
    parts = {"STYLE_PLACE": _part("page.css"), "DATA_PLACE": embedded(data), "SCRIPT_PLACE": script}
    return _PLACES.sub(lambda place: parts[place.group()], _part("page.html"))


def embedded(data: Mapping[str, Any]) -> str:
    """JSON that may stand in a script element: whatever a name holds, it cannot end that or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
