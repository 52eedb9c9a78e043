# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a process and its workers talk: a message is a JSON object and some bytes, through a pipe."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

_SIZES = struct.Struct("<II")


def send(stream: BinaryIO, content: dict[str, Any], data: bytes = b"") -> None:
    """Raises OSError where nobody reads any more."""
    text = json.dumps(content).encode()
    stream.write(_SIZES.pack(len(text), len(data)) + text + data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """The next message. Raises EOFError where the other side has ended, in the middle of one as well."""
    text_size, data_size = _SIZES.unpack(_exactly(stream, _SIZES.size))
    content: dict[str, Any] = json.loads(_exactly(stream, text_size))
    return content, _exactly(stream, data_size)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data
