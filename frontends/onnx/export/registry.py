# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of export rules: how relax operators become nodes of ONNX, by the operation's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ....support.blaming import place_of_caller
from ....support.registry import Named, NamedRegistry, names_of

if TYPE_CHECKING:
    from .export_call import ExportedOp
    from .export_values import Held

#: Given an operation, it adds nodes and returns what stands for the results: one, or a sequence.
Export = Callable[["ExportedOp"], "Held | Sequence[Held]"]
Function = TypeVar("Function", bound=Export)


_EXPORTERS = NamedRegistry[Export]("an exporter to ONNX of", families=f"{__package__}.operators")


def exports(names: str | Sequence[str]) -> Callable[[Function], Function]:
    """Says what operations of a name, or of several, become in ONNX; use it as a decorator."""
    return _EXPORTERS.registering(lambda function, place: [Named(name, function, place) for name in names_of(names)])


def export_rows(rows: Mapping[str, Export], dialect: str = "relax") -> None:
    """The same of many: functions by the names of a dialect's operations."""
    place = place_of_caller(1)
    _EXPORTERS.add([Named(f"{dialect}.{name}", function, f"{place} ({name})") for name, function in rows.items()])


def export_same(rows: Mapping[str, str], dialect: str = "relax") -> None:
    """Of operations that one operator of ONNX with the same operands is, by names."""
    export_rows({name: _same(operator) for name, operator in rows.items()}, dialect)


def _same(operator: str) -> Export:
    return lambda op: op.node(operator, *op.operands)


def find_exporter(name: str) -> Export | None:
    """How operations of this name are exported."""
    found = _EXPORTERS.find(name)
    return None if found is None else found.thing


def exported_names() -> list[str]:
    """The names of all operations that can be exported."""
    return _EXPORTERS.names()
