# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guaranteed order of events, streams and the host: each knows the progress of the others."""

from __future__ import annotations

import threading
from typing import NamedTuple

#: Of each stream, how much of its work has come to its end.
Clock = dict[int, int]

_NONE, _LEGACY, _OF_THREAD = 0, 1, 2
_NON_BLOCKING = 1


class Stamp(NamedTuple):
    """The n-th piece of a stream's work."""

    stream: int
    number: int

    def is_in(self, clock: Clock) -> bool:
        return clock.get(self.stream, 0) >= self.number


class Order:
    def __init__(self) -> None:
        self._streams: dict[int, Clock] = {}
        self._events: dict[int, Clock] = {}
        self._host: Clock = {}
        self._alone: set[int] = set()  # streams that neither wait for the legacy one nor it for them

    def create(self, stream: int, flags: int) -> None:
        if flags & _NON_BLOCKING:
            self._alone.add(stream)

    def work(self, stream: int) -> Stamp:
        """Add work to a stream, after all that the stream and the host know to be done."""
        own = _own(stream)
        clock = self._streams.setdefault(own, {})
        _join(clock, self._host)
        if own == _LEGACY:
            for other in self._streams.keys() - self._alone:
                _join(clock, self._streams[other])
        elif own not in self._alone:
            _join(clock, self._streams.get(_LEGACY, {}))
        clock[own] = clock.get(own, 0) + 1
        return Stamp(own, clock[own])

    def known(self, stream: int) -> Clock:
        return self._streams.get(_own(stream), {})

    def record(self, event: int, stream: int) -> None:
        self.work(stream)
        self._events[event] = dict(self.known(stream))

    def wait(self, stream: int, event: int) -> None:
        self.work(stream)
        _join(self._streams[_own(stream)], self._events.get(event, {}))

    def host_waits_for_event(self, event: int) -> None:
        _join(self._host, self._events.get(event, {}))

    def host_waits(self, stream: int) -> None:
        self.work(stream)
        _join(self._host, self.known(stream))

    def host_waits_for_all(self) -> None:
        for clock in self._streams.values():
            _join(self._host, clock)


def _own(stream: int) -> int:
    """Return the stream's number. The per-thread default stream differs for each thread."""
    if stream == _OF_THREAD:
        return -threading.get_ident()
    return _LEGACY if stream == _NONE else stream


def _join(clock: Clock, other: Clock) -> None:
    for stream, number in other.items():
        clock[stream] = max(clock.get(stream, 0), number)
