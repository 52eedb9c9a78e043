# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of a trace from a program's log, the steps of its parts, and copies to a device."""

from __future__ import annotations

import itertools
import statistics
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from .event_log import DEVICE, HOST, LAUNCH, RANGE, Span
from .manifest import Signature, Site
from .part_steps import StepProblem, notes_on_steps
from .profiling import SWITCH, TELL, Parts, Switch, clocks, no_clocks, timed_sites
from .recording import Recorded, Recorder
from .trace import Trace, TraceEvent

#: Row of the calling thread.
CALLER = "caller"
#: Fields of a site that events list.
_LISTED = ("nodes", "node_operators", "operators", "inputs", "outputs")
#: Copies to and from a device: name, start and end.
Copied = list[tuple[str, int, int]]


def trace_calls(
    signature: Signature,
    call: Callable[[], object],
    find: Callable[[str], Switch],
    *,
    repeat: int = 1,
    warmup: int = 3,
    device: str = "",
    parts: Parts = MappingProxyType({}),
    copied: Copied | None = None,
) -> Trace:
    """Call a function of a program, alternately with the log and without.

    `device` is the device of its kernels, if it is not the CPU. The call appends its copies to `copied`. For all other
    parameters see profile_calls.
    """
    sites = timed_sites(signature, "traced", repeat, warmup)
    switch: Switch = find(SWITCH) if sites else no_clocks
    tell = find(TELL) if sites and device else None
    copies: Copied = [] if copied is None else copied
    recorder = Recorder()
    rows = _TraceRows(sites, parts, device)
    plain, timed, lost = [], [], 0
    problems: list[tuple[str, StepProblem]] = []
    for _ in range(warmup):
        call()
    for _ in range(repeat):
        plain.append(_span(call))
        copies.clear()
        with clocks(switch, sites, recorder):
            timed.append(_span(call))
            if tell is not None:
                tell()
        recorded = recorder.recorded() if sites else Recorded()
        rows.add(signature.name, timed[-1], recorded, copies)
        problems += recorded.problems
        lost += recorded.lost
    traced, untraced = (statistics.median(end - begin for begin, end in each) * 1e-9 for each in (timed, plain))
    return Trace(signature.name, repeat, rows.events(), traced, untraced, tuple(_notes(problems, lost, recorder)))


def _notes(problems: Sequence[tuple[str, StepProblem]], lost: int, recorder: Recorder) -> list[str]:
    notes = notes_on_steps(problems)
    if lost:
        room = recorder.log.room
        notes.append(f"the log has room for {room} records of a call: {lost} more are not in the trace")
    return notes


def _span(call: Callable[[], object]) -> tuple[int, int]:
    begin = time.perf_counter_ns()
    result = call()
    end = time.perf_counter_ns()
    del result  # its memory is freed before the next call, and is not timed
    return begin, end


class _TraceRows:
    """Events of calls, each in the row of its thread or device."""

    def __init__(self, sites: Sequence[Site], parts: Parts, device: str) -> None:
        self._sites = {site.place: site for site in sites}
        self._parts, self._device = parts, device
        self._workers: dict[int, str] = {}
        self._events: list[TraceEvent] = []

    def add(self, function: str, call: tuple[int, int], recorded: Recorded, copies: Copied) -> None:
        """Add the events of one call."""
        self._events.append(TraceEvent(function, "call", CALLER, *call))
        self._events += [TraceEvent(name, name.partition(" ")[0], CALLER, begin, end) for name, begin, end in copies]
        hosted = sorted((span for span in recorded.spans if span.kind in HOST), key=lambda span: span.begin)
        self._events += map(self._make_host_event, hosted)
        self._add_ranges(recorded, hosted)
        self._add_device([span for span in recorded.spans if span.kind == DEVICE])
        for number, step in recorded.steps:
            codegen = self._parts.get(self._sites[recorded.spans[number].number].name, "")
            details = {name: value for name, value in (("codegen", codegen), ("nodes", list(step.nodes))) if value}
            self._events.append(TraceEvent(step.name, "step", CALLER, step.begin, step.end, details))

    def events(self) -> tuple[TraceEvent, ...]:
        """Return all events, relative to the start of the first one.

        Events that overlap others of their row, such as concurrent operations of a device, get further rows.
        """
        start = min(each.begin for each in self._events)
        open_until: dict[str, list[int]] = {}
        found = []
        for event in sorted(self._events, key=lambda each: (each.begin, -each.end)):
            row = next(row for row in _rows_for(event) if _fits(event, open_until.setdefault(row, [])))
            open_until[row].append(event.end)
            found.append(replace(event, row=row, begin=event.begin - start, end=event.end - start))
        return tuple(found)

    def _make_host_event(self, span: Span) -> TraceEvent:
        """Return the event of a kernel or a part, or of its launch."""
        site = self._sites[span.number]
        codegen = self._parts.get(site.name, "")
        name = f"{codegen}: {site.name}" if codegen else site.name
        if span.kind == LAUNCH:
            return TraceEvent(f"launch {name}", "launch", CALLER, span.begin, span.end, self._details(site))
        return TraceEvent(name, "part" if codegen else "kernel", CALLER, span.begin, span.end, self._details(site))

    def _details(self, site: Site) -> dict[str, object]:
        known = {"codegen": self._parts.get(site.name, ""), "bytes": site.bytes}
        listed = {name: list(getattr(site, name)) for name in _LISTED}
        return {name: value for name, value in {**known, **listed}.items() if value}

    def _add_ranges(self, recorded: Recorded, hosted: Sequence[Span]) -> None:
        """Add the ranges of loops that threads executed, with the kernel that the caller was in."""
        begins = [each.begin for each in hosted]
        for span in recorded.spans:
            if span.kind != RANGE:
                continue
            place = bisect_right(begins, span.begin) - 1
            is_inside = place >= 0 and span.end <= hosted[place].end
            name = self._sites[hosted[place].number].name if is_inside else "shared loop"
            row = CALLER if span.whose == recorded.thread else self._worker(span.whose)
            self._events.append(TraceEvent(name, "range", row, span.begin, span.end))

    def _worker(self, thread: int) -> str:
        return self._workers.setdefault(thread, f"worker {len(self._workers) + 1}")

    def _add_device(self, spans: Sequence[Span]) -> None:
        """Add the events of one stream. Overlaps of nanoseconds, from rounding of the device's clock, are removed."""
        free = 0
        for span in sorted(spans, key=lambda each: each.begin):
            site, begin = self._sites[span.number], max(span.begin, free)
            free = max(span.end, begin)
            self._events.append(TraceEvent(site.name, "device", self._device, begin, free, self._details(site)))


def _rows_for(event: TraceEvent) -> Iterator[str]:
    """Yield the event's own row, then additional rows."""
    yield event.row
    whose = event.details.get("codegen", event.row)
    yield from (f"{whose}, at the same time {number}" for number in itertools.count(1))


def _fits(event: TraceEvent, ends: list[int]) -> bool:
    """Check whether an event is disjoint from the open events of a row, or nested in the last of them."""
    while ends and ends[-1] <= event.begin:
        ends.pop()
    return not ends or event.end <= ends[-1]
