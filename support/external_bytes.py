# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What external codegens make, as bytes: a head, as JSON, and pieces of any kind behind it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .errors import RelaxError

R = TypeVar("R")

_MAGIC, _LENGTH = b"rx-part\0", struct.Struct("<Q")
_BEGIN = len(_MAGIC) + _LENGTH.size


def packed(codegen: str, head: Mapping[str, Any], pieces: Sequence[bytes | memoryview]) -> bytes:
    text = json.dumps({"codegen": codegen, "head": head, "sizes": [len(each) for each in pieces]}).encode()
    return b"".join([_MAGIC, _LENGTH.pack(len(text)), text, *pieces])


def unpacked(codegen: str, data: memoryview, read: Callable[[Any, list[memoryview]], R]) -> R:
    """What `read` makes of the head and the pieces, which stay where they are. Raises RelaxError for other bytes, and
    where some are missing.
    """
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise RelaxError(f"these are no bytes of the codegen '{codegen}'")
    try:
        (length,) = _LENGTH.unpack(data[len(_MAGIC) : _BEGIN])
        stated = json.loads(bytes(data[_BEGIN : _BEGIN + length]))
        pieces, at = [], _BEGIN + length
        for size in map(int, stated["sizes"]):
            pieces.append(data[at : at + size])
            at += size
        if stated["codegen"] != codegen:
            raise RelaxError(f"these are no bytes of the codegen '{codegen}', but of '{stated['codegen']}'")
        if at != len(data):
            raise RelaxError(f"its bytes are cut short: {len(data)} of {at}")
        return read(stated["head"], pieces)
    except (struct.error, ValueError, KeyError, TypeError):
        raise RelaxError("its bytes are cut short, or damaged at their beginning") from None
