# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomic writing of files: no reader sees a partially written file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import IO

from .errors import RelaxError

StrPath = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(
    path: StrPath, prefix: str = ".relax-", *, mode: int | None = None, is_durable: bool = False
) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` at the end, or is deleted after an exception.

    Without `mode` the file has the mode of new files. With `is_durable` the bytes reach the disk before the rename;
    files that can be recreated need no such wait.
    """
    temporary = hidden_sibling(path, prefix)
    try:
        with open(temporary, "xb") as file:
            yield file
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def hidden_sibling(path: StrPath, prefix: str = ".relax-") -> str:
    """Return the path of a new hidden file in the same folder."""
    return os.path.join(os.path.dirname(path), prefix + os.urandom(8).hex())


def mode_of(path: StrPath) -> int | None:
    """Return the mode of an existing file, or None if the file does not exist."""
    return os.stat(path).st_mode & 0o777 if os.path.exists(path) else None


def write_whole(path: str, data: bytes) -> None:
    """Write a file atomically and keep an existing file's mode. Raise RelaxError if writing fails."""
    write_all({path: data})


def write_all(files: Mapping[str, bytes]) -> None:
    """Write all files, or none if a file cannot be written. Modes and errors are those of `write_whole`."""
    path = ""
    try:
        with contextlib.ExitStack() as opened:
            for path, data in files.items():
                file = opened.enter_context(_output(path))
                file.write(data)
                file.flush()
    except OSError as error:
        raise RelaxError(f"cannot write output file '{path}': {error.strerror}") from None


def _output(path: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    if is_special(path):
        # A device or a pipe is written to directly: it must not be replaced by a file.
        return open(path, "wb")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return replacing(os.path.realpath(path), mode=mode_of(path))


def refuse_unwritable(path: str | None) -> None:
    """Raise RelaxError early, before the work, if an output file cannot be written."""
    if path in (None, "-"):
        return
    parent = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(parent):
        raise RelaxError(f"cannot write output file '{path}': there is no folder '{parent}'")
    if os.path.isdir(path):
        raise RelaxError(f"cannot write output file '{path}': it is a folder")
    needed = [path] if is_special(path) else [parent, *([path] if os.path.exists(path) else [])]
    if not all(os.access(name, os.W_OK) for name in needed):
        raise RelaxError(f"cannot write output file '{path}': {os.strerror(errno.EACCES)}")


def is_special(path: StrPath) -> bool:
    """Check whether a path is a device, a pipe or a folder, which a file must not replace."""
    return os.path.exists(path) and not os.path.isfile(path)


def refuse_overwriting(outputs: Mapping[str, str | None], inputs: Iterable[str]) -> None:
    """Raise RelaxError if an output file is an input file, under any name or link.

    Options name the outputs.

    Standard streams ("-"), devices and pipes are allowed.
    """
    read = {name: status for name in inputs if (status := _status(name)) is not None}
    for option, path in outputs.items():
        status = None if path is None else _status(path)
        if status is None:
            continue
        for name in [name for name, other in read.items() if os.path.samestat(other, status)]:
            same = "" if name == path else f", which is the same file as '{name}'"
            raise RelaxError(f"{option} names an input, '{path}'{same}: it would be overwritten")


def _status(path: str) -> os.stat_result | None:
    """Return the status of a regular file, or None if nothing could be overwritten."""
    try:
        return os.stat(path) if path != "-" and not is_special(path) else None
    except (OSError, ValueError):
        return None
