# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters from TOSA's operations to relax's operators, by name: `tosa.add`.

Custom operations have their domain and name, `tosa.custom @domain.name`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from relax_mlir.frontends.core.converters import NamedConverters
from relax_mlir.frontends.core.values import Outputs
from relax_mlir.support.argument_types import types_checked

from .tosa_node import TosaNode

Convert = Callable[[TosaNode], Outputs]
Function = TypeVar("Function", bound=Convert)

CONVERTERS = NamedConverters("tosa", "operation", __package__ or "", "tosa.custom @mydomain.myop")
register_rows = CONVERTERS.teach_rows


@types_checked
def register_tosa(*names: str) -> Callable[[Function], Function]:
    """Register the converter of operations; use it as a decorator.

    Names are "tosa.add", or "tosa.custom @mydomain.myop" for custom operations.
    """
    return CONVERTERS.teaching(*names)
