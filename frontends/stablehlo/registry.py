# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of StableHLO's operations to relax's operators: by the operation's name, `stablehlo.add` or
`chlo.erf`; of what an operation calls by name also that, `custom_call @name` and `composite @name`.
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
from .hlo_node import Node

Convert = Callable[[Node], Outputs]
Function = TypeVar("Function", bound=Convert)

CONVERTERS = converters("operation", f"{__package__}.operators")


@types_checked
def register_stablehlo(*names: str) -> Callable[[Function], Function]:
    """Teaches the front end operations, "stablehlo.add", or what is called by name, "custom_call @mylib.op" and
    "composite @mylib.op"; use it as a decorator.
    """
    if not names or not all(names):
        raise RelaxError("register_stablehlo takes the names of operations, such as 'custom_call @mylib.op'")
    return CONVERTERS.registering(lambda function, place: [NamedConverter(name, function, place) for name in names])


def register_rows(rows: Mapping[str, Convert]) -> None:
    """Teaches the operations that take a line each: names, several with spaces between, with what converts them."""
    for names, convert in rows.items():
        register_stablehlo(*names.split())(convert)


def find_converter(name: str) -> NamedConverter | None:
    found = CONVERTERS.find(name)
    if found is None and load_plugins("stablehlo", name.rpartition("@")[2].partition(".")[0]):
        found = CONVERTERS.find(name)
    return found


def unknown(name: str) -> Unsupported:
    """Why an operation without a converter cannot be imported, and how it is taught."""
    CONVERTERS.load()
    lines = f"""teach it in your own package:
@rx.register_stablehlo("{name}")
def convert(node):
    return relax.nn.relu(node.tensor(0))  # what it computes, with relax's operators"""
    return Unsupported(f"no converter{suggest(name, CONVERTERS.entries)}", help=lines)


def all_converters() -> list[NamedConverter]:
    """Every converter, sorted by name."""
    return CONVERTERS.all()
