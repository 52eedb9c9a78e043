# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of TOSA's operations to relax's operators: by the operation's name, `tosa.add`; of a
custom one with its domain and name, `tosa.custom @domain.name`.
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
from .tosa_node import Node

Convert = Callable[[Node], Outputs]
Function = TypeVar("Function", bound=Convert)

CONVERTERS = converters("operation", f"{__package__}.operators")


@types_checked
def register_tosa(*names: str) -> Callable[[Function], Function]:
    """Teaches the front end operations: "tosa.add", or custom ones, "tosa.custom @mydomain.myop"; use it as a
    decorator.
    """
    if not names or not all(names):
        raise RelaxError("register_tosa takes the names of operations, such as 'tosa.custom @mydomain.myop'")
    return CONVERTERS.registering(lambda function, place: [NamedConverter(name, function, place) for name in names])


def register_rows(rows: Mapping[str, Convert]) -> None:
    """Teaches the operations that take a line each: names, several with spaces between, with what converts them."""
    for names, convert in rows.items():
        register_tosa(*names.split())(convert)


def find_converter(name: str) -> NamedConverter | None:
    found = CONVERTERS.find(name)
    if found is None and "@" in name and load_plugins("tosa", name.partition("@")[2].partition(".")[0]):
        found = CONVERTERS.find(name)
    return found


def unknown(name: str) -> Unsupported:
    """Why an operation without a converter cannot be imported, and how it is taught."""
    CONVERTERS.load()
    lines = f"""teach it in your own package:
@rx.register_tosa("{name}")
def convert(node):
    return relax.nn.relu(node.tensor(0))  # what it computes, with relax's operators"""
    return Unsupported(f"no converter{suggest(name, CONVERTERS.entries)}", help=lines)


def all_converters() -> list[NamedConverter]:
    """Every converter, sorted by name."""
    return CONVERTERS.all()
