# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Worker process: runs functions that its parent names until the parent closes the pipe or dies.

A message is a JSON object followed by bytes.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import struct
import time
from typing import IO, Any, BinaryIO

from ..errors import RelaxError
from .expendable import expendable

_SIZES = struct.Struct("<II")


def main(preloaded: str = "") -> None:
    """Answer calls one after the other.

    A call names a function and its arguments; the answer holds the result's bytes.

    `preloaded` is a module that the first call needs.
    """
    # The parent handles interruptions and kills busy workers.
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
    """Return duplicates of standard input and output for messages, and redirect prints of libraries to stderr."""
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
        with expendable():
            result = function(data, **call["arguments"])
        return {"seconds": time.perf_counter() - start}, result
    except RelaxError as error:
        return {"error": error.message, "notes": list(error.notes)}, b""
    except MemoryError:
        return {"error": "out of memory", "notes": []}, b""


def send(stream: BinaryIO, content: dict[str, object], data: bytes = b"") -> None:
    """Send a message. Raise OSError if the other end is closed."""
    text = json.dumps(content).encode()
    stream.write(_SIZES.pack(len(text), len(data)) + text + data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Return the next message. Raise EOFError if the other end has closed the pipe, also within a message."""
    text_size, data_size = _SIZES.unpack(_exactly(stream, _SIZES.size))
    content: dict[str, Any] = json.loads(_exactly(stream, text_size))
    return content, _exactly(stream, data_size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data
