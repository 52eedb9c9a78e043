# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands that Python callers may leave out: in the IR they are there, with their default."""

from __future__ import annotations

from typing import Any

from ..core.opdef import Prepare


def fill(**defaults: Any) -> Prepare:
    """For `prepare=`: gives operands that are absent or None these values."""

    def prepare(arguments: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        return {**defaults, **given}

    return prepare
