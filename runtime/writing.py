# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from .errors import ArtifactError


def write_whole(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes beside the file and takes its place at the end. Raises ArtifactError; the file is then as before."""
    if not path.name:
        raise ArtifactError(f"{path}: cannot be written: it names no file")
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        # Created like any other file, with the permissions that the process gives to new ones.
        with open(beside, "xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)
