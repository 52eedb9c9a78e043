# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of the converters from TFLite operators to relax operators.

The key is the name of a built-in operator, such as `CONV_2D`, or the name of a custom operator.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.frontends.core.converters import NamedConverters
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.values import Outputs

from .tflite_node import TfliteNode

Convert = Callable[[TfliteNode], Outputs]
CONVERTERS = NamedConverters("tflite", "operator", __package__ or "", "MyOperator")
register_rows, register_tflite = CONVERTERS.teach_rows, CONVERTERS.teaching

#: Prefix that the TFLite converter adds to the names of TensorFlow operators, which TensorFlow's runtime executes.
_OF_TENSORFLOW = "Flex"


def unknown(name: str, is_custom: bool) -> Unsupported:
    """Return the exception for an operator without a converter.

    For a custom operator, the exception's help says how to register a converter.
    """
    if not is_custom:
        reason = "it is a StableHLO operator: convert the model to TFLite operators"
        return Unsupported(reason if name.startswith("STABLEHLO_") else "no converter")
    found = CONVERTERS.unknown(name)
    if name.startswith(_OF_TENSORFLOW):
        return Unsupported("it is a TensorFlow operator: convert the model without SELECT_TF_OPS", help=found.help)
    return found
