# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptions of pass options: the comments (`#:`) above dataclass fields, or a field's metadata."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect

from ...passes.core.options import format_value

_MARK = "#:"


def option_doc(pass_class: type, field: dataclasses.Field[object]) -> str:
    """Return the description in one line, empty if there is none."""
    text = str(field.metadata.get("help", ""))
    return text or next((docs[field.name] for cls in pass_class.__mro__ if field.name in (docs := _comments(cls))), "")


def default_text(field: dataclasses.Field[object]) -> str:
    """Return the default as a pipeline spells it, empty if there is none."""
    if field.default is not dataclasses.MISSING:
        return format_value(field.default)
    return "" if field.default_factory is dataclasses.MISSING else format_value(field.default_factory())


@functools.cache
def _comments(cls: type) -> dict[str, str]:
    """Return the comments above the fields that a class itself declares."""
    if not dataclasses.is_dataclass(cls):
        return {}
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(cls))
        (body,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):  # no source file, or a generated class
        return {}
    lines = source.splitlines()
    fields = [each for each in getattr(body, "body", ()) if isinstance(each, ast.AnnAssign)]
    return {field.target.id: _read(lines, field.lineno - 1) for field in fields if isinstance(field.target, ast.Name)}


def _read(lines: list[str], at: int) -> str:
    comments: list[str] = []
    while at > 0 and lines[at - 1].strip().startswith(_MARK):
        at -= 1
        comments.insert(0, lines[at].strip().removeprefix(_MARK).strip())
    return " ".join(comments)
