# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Defines the functions that all programs share, so that a module is whole in itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..support import define_support


@register_pass
@dataclass(frozen=True)
class DefineSupport(Pass):
    """Defines the functions that all programs share, so that a module is whole in itself.

    Not for what becomes a program: programs get them as an object that is made once.
    """

    name: ClassVar[str] = "host-define-support"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Operation) -> None:
        define_support(op)
