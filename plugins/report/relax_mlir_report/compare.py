# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of two reports: the times of each part of the model before and now.

Kernel names depend on the passes, so that corresponding parts are matched by the model's nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.support.errors import RelaxError

if TYPE_CHECKING:
    from .links import Row

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
# Keys that a comparison needs.
_NEEDED = ("title", "version", "target", "options", "calls", "kernels", "memory", "stages", "weights", "code_bytes")


def read_page(path: str) -> Row:
    """Return the data of a report. Raise RelaxError for any other file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise RelaxError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    match = _DATA.search(text)
    try:
        data = json.loads(match[1]) if match else None
    except ValueError:
        data = None
    if not isinstance(data, dict) or any(name not in data for name in _NEEDED):
        raise RelaxError(f"{path} is no report of relax-compile: --compare takes what --report has written")
    return data


def compared(before: Row, now: Row) -> Row:
    """Return totals and parts of both reports. A part joins nodes that share a kernel call in one of them."""
    return {
        "title": before["title"],
        "about": [f"relax-mlir {before['version']}", before["target"], *(" ".join(each) for each in before["options"])],
        "sizes": before.get("sizes", {}),
        "totals": [
            {"name": name, "unit": unit, "before": value(before), "now": value(now)} for name, unit, value in _TOTALS
        ],
        "parts": _parts(before, now),
    }


_TOTALS = (
    ("a run", "seconds", lambda data: data.get("seconds") or None),
    ("to compile", "seconds", lambda data: sum(stage["seconds"] for stage in data["stages"])),
    ("kernel calls", "", lambda data: sum(call["kernel"] is not None for call in data["calls"])),
    ("kernels", "", lambda data: len(data["kernels"])),
    ("arena", "bytes", lambda data: sum(plan["arena"] for plan in data["memory"])),
    ("weights", "bytes", lambda data: data["weights"]["bytes"]),
    ("machine code", "bytes", lambda data: data["code_bytes"]),
)


def _parts(before: Row, now: Row) -> list[Row]:
    sides = {"before": _calls(before), "now": _calls(now)}
    part_of = _join([nodes for calls in sides.values() for nodes, _, _ in calls])
    parts: dict[str, Row] = {}
    for name, calls in sides.items():
        for nodes, kernel, seconds in calls:
            part = parts.setdefault(part_of[nodes[0]], {"nodes": [], "before": _side(), "now": _side()})
            part["nodes"] += [node for node in nodes if node not in part["nodes"]]
            part[name]["kernels"].append(kernel)
            if seconds is not None:
                part[name]["seconds"] = (part[name]["seconds"] or 0.0) + seconds
    return list(parts.values())


def _side() -> Row:
    return {"kernels": [], "seconds": None}


def _calls(data: Row) -> list[tuple[list[str], str, float | None]]:
    """Return nodes, kernel and time of each kernel call. A call without nodes is its own node."""
    calls = []
    for call in data["calls"]:
        if call["kernel"] is not None:
            kernel = data["kernels"][call["kernel"]]["name"]
            calls.append((list(call["origins"]) or [kernel], kernel, call.get("seconds")))
    return calls


def _join(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Map each name to a representative of its connected groups."""
    first: dict[str, str] = {}

    def root(name: str) -> str:
        while first.setdefault(name, name) != name:
            first[name] = first[first[name]]
            name = first[name]
        return name

    for names in groups:
        for name in names[1:]:
            first[root(name)] = root(names[0])
    return {name: root(name) for name in first} | {names[0]: root(names[0]) for names in groups}
