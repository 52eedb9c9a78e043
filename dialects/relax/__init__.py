# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialect relax. `relax.add(x, y)` and `relax.nn.conv2d(x, w, strides=2)` build operations."""

from __future__ import annotations

from typing import Any

from ..core.dialect import OpNamespace
from . import (  # noqa: F401  # importing a family declares its operators
    calls,
    creation,
    datatype,
    decompositions,
    effects,
    elementwise,
    gradients,
    image_ops,
    indexing,
    linear_algebra,
    manipulate,
    nbits,
    nn_activation,
    nn_attention,
    nn_conv,
    nn_loss,
    nn_misc,
    nn_norm,
    nn_pool,
    pages,
    qdq,
    reduction,
    search,
    shape,
    vision_ops,
    winograd,
)
from .constants import const
from .dialect import relax as dialect

_namespace = OpNamespace(dialect)


def __getattr__(name: str) -> Any:
    found = getattr(_namespace, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*dir(_namespace), "const", "dialect"]


__all__ = ["const", "dialect"]
