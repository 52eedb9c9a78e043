# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile

from ...bindings.errors import RelaxError


def write_whole(path: str, data: bytes) -> None:
    """Writes a file whole or not at all. Raises RelaxError."""
    try:
        if _is_special(path):
            # A device or a pipe cannot be replaced; writing to it is what was asked for.
            with open(path, "wb") as file:
                file.write(data)
            return
        temporary = write_beside(path, data)
        try:
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise cannot_write(path, error) from None


def write_beside(path: str, data: bytes) -> str:
    """Writes a hidden file that can be renamed to `path`, with the mode that `path` should have; returns its name."""
    handle, temporary = tempfile.mkstemp(prefix=".relax-opt-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode_for(path))
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def cannot_write(path: str, error: OSError) -> RelaxError:
    return RelaxError(f"cannot write output file '{path}': {error.strerror}")


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _mode_for(path: str) -> int:
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
