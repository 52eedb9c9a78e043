# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of Chrome's trace event format, as far as traces use it, and the events that Perfetto refuses or drops."""

from __future__ import annotations

import json
import math
from typing import Any


def checked_trace(text: str) -> list[dict[str, Any]]:
    """Return the events of a trace that have a duration."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    content = json.loads(text, parse_constant=refuse)
    assert content["displayTimeUnit"] in ("ms", "ns")
    events, named = [], set()
    for each in content["traceEvents"]:
        assert isinstance(each["name"], str) and each["name"]
        assert type(each["pid"]) is int and type(each["tid"]) is int and isinstance(each["args"], dict)
        assert math.isfinite(each["ts"]) and each["ts"] >= 0
        if each["ph"] == "M":
            assert each["name"] in ("process_name", "thread_name", "thread_sort_index")
            named.add((each["name"], each["pid"], each["tid"] if each["name"] != "process_name" else 0))
            continue
        assert each["ph"] == "X" and isinstance(each["cat"], str)
        assert math.isfinite(each["dur"]) and each["dur"] >= 0
        events.append(each)
    for each in events:
        assert ("process_name", each["pid"], 0) in named and ("thread_name", each["pid"], each["tid"]) in named
    for row in {(each["pid"], each["tid"]) for each in events}:
        _check_nesting([each for each in events if (each["pid"], each["tid"]) == row])
    return events


def _check_nesting(events: list[dict[str, Any]]) -> None:
    """Check that events of a thread are disjoint or nested, in whole nanoseconds."""
    spans = [(round(each["ts"] * 1000), round((each["ts"] + each["dur"]) * 1000), each["name"]) for each in events]
    open_: list[tuple[int, int, str]] = []
    for begin, end, name in sorted(spans, key=lambda each: (each[0], -each[1])):
        while open_ and open_[-1][1] <= begin:
            open_.pop()
        assert not open_ or end <= open_[-1][1], f"{name} overlaps with {open_[-1][2]}"
        open_.append((begin, end, name))
