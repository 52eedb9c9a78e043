# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of the reader of .pt2 archives."""

from __future__ import annotations

from typing import NoReturn

from relax_mlir.support.errors import ModelError

#: Note of an error about an archive that torch itself may be able to read.
TRUST = (
    "rx.from_torch(path, trust=True) and the option --trust read the file by torch.export.load instead, which runs "
    "code of the file's author: use them only for a file from a source that you trust"
)


class UnreadableError(ModelError):
    """Raised for an archive that is damaged, or cannot be read without running code of its author."""


def refuse(message: str, *notes: str) -> NoReturn:
    """Raise UnreadableError with a note that names `trust`."""
    raise UnreadableError(message, notes=[*notes, TRUST])


def shortened(value: object, most: int = 60) -> str:
    """Return the repr of a value from an archive, cut to a length that fits into a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
