# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions for users: message, source location and advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class RelaxError(Exception):
    """Error about a user's request.

    `str()` is complete: no traceback is needed to act on the error.

    `diagnostics` holds MLIR's diagnostics (see bindings/diagnostics.py) if MLIR has refused the IR.
    """

    def __init__(self, message: str, *, location: str = "", notes: Sequence[str] = (), diagnostics: Sequence[Any] = ()):
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = tuple(notes)
        self.diagnostics = tuple(diagnostics)
        #: True if the error already names the user's function that it comes from (see blaming.py).
        self.is_blamed = False

    def altered(
        self,
        message: str | None = None,
        *,
        location: str | None = None,
        notes: Sequence[str] | None = None,
        diagnostics: Sequence[Any] | None = None,
    ) -> RelaxError:
        """Return a copy of the error with the given fields replaced. Subclasses need not override this method."""
        kind = type(self)
        other = kind.__new__(kind)
        other.__dict__.update(self.__dict__)
        given = {"message": message, "location": location, "notes": notes, "diagnostics": diagnostics}
        for name, value in given.items():
            if value is not None:
                setattr(other, name, value if isinstance(value, str) else tuple(value))
        other.args = (other.message,)
        return other

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        return "\n".join([prefix + self.message, *(f"note: {note}" for note in self.notes)])


class ModelError(RelaxError):
    """Error in a model or a program text (ONNX, TVMScript, MLIR) that cannot be read or is invalid."""


class VerificationError(RelaxError):
    """Error about invalid IR, as built or as left by a pass."""


class RefusalError(RelaxError):
    """Error about a valid request that the compiler, a pass, a target or a codegen does not support."""


class OptionError(RelaxError):
    """Error about an option, argument or name that is unknown, has the wrong type or is invalid."""


def message_of(error: BaseException) -> str:
    """Return an exception's type and message, or the type alone if the message is empty or raises."""
    try:
        text = str(error)
    except Exception:  # foreign code may raise anything
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
