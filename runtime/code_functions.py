# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of loaded code by name."""

from __future__ import annotations

from .errors import ArtifactError
from .foreign_types import CodeModule, PackedFunction


def find_function(module: CodeModule, name: str) -> PackedFunction:
    """Return a function of code. Raise ArtifactError if it is missing or cannot be linked."""
    try:
        return module.get_function(name)
    except AttributeError:
        raise ArtifactError(f"the object code has no function '{name}'") from None
    except (RuntimeError, ValueError) as error:
        raise ArtifactError(f"'{name}' cannot be linked: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
