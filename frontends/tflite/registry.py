# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of TFLite's operators to relax's operators: by the operator's name, `CONV_2D`, or a custom
one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...support.argument_types import types_checked
from ..core.converters import NamedConverters
from ..core.node import Unsupported
from ..core.values import Outputs
from .tflite_node import Node

Convert = Callable[[Node], Outputs]
Function = TypeVar("Function", bound=Convert)

CONVERTERS = NamedConverters("tflite", "operator", __package__ or "", "MyOperator")
register_rows = CONVERTERS.teach_rows

#: What converters call TensorFlow's own operators, which a file may call by its runtime.
_OF_TENSORFLOW = "Flex"


@types_checked
def register_tflite(*names: str) -> Callable[[Function], Function]:
    """Teaches the front end operators: custom ones by their names, "MyOperator"; use it as a decorator."""
    return CONVERTERS.teaching(*names)


def unknown(name: str, is_custom: bool) -> Unsupported:
    """Why an operator without a converter cannot be imported, and how a custom one is taught."""
    if not is_custom:
        reason = "it is one of StableHLO's: convert the model to operators of TFLite"
        return Unsupported(reason if name.startswith("STABLEHLO_") else "no converter")
    found = CONVERTERS.unknown(name)
    if name.startswith(_OF_TENSORFLOW):
        return Unsupported("it is TensorFlow's own: convert the model without SELECT_TF_OPS", help=found.help)
    return found
