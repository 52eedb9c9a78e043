# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exception that reaches users: a message, the place it is about, and what would help; its kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class RelaxError(Exception):
    """Something the user asked for cannot be done. `str()` is complete: no traceback is needed to act on it.

    `diagnostics` holds what MLIR reported (see bindings/diagnostics.py), where it was MLIR that refused.
    """

    def __init__(self, message: str, *, location: str = "", notes: Sequence[str] = (), diagnostics: Sequence[Any] = ()):
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = tuple(notes)
        self.diagnostics = tuple(diagnostics)
        #: Whether it says already which function of a user's it comes from (see blaming.py).
        self.is_blamed = False

    def altered(
        self,
        message: str | None = None,
        *,
        location: str | None = None,
        notes: Sequence[str] | None = None,
        diagnostics: Sequence[Any] | None = None,
    ) -> RelaxError:
        """Another error of the same kind, whatever its constructor takes; what is not given stays as it is."""
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
    """A model, or a program's text, cannot be read, or says what makes no sense: ONNX, TVMScript, MLIR."""


class VerificationError(RelaxError):
    """IR is not valid, as it was built or as a pass left it."""


class RefusalError(RelaxError):
    """What is asked makes sense, and this compiler, a pass, a target or a codegen cannot do it."""


class OptionError(RelaxError):
    """An option, an argument or a name that somebody gave is unknown, of a wrong type, or makes no sense."""


def message_of(error: BaseException) -> str:
    """What somebody else's exception says, behind its kind: it may say nothing, or fail to."""
    try:
        text = str(error)
    except Exception:  # a stranger's code may raise anything
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
