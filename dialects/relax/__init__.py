# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The relax dialect. `relax.add(x, y)` and `relax.nn.conv2d(x, w, strides=2)` build operations."""

from __future__ import annotations

from typing import Any

from ..core.namespace import OpNamespace
from . import (  # noqa: F401  # importing a family declares its operators
    calls,
    elementwise,
    image,
    nn_attention,
    nn_loss,
    shape,
    vision,
)
from .constants import const
from .dialect import relax as dialect

_namespace = OpNamespace(dialect)


def __getattr__(name: str) -> Any:
    return getattr(_namespace, name)


def __dir__() -> list[str]:
    return [*dir(_namespace), "const", "dialect"]


__all__ = ["const", "dialect"]
