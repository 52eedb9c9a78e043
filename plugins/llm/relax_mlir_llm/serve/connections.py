# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HTTP connections with time limits, and with a limit of their number."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import ServerLimits

#: Descriptors that a server needs besides connections: files, libraries, and connections that are accepted together.
_OTHER_DESCRIPTORS = 256
#: Connections that the event loop accepts in one turn. It can close a connection four turns after it accepts another.
ACCEPTED_AT_ONCE = 32
_PHRASES = {408: "Request Timeout", 503: "Service Unavailable"}


class Connections:
    """Open connections of a server, and the ones that wait for a request in the order of their waiting."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self.most = available_connections(limits.connections)
        self.waiting: dict[Connection, None] = {}

    def protocol(self, **values: Any) -> Connection:
        """Return the protocol of a new connection, for uvicorn."""
        return Connection(self, **values)

    def make_room(self, new: Connection, count: int) -> None:
        """Close the connection that has waited longest if there are too many, or the new one if all are busy."""
        if count <= self.most:
            return
        victim = next(iter(self.waiting), new)
        self.waiting.pop(victim, None)
        victim.end(503, f"the server has {self.most} connections, its --max-connections")


def available_connections(connections: int) -> int:
    """Return the number of connections that the process may have. Raise the soft limit of open files if needed."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _OTHER_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(soft - _OTHER_DESCRIPTORS, 1)


class Connection(H11Protocol):
    """Connection that ends when a client takes too long for a head, for a body, or to read an answer."""

    def __init__(self, all_connections: Connections, **values: Any) -> None:
        super().__init__(**values)
        self._all = all_connections
        self._part: Literal["head", "body"] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._all.make_room(self, len(self.connections))
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.waiting.pop(self, None)
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def end(self, status: int, reason: str) -> None:
        """Close the connection, with an answer unless the client waits for none or has a part of another one."""
        self._stop_timers()
        has_begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not self._is_kept and not has_begun:
            text = f"{reason}\n".encode()
            head = f"HTTP/1.1 {status} {_PHRASES[status]}\r\nconnection: close\r\ncontent-type: text/plain\r\n"
            self.transport.write(f"{head}content-length: {len(text)}\r\n\r\n".encode() + text)
        self.transport.close()

    def _watch(self) -> None:
        """Start the timer of the part of a request that comes next, unless it runs."""
        part = None if self.transport.is_closing() else self._next_part()
        if part == "head":
            self._all.waiting.setdefault(self)
        else:
            self._all.waiting.pop(self, None)
        if part == "head" and self._is_kept:
            part = None
        if part == self._part:
            return
        self._part = part
        if self._timer is not None:
            self._timer.cancel()
        if part is not None:
            self._timer = self.loop.call_later(self._seconds(part), self._expire, part)

    @property
    def _is_kept(self) -> bool:
        """Return True if the connection has an answer and no byte of another request. uvicorn has a timer for these."""
        return self.timeout_keep_alive_task is not None

    def _next_part(self) -> Literal["head", "body"] | None:
        if self.conn.their_state is h11.IDLE:
            return "head"
        return "body" if self.conn.their_state is h11.SEND_BODY else None

    def _seconds(self, part: Literal["head", "body"]) -> float:
        limits = self._all.limits
        return limits.head_seconds if part == "head" else limits.body_seconds

    def _expire(self, part: Literal["head", "body"]) -> None:
        self.end(408, f"the {part} of the request took longer than {self._seconds(part):g} seconds (--{part}-timeout)")

    def _watch_writing(self, earlier: int | None = None) -> None:
        """Close the connection if the client has read nothing of the answer since the last look."""
        size = self.transport.get_write_buffer_size()
        if earlier is not None and size >= earlier:
            self.transport.abort()
            return
        self._write_timer = self.loop.call_later(self._all.limits.body_seconds, self._watch_writing, size)

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._write_timer):
            if timer is not None:
                timer.cancel()
