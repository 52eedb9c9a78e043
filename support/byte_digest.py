# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel hash of large byte buffers, such as weights and files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

_PIECE = 8 << 20
_MOST_THREADS = 4


def digest_of_bytes(data: memoryview) -> str:
    """Return a hash over the hashes of all pieces, as hexadecimal digits."""
    # SHA-256 uses dedicated instructions of current CPUs, and is twice as fast as BLAKE2 there.
    whole = hashlib.sha256(b"".join(_piece_hashes(data)))
    whole.update(len(data).to_bytes(8, "little"))
    return whole.hexdigest()


def _piece_hashes(data: memoryview) -> Iterable[bytes]:
    def hashed(start: int) -> bytes:
        with data[start : start + _PIECE] as piece:
            return hashlib.sha256(piece).digest()

    if len(data) <= _PIECE:
        return [hashed(0)]
    from concurrent.futures import ThreadPoolExecutor  # the import takes milliseconds, and most constants are small

    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
        return pool.map(hashed, range(0, len(data), _PIECE))
