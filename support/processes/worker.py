# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A worker: calls functions that its parent names, until its parent closes the pipe or dies."""

from __future__ import annotations

import importlib
import os
import signal
import time
from typing import Any, BinaryIO

from ..errors import RelaxError
from .messages import receive, send


def main(preloaded: str = "") -> None:
    """Answers one call after the other: a message names the function and its arguments, the answer has its bytes.

    `preloaded` is a module that the first call will need.
    """
    # The parent decides what an interruption means; it kills whoever is at work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls, answers = _pipes()
    if preloaded:
        importlib.import_module(preloaded)
    try:
        while True:
            call, data = receive(calls)
            send(answers, *_answer(call, data))
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output, which from here on are nobody else's: what a library prints goes to the errors."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return calls, answers


def _answer(call: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    module, _, name = call["function"].partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
        start = time.perf_counter()
        result = function(data, **call["arguments"])
        return {"seconds": time.perf_counter() - start}, result
    except RelaxError as error:
        return {"error": error.message, "notes": list(error.notes)}, b""
    except MemoryError:
        return {"error": "out of memory", "notes": []}, b""
