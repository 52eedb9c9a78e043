# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files and folders for a moment: in memory where the system has such files, else where TMPDIR says."""

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
    """A new folder, which is gone at the end. Raises RelaxError where it, or files in it, find no room."""
    import tempfile  # slow to import, and seldom needed

    try:
        made = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise no_room(error) from None
    with made as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise no_room(error) from None


def scratch_file() -> IO[bytes]:
    """A file without a name, to be written and read. Raises RelaxError."""
    if hasattr(os, "memfd_create"):
        # Some systems know the call and forbid it.
        with contextlib.suppress(OSError):
            return open(os.memfd_create("relax-mlir"), "w+b")
    import tempfile

    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise no_room(error) from None


@contextlib.contextmanager
def path_to_write() -> Iterator[str]:
    """The path of a file that somebody else writes and that is read then; it is gone at the end. Raises RelaxError."""
    if has_files_in_memory():
        with scratch_file() as file:
            yield f"{_OPEN_FILES}/{file.fileno()}"
        return
    with temporary_folder() as folder:
        yield str(folder / "file")


def has_files_in_memory() -> bool:
    """Whether there are such with a path: no disk can be full, no folder missing."""
    return hasattr(os, "memfd_create") and os.path.isdir(_OPEN_FILES)


def is_any_size_written() -> bool:
    """Whether what is written into `path_to_write` finds room, however much it is."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return has_files_in_memory()
    # A limit of files' sizes counts for those in memory as well.
    return has_files_in_memory() and resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def no_room(error: OSError) -> RelaxError:
    """What to say where a temporary file cannot be written."""
    import tempfile

    where = f" in '{tempfile.tempdir}'" if tempfile.tempdir else ""
    return RelaxError(f"cannot write temporary files{where}: {error.strerror or error} (TMPDIR names another folder)")
