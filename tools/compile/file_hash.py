# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hashes of file contents, cached by file status, so that a cache hit does not read the model."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import time
from typing import NamedTuple

from ...support.byte_digest import digest_of_bytes
from ...support.disk_cache import DiskCache

_KIND = "files"
# A recently changed file may change again without a new time stamp.
_RESTLESS_NS = 2_000_000_000


class Settled(NamedTuple):
    """Hash of a file's content, and the file's status at that time."""

    path: str
    status: tuple[int, ...]
    digest: str

    def is_still_so(self) -> bool:
        """Check whether the file is unchanged. Raise OSError if it cannot be read."""
        return file_status(self.path) == self.status


class FileHashes:
    """Content hashes in a disk cache."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache

    def settled(self, path: str) -> Settled:
        """Return the hash of a file's content. Raise OSError if the file cannot be read."""
        status = file_status(path)
        key = hashlib.blake2b(os.fsencode(os.path.realpath(path)), digest_size=20).hexdigest()
        if (known := self._cache.get(_KIND, key)) is not None:
            before, digest = json.loads(known)
            if tuple(before) == status:
                return Settled(path, status, digest)
        now = time.time_ns()
        digest = content_hash(path)
        if max(status[1:3]) < now - _RESTLESS_NS:
            self._cache.put(_KIND, key, json.dumps([status, digest]).encode())
        return Settled(path, status, digest)


def content_hash(path: str) -> str:
    """Return the hash of a file's content. Raise OSError if the file cannot be read."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return digest_of_bytes(memoryview(b""))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            return digest_of_bytes(data)


def file_status(path: str) -> tuple[int, ...]:
    """Return a tuple that changes when the file changes or is replaced. Raise OSError if the file is missing."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
