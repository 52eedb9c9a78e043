# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Socket and life of a server: start, signals, and a stop that lets running requests end."""

from __future__ import annotations

import gc
import logging
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import relax_mlir as rx
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from .connections import ACCEPTED_AT_ONCE, Connections
from .http_app import State
from .limits import ServerLimits

_LOG = logging.getLogger("relax-serve")
#: Seconds between two looks at the number of running requests.
_LOOK_SECONDS = 0.05
#: Seconds after which a thread gives the interpreter's lock to another one. The event loop needs the lock after each
#: call of the system: with Python's 5 ms, accepting 32 connections took 0.5 s while other threads parsed requests.
_SWITCH_SECONDS = 0.0005
#: Connections that the system keeps until the event loop accepts them.
_QUEUED_CONNECTIONS = 1024


def bind(host: str, port: int) -> socket.socket:
    """Return a socket at an address, before anything is loaded. Raise RelaxError if the address is not available."""
    if not 0 <= port < 2**16:
        raise rx.OptionError(f"--port is {port}, expected a port from 0 to 65535; 0 selects a free port")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
            bound.listen()
        except OSError:
            bound.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise rx.OptionError(
            f"cannot listen at {host} port {port}: {reason}; choose another --port, or end the program that has it"
        ) from None
    return bound


def address_of(bound: socket.socket, has_tls: bool = False) -> str:
    """Return the URL of a socket."""
    host, port = bound.getsockname()[:2]
    scheme = "https" if has_tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class Server(uvicorn.Server):
    """Server that answers running requests before it stops."""

    def __init__(
        self,
        app: Starlette,
        state: State,
        grace: float,
        limits: ServerLimits | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connections(limits or ServerLimits()).protocol,  # type: ignore[arg-type]
                ws="none",
                log_level="warning",
                access_log=False,
                lifespan="off",
                backlog=ACCEPTED_AT_ONCE,
                timeout_graceful_shutdown=2,
            )
        )
        self.config.load()
        self.config.ssl = tls
        self._state = state
        self._grace = grace

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully after the first signal, and at once after the second one."""
        self.begin_stop()

    def begin_stop(self) -> None:
        """Refuse new requests, and stop when the running ones have ended or the grace period is over."""
        if self._state.is_stopping:
            self.should_exit = True
            return
        self._state.is_stopping = True
        threading.Thread(target=self._stop_later, name="relax-serve stop", daemon=True).start()

    def _stop_later(self) -> None:
        end = time.monotonic() + self._grace
        while self._state.active and time.monotonic() < end and not self.should_exit:
            time.sleep(_LOOK_SECONDS)
        if self._state.active:
            _LOG.warning("the grace period is over, and %d requests end early", self._state.active)
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await run_in_threadpool(time.monotonic)  # imports modules, which would stop the first requests for 0.2 s
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_QUEUED_CONNECTIONS)  # asyncio has one number for this queue and for its own turns

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.before_shutdown()
        await super().shutdown(sockets)

    def before_shutdown(self) -> None:
        """End the requests that still run."""


def serve(
    app: Starlette,
    state: State,
    bound: socket.socket,
    grace: float,
    limits: ServerLimits,
    end: Callable[[], None],
    tls: ssl.SSLContext | None = None,
) -> None:
    """Serve until a signal comes, by https if `tls` has a certificate. `end` ends the requests that still run."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()  # a full collection stops all threads, and need not visit what lives as long as the server
    server = Server(app, state, grace, limits, tls)
    server.before_shutdown = end  # type: ignore[method-assign]
    server.run(sockets=[bound])
