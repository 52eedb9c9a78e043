# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Disk cache of results, keyed by a hash of their inputs.

Several processes can use a cache at the same time.

    <folder>/<format>/<kind>/<two digits>/<key>    the data, then a checksum of the data, the kind and the key
    <folder>/<format>/written                      one byte for each block written since the last cleanup

A damaged entry counts as missing, and so does the file of another entry. The least recently used entries are evicted
before the size limit is reached. A folder that cannot be written is not an error: `problem` holds the reason. The
process runs code from the cache, so no other user may have write access.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import stat
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, NamedTuple

from .byte_sizes import byte_size
from .errors import RelaxError
from .files import replacing

FORMAT = "1"
DEFAULT_LIMIT = 4 << 30
FOLDER_VARIABLE, LIMIT_VARIABLE = "RELAX_MLIR_CACHE", "RELAX_MLIR_CACHE_SIZE"

_CHECK_BYTES = 32
_CHUNK = 1 << 20
_BLOCK = 4096
_NEW = ".new-"
# A temporary file of this age was abandoned by a process that died.
_ABANDONED_S = 3600


#: Folders with problems that this process has already reported to the user.
_NOTED: set[str] = set()


class Entry(NamedTuple):
    """File of the cache."""

    used: float
    size: int
    kind: str
    path: str


def default_folder() -> str | None:
    """Return the default cache folder, or None if the user has no home folder and sets no folder explicitly."""
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return chosen
    # Relative paths would resolve to another folder, whose code is run, for each working directory.
    for folder in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")):
        if os.path.isabs(folder):
            return os.path.join(folder, "relax-mlir")
    return None


def default_limit() -> int:
    """Return the size limit in bytes. Raise RelaxError if the environment variable holds no size."""
    if not (text := os.environ.get(LIMIT_VARIABLE, "").strip()):
        return DEFAULT_LIMIT
    if (limit := byte_size(text)) is None:
        raise RelaxError(f"{LIMIT_VARIABLE}={text}: expected a size like 500M or 4G")
    return limit


_NO_HOME = f"this user has no home folder; {FOLDER_VARIABLE} names another place"
_OTHERS_WRITE = 0o022


def _distrust(folder: str, root: str) -> str:
    """Return the reason not to run code from the folder, or "" if only this user and root may write to the folder."""
    if not hasattr(os, "geteuid"):
        return ""
    for path in (root, folder):
        try:
            status = os.stat(path)
        except OSError:
            continue  # a missing folder has no entries to read
        if status.st_uid not in (0, os.geteuid()):
            return f"{path} belongs to another user ({status.st_uid}), and code from there is run"
        is_ours = path == folder and (_is_closed(root) or not (os.path.exists(root) or status.st_mode & stat.S_IWOTH))
        if status.st_mode & _OTHERS_WRITE and not (is_ours and _close(folder, status)):
            return f"others may write to it, and code from there is run: chmod -R go-w '{path}'"
    return ""


def _is_closed(path: str) -> bool:
    return os.path.isdir(path) and not os.stat(path).st_mode & _OTHERS_WRITE


def _close(folder: str, status: os.stat_result) -> bool:
    """Remove write permission of others, which the umask has granted.

    Return False if this user may not change the mode.
    """
    try:
        os.chmod(folder, status.st_mode & 0o7777 & ~_OTHERS_WRITE)
    except OSError:
        return False
    return True


class _Opened(NamedTuple):
    """Open entry of the cache: file descriptor, data and checksum."""

    file: int
    data: memoryview
    check: bytes


class _Damaged(Exception):
    """Mismatch between the data, kind and key of an entry and its checksum."""


