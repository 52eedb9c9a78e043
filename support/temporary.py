# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files and folders: in memory if the system supports such files, else in TMPDIR."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import RelaxError

_OPEN_FILES = "/proc/self/fd"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def temporary_folder(prefix: str = "relax-") -> Iterator[Path]:
    """Create a temporary folder that is deleted at the end. Raise RelaxError if the disk has no space."""
    import tempfile  # slow to import and rarely needed

    try:
        directory = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise no_room(error) from None
    with directory as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise no_room(error) from None


def scratch_file() -> IO[bytes]:
    """Open an anonymous file for writing and reading. Raise RelaxError if no file can be created."""
    if hasattr(os, "memfd_create"):
        # Some systems have the call but forbid it.
        with contextlib.suppress(OSError):
            return open(os.memfd_create("relax-mlir"), "w+b")
    import tempfile

    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise no_room(error) from None


@contextlib.contextmanager
def path_to_write() -> Iterator[str]:
    """Yield the path of a temporary file that other code writes and this process reads.

    Raise RelaxError without space.
    """
    if has_files_in_memory():
        with scratch_file() as file:
            yield f"{_OPEN_FILES}/{file.fileno()}"
        return
    with temporary_folder() as folder:
        yield str(folder / "file")


def has_files_in_memory() -> bool:
    """Check whether in-memory files have paths: writing then needs no disk space and no folder."""
    return hasattr(os, "memfd_create") and os.path.isdir(_OPEN_FILES)


def is_any_size_written() -> bool:
    """Check whether files of any size can be written to `path_to_write`."""
    try:
        import resource
    except ImportError:  # a system without resource limits
        return has_files_in_memory()
    # The file size limit applies to in-memory files too.
    return has_files_in_memory() and resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def no_room(error: OSError) -> RelaxError:
    """Return the error about a temporary file that cannot be written."""
    import tempfile

    where = f" in '{tempfile.tempdir}'" if tempfile.tempdir else ""
    return RelaxError(f"cannot write temporary files{where}: {error.strerror or error} (TMPDIR names another folder)")
