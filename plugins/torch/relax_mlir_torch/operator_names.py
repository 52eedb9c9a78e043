# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of the functions that nodes of torch.fx call."""

from __future__ import annotations

from typing import Any


def name_of(target: Any) -> str:
    """Return the name of an operator, `aten::add.Tensor`, or module and name of a function, `_operator::mul`."""
    if (schema := getattr(target, "_schema", None)) is not None:
        return f"{schema.name}.{schema.overload_name or 'default'}"
    if hasattr(target, "namespace"):
        return f"{target.namespace}::{target.name()}"
    return f"{getattr(target, '__module__', '?')}::{getattr(target, '__name__', target)}"