class _Meanwhile(threading.Thread):
    """Daemon thread that computes a result while other work continues."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        super().__init__(daemon=True)
        self._work, self._made = work, b""
        self.start()

    def run(self) -> None:
        self._made = self._work()

    def result(self) -> bytes:
        self.join()
        return self._made


class DiskCache:
    """Byte strings by kind and key. Keys are hexadecimal hashes of everything that the bytes depend on."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, limit: int | None = None) -> None:
        """Open a cache in `folder`, by default the user's own.

        Raise RelaxError if others can write to the named folder.
        """
        found = default_folder() if folder is None else os.fspath(folder)
        self.folder = "" if found is None else os.path.abspath(found)
        self.limit = default_limit() if limit is None else limit
        self._root = os.path.join(self.folder, FORMAT)
        #: Reason not to use the folder, or an empty string.
        self.distrust = _NO_HOME if found is None else _distrust(self.folder, self._root)
        if self.distrust and (folder is not None or os.environ.get(FOLDER_VARIABLE)):
            raise RelaxError(f"the cache '{self.folder}' is not used: {self.distrust}")
        #: Reason why an entry could not be stored; empty if all entries were stored.
        self.problem = ""
        #: Number of entries that could not be stored because of `problem`.
        self.lost = 0
        if self.distrust:
            where = f" in '{self.folder}'" if self.folder else ""
            self.problem = f"nothing is kept{where}: {self.distrust}"

    def get(self, kind: str, key: str) -> bytes | None:
        """Return the data of a key, or None if the entry is missing or damaged."""
        data = self.mapped(kind, key)
        return None if data is None else bytes(data)

    def mapped(self, kind: str, key: str) -> memoryview | None:
        """Return the data of a key as a memory-mapped file, or None if the entry is missing or damaged."""
        path = self._path(kind, key)
        try:
            if self.distrust:
                return None
            with open(path, "rb") as file:
                whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            return None
        data = whole[: max(len(whole) - _CHECK_BYTES, 0)]
        if _check(kind, key, data) != whole[len(data) :]:
            self._drop(kind, key)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # records the last use
        return data

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Store bytes, or record the reason in `problem`."""
        self.put_pieces(kind, key, [data])

    def put_pieces(self, kind: str, key: str, pieces: Iterable[bytes | memoryview]) -> None:
        """Store bytes given in pieces without joining the pieces in memory, or record the reason in `problem`."""
        held = [memoryview(piece) for piece in pieces]
        self._keep(kind, key, held, lambda target: target.writelines(held))

    def copy_out(self, kind: str, key: str, path: str) -> bool:
        """Copy an entry to a file atomically.

        Return False if the entry is missing or damaged.

        Raises OSError if the file cannot be written.
        """
        with self._open(kind, key) as entry:
            if entry is None:
                return False
            try:
                with replacing(path) as target:
                    # Checksum and copy take about the same time, and both release the interpreter's lock.
                    checked = _Meanwhile(lambda: _check(kind, key, entry.data))
                    try:
                        _copy(entry.file, target.fileno(), len(entry.data))
                    finally:
                        check = checked.result()
                    if check != entry.check:
                        raise _Damaged
            except _Damaged:
                self._drop(kind, key)
                return False
            return True

    def copy_in(self, kind: str, key: str, path: str) -> None:
        """Store the content of a file, or record the reason in `problem`."""
        try:
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                source = file.fileno()
                with memoryview(mapped) as view:
                    self._keep(kind, key, [view], lambda target: _copy(source, target.fileno(), len(view)))
        except (OSError, ValueError) as error:
            self._note(error)

    def new_note(self) -> str:
        """Return a note that results are not cached, once per process and folder; otherwise return an empty string."""
        if not self.lost or self.folder in _NOTED:
            return ""
        _NOTED.add(self.folder)
        return f"{self.problem}: each start compiles anew"

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return the number and total size in bytes of the entries of each kind."""
        found: dict[str, tuple[int, int]] = {}
        for entry in self._entries():
            count, size = found.get(entry.kind, (0, 0))
            found[entry.kind] = count + 1, size + entry.size
        return dict(sorted(found.items()))

    def clear(self) -> None:
        """Remove all entries. Raise RelaxError if the user lacks permission."""
        try:
            for entry in list(self._entries()):
                _remove(entry.path)
            if self.folder:
                _remove(os.path.join(self._root, "written"))
        except OSError as error:
            raise RelaxError(f"cannot empty the cache in '{self.folder}': {error.strerror}") from None

    # ---- reading ----

    def _path(self, kind: str, key: str) -> str:
        return os.path.join(self._root, kind, key[:2], key)

    @contextlib.contextmanager
    def _open(self, kind: str, key: str) -> Iterator[_Opened | None]:
        """Open and map an entry without checking the data, and record the use. Yield None if the entry is missing."""
        path = self._path(kind, key)
        with contextlib.ExitStack() as opened:
            try:
                if self.distrust:
                    raise PermissionError
                file = opened.enter_context(open(path, "rb"))
                mapped = opened.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            except (OSError, ValueError):
                yield None
                return
            with contextlib.suppress(OSError):
                os.utime(path)  # records the last use
            whole = opened.enter_context(memoryview(mapped))
            data = opened.enter_context(whole[: max(len(whole) - _CHECK_BYTES, 0)])
            yield _Opened(file.fileno(), data, bytes(whole[len(data) :]))

    def _drop(self, kind: str, key: str) -> None:
        """Delete a damaged entry if the folder is writable."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(kind, key))

    # ---- writing ----

    def _keep(self, kind: str, key: str, pieces: Sequence[memoryview], write: Callable[[IO[bytes]], object]) -> None:
        path, size = self._path(kind, key), sum(map(len, pieces))
        if size > self.limit // 4:
            return  # the entry would evict too many others
        if self.distrust:
            self.lost += 1
            return
        try:
            # Mode 0700 excludes other users: the process runs code from the folder.
            if not os.path.exists(self.folder):
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
            os.makedirs(self._root, mode=0o700, exist_ok=True)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with replacing(path, _NEW) as target:
                write(target)
                target.write(_check(kind, key, *pieces))
            self._count(size)
        except OSError as error:
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.lost += 1
        reason = getattr(error, "strerror", None) or str(error)
        self.problem = self.problem or f"nothing is kept in '{self.folder}': {reason}"

    def _count(self, size: int) -> None:
        """Record the written size, and start a cleanup well before the limit.

        A scan of all entries per write would be slow.
        """
        with open(os.path.join(self._root, "written"), "ab") as file:
            file.write(b"." * (size // _BLOCK + 1))
            blocks = file.tell()
        if blocks * _BLOCK > self.limit // 16:
            self._tidy()

    def _tidy(self) -> None:
        """Remove abandoned files, and the least recently used entries until the size is at most 7/8 of the limit."""
        with contextlib.suppress(FileNotFoundError):
            os.truncate(os.path.join(self._root, "written"), 0)
        entries = sorted(self._entries(with_unfinished=True))
        total = sum(entry.size for entry in entries)
        abandoned = time.time() - _ABANDONED_S
        for entry in entries:
            if (is_unfinished := os.path.basename(entry.path).startswith(_NEW)) and entry.used > abandoned:
                continue
            if is_unfinished or total > self.limit // 8 * 7:
                _remove(entry.path)
                total -= entry.size

    def _entries(self, *, with_unfinished: bool = False) -> Iterator[Entry]:
        for kind in _subfolders(self._root) if self.folder else ():
            for part in _subfolders(kind.path):
                for file in _scan(part.path):
                    if file.name.startswith(_NEW) and not with_unfinished:
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        status = file.stat(follow_symlinks=False)
                        size = -(-status.st_size // _BLOCK) * _BLOCK
                        yield Entry(status.st_mtime, size, kind.name, file.path)


def _subfolders(path: str) -> list[os.DirEntry[str]]:
    return [entry for entry in _scan(path) if entry.is_dir(follow_symlinks=False)]


def _scan(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remove(path: str) -> None:
    """Delete a file. Ignore a missing file, which another process may have deleted."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _check(kind: str, key: str, *pieces: memoryview) -> bytes:
    """Return a checksum that detects damage of an entry's pieces, computed at several gigabytes per second."""
    sums, crc, room = [], 0, _CHUNK
    for piece in pieces:
        start = 0
        while start < len(piece):
            part = piece[start : start + room]
            crc, start, room = zlib.crc32(part, crc), start + len(part), room - len(part)
            if room == 0:
                sums.append(crc)
                crc, room = 0, _CHUNK
    if room < _CHUNK:
        sums.append(crc)
    text = f"{FORMAT} {kind} {key} {sum(map(len, pieces))} {sums}"
    return hashlib.blake2b(text.encode(), digest_size=_CHECK_BYTES).digest()


def _copy(source: int, target: int, size: int) -> None:
    """Copy the first bytes of a file in the kernel. Some file systems share the blocks instead of copying them."""
    done = 0
    try:
        while done < size:
            done += _check_count(os.copy_file_range(source, target, size - done, done))
    except (AttributeError, OSError):
        # copy_file_range does not support these file systems or this operating system.
        while done < size:
            done += _check_count(os.sendfile(target, source, done, size - done))


def _check_count(count: int) -> int:
    if count == 0:
        raise OSError(5, "the file has become shorter")
    return count
