# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of TFLite's operators to relax's operators: by the operator's name, `CONV_2D`, or a custom
one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.plugins import load_plugins
from ...support.suggest import suggest
from ..core.converters import NamedConverter, converters
from ..core.node import Unsupported
from ..core.values import Outputs
from .tflite_node import Node

Convert = Callable[[Node], Outputs]
Function = TypeVar("Function", bound=Convert)

CONVERTERS = converters("operator", f"{__package__}.operators")

#: What converters call TensorFlow's own operators, which a file may call by its runtime.
_OF_TENSORFLOW = "Flex"


@types_checked
def register_tflite(*names: str) -> Callable[[Function], Function]:
    """Teaches the front end operators: custom ones by their names, "MyOperator"; use it as a decorator."""
    if not names or not all(names):
        raise RelaxError("register_tflite takes the names of operators, such as 'MyOperator'")
    return CONVERTERS.registering(lambda function, place: [NamedConverter(name, function, place) for name in names])


def register_rows(rows: Mapping[str, Convert]) -> None:
    """Teaches the operators that take a line each: names, several with spaces between, with what converts them."""
    for names, convert in rows.items():
        register_tflite(*names.split())(convert)


def find_converter(name: str, is_custom: bool = False) -> NamedConverter | None:
    found = CONVERTERS.find(name)
    if found is None and is_custom and load_plugins("tflite", name):
        found = CONVERTERS.find(name)
    return found


def unknown(name: str, is_custom: bool) -> Unsupported:
    """Why an operator without a converter cannot be imported, and how a custom one is taught."""
    if not is_custom:
        reason = "it is one of StableHLO's: convert the model to operators of TFLite"
        return Unsupported(reason if name.startswith("STABLEHLO_") else "no converter")
    CONVERTERS.load()
    lines = f"""teach it in your own package:
@rx.register_tflite("{name}")
def convert(node):
    return relax.nn.relu(node.tensor(0))  # what it computes, with relax's operators"""
    if name.startswith(_OF_TENSORFLOW):
        return Unsupported("it is TensorFlow's own: convert the model without SELECT_TF_OPS", help=lines)
    return Unsupported(f"no converter{suggest(name, CONVERTERS.entries)}", help=lines)


def all_converters() -> list[NamedConverter]:
    """Every converter, sorted by name."""
    return CONVERTERS.all()
