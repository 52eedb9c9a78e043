# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of TOSA's operations to relax's operators: by the operation's name, `tosa.add`; of a
custom one with its domain and name, `tosa.custom @domain.name`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...support.argument_types import types_checked
from ..core.converters import NamedConverters
from ..core.values import Outputs
from .tosa_node import Node

Convert = Callable[[Node], Outputs]
Function = TypeVar("Function", bound=Convert)

CONVERTERS = NamedConverters("tosa", "operation", __package__ or "", "tosa.custom @mydomain.myop")
register_rows = CONVERTERS.teach_rows


@types_checked
def register_tosa(*names: str) -> Callable[[Function], Function]:
    """Teaches the front end operations: "tosa.add", or custom ones, "tosa.custom @mydomain.myop"; use it as a
    decorator.
    """
    return CONVERTERS.teaching(*names)
