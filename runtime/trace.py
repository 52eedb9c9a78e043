# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timeline of a program's calls, and its file for Perfetto and Chrome (chrome://tracing)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

from ..support.files import refuse_unwritable, write_whole
from ..support.suggest import counted

#: Process numbers in the trace of the host and of the devices.
_HOST, _DEVICE = 1, 2


@dataclass(frozen=True)
class TraceEvent:
    """Event with a duration."""

    name: str
    #: "call", "kernel", "part", "step", "range" (of a loop, by one thread), "launch", "copy", "wait" or "device".
    kind: str
    #: Row of the event: a thread or a device. Two events of a row are disjoint or nested.
    row: str
    #: Nanoseconds since the start of the first call.
    begin: int
    end: int
    #: Further properties: nodes, operators, types, bytes, codegen.
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_on_device(self) -> bool:
        return self.kind == "device"


@dataclass(frozen=True, repr=False)
class Trace:
    """Calls of a function with all recorded events."""

    function: str
    repeat: int
    #: Events in the order of their starts; a nested event comes after the enclosing one.
    events: tuple[TraceEvent, ...]
    #: Medians of whole calls, with the log and without.
    traced_seconds: float
    untraced_seconds: float
    #: Missing events, with the reasons.
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the trace in Chrome's trace event format, which Perfetto reads: https://ui.perfetto.dev."""
        rows = list(dict.fromkeys((_process(event), event.row) for event in self.events))
        numbers = {row: number for number, row in enumerate(rows, 1)}
        processes = list(dict.fromkeys(process for process, _ in rows))
        names = {_HOST: f"host: {self.function}", _DEVICE: "device"}
        named = [_named("process_name", process, 0, {"name": names[process]}) for process in processes]
        for number, (process, row) in enumerate(rows, 1):
            named.append(_named("thread_name", process, number, {"name": row}))
            named.append(_named("thread_sort_index", process, number, {"sort_index": number}))
        events = [
            {
                "name": event.name,
                "cat": event.kind,
                "ph": "X",
                "ts": event.begin / 1000,
                "dur": (event.end - event.begin) / 1000,
                "pid": _process(event),
                "tid": numbers[_process(event), event.row],
                "args": dict(event.details),
            }
            for event in self.events
        ]
        about = {key: value for key, value in asdict(self).items() if key != "events"}
        return {"traceEvents": [*named, *events], "displayTimeUnit": "ns", "otherData": about}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file. Raises RelaxError."""
        refuse_unwritable(os.fspath(path))
        write_whole(os.fspath(path), (json.dumps(self.to_dict()) + "\n").encode())

    def of_kind(self, kind: str) -> Iterator[TraceEvent]:
        return (event for event in self.events if event.kind == kind)

    def __str__(self) -> str:
        more = (self.traced_seconds / self.untraced_seconds - 1) * 100 if self.untraced_seconds else 0.0
        unit, factor = ("ms", 1e3) if self.traced_seconds >= 1e-3 else ("us", 1e6)
        times = f"{self.traced_seconds * factor:.3f} {unit} traced, {self.untraced_seconds * factor:.3f} {unit} else"
        what = f"{counted(self.repeat, 'call')} of {self.function}, {counted(len(self.events), 'event')}"
        return f"{what}; a call takes {times} ({more:+.1f} %)"

    def __repr__(self) -> str:
        return f"<trace of {self}>"


def _process(event: TraceEvent) -> int:
    return _DEVICE if event.is_on_device else _HOST


def _named(what: str, process: int, thread: int, details: Mapping[str, object]) -> dict[str, object]:
    return {"name": what, "ph": "M", "ts": 0, "pid": process, "tid": thread, "args": dict(details)}
