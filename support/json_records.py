# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records in JSON files: an instance of a dataclass, with the version of its form."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from .errors import RelaxError

T = TypeVar("T")


def read_record(
    kind: type[T],
    path: str | os.PathLike[str],
    version: int,
    title: str,
    again: str,
    convert: Callable[[dict[str, Any]], object],
) -> T:
    """Read a record of a class with the field `path`. `convert` changes the fields from JSON in place.

    Raise RelaxError for a damaged file, named by `title`, and for another version, with the help `again`.
    """
    what = f"{title} '{os.fspath(path)}'"
    try:
        content = json.loads(Path(path).read_bytes())
        found = content.pop("version")
    except OSError as error:
        raise RelaxError(f"{what} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RelaxError(f"{what} is damaged: it is no JSON object with a version") from None
    if found != version:
        raise RelaxError(f"{what} has version {found}, expected {version}: {again}")
    try:
        unknown = set(content) - {field.name for field in fields(kind)}  # type: ignore[arg-type]
        if unknown:
            raise TypeError(f"field '{min(unknown)}' is unknown")
        convert(content)
        build: Callable[..., T] = kind
        return build(**content, path=os.fspath(path))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RelaxError(f"{what} is damaged: {error}") from None
