# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hashes of files' contents, remembered by what the system says of the files: a model is not read for each hit."""

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
# Files that were changed so shortly before may change again with the same time.
_RESTLESS_NS = 2_000_000_000


class Settled(NamedTuple):
    """A file's content by its hash, and the system's status of the file then."""

    path: str
    status: tuple[int, ...]
    digest: str

    def is_still_so(self) -> bool:
        """Whether the file has not changed since. Raises OSError."""
        return file_status(self.path) == self.status


class FileHashes:
    """Hashes that are remembered in a cache."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache

    def settled(self, path: str) -> Settled:
        """The hash of a file's content. Raises OSError."""
        status = file_status(path)
        key = hashlib.blake2b(os.fsencode(os.path.realpath(path)), digest_size=20).hexdigest()
        known = self._cache.get(_KIND, key)
        if known is not None:
            before, digest = json.loads(known)
            if tuple(before) == status:
                return Settled(path, status, digest)
        now = time.time_ns()
        digest = content_hash(path)
        if max(status[1:3]) < now - _RESTLESS_NS:
            self._cache.put(_KIND, key, json.dumps([status, digest]).encode())
        return Settled(path, status, digest)


def content_hash(path: str) -> str:
    """Return the hash of a file's content. Raises OSError."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return digest_of_bytes(memoryview(b""))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            return digest_of_bytes(data)


def file_status(path: str) -> tuple[int, ...]:
    """What changes when a file does, or becomes another one. Raises OSError."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
