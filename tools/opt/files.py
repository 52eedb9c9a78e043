# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping

from ...support.errors import RelaxError


def refuse_overwriting(outputs: Mapping[str, str | None], inputs: Iterable[str]) -> None:
    """Refuses files to write, by the options that name them, that are files to read, by whatever name or link.

    Raises RelaxError. Standard streams ("-"), devices and pipes are nobody's loss.
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
    """Of a file; nothing where there is none that could be overwritten."""
    try:
        return os.stat(path) if path != "-" and not is_special(path) else None
    except (OSError, ValueError):
        return None


def write_whole(path: str, data: bytes) -> None:
    """Writes a file whole or not at all. Raises RelaxError."""
    try:
        if is_special(path):
            # A device or a pipe cannot be replaced; writing to it is what was asked for.
            with open(path, "wb") as file:
                file.write(data)
            return
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temporary = write_beside(path, data)
        try:
            os.replace(temporary, os.path.realpath(path))
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise RelaxError(f"cannot write output file '{path}': {error.strerror}") from None


def write_beside(path: str, data: bytes) -> str:
    """Writes a hidden file that can be renamed to `path`, with the mode that `path` should have; returns its name."""
    import tempfile  # slow to import, and seldom needed

    handle, temporary = tempfile.mkstemp(prefix=".relax-opt-", dir=os.path.dirname(os.path.realpath(path)))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode_for(path))
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def is_special(path: str) -> bool:
    """A device, a pipe, a folder: nothing that a file could replace."""
    return os.path.exists(path) and not os.path.isfile(path)


def _mode_for(path: str) -> int:
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
