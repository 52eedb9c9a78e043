# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of exporters: functions that convert relax operators to ONNX nodes, by the operation's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ....support.blaming import place_of_caller
from ....support.registry import Named, NamedRegistry, names_of

if TYPE_CHECKING:
    from .export_call import ExportedOp
    from .export_values import Held

#: An exporter adds nodes for an operation, and returns the representation of its result, or of each result.
Export = Callable[["ExportedOp"], "Held | Sequence[Held]"]
Function = TypeVar("Function", bound=Export)


_EXPORTERS = NamedRegistry[Export]("an exporter to ONNX of", families=f"{__package__}.operators")


def exports(names: str | Sequence[str]) -> Callable[[Function], Function]:
    """Register the exporter of operations of a name, or of several names. Use as a decorator."""
    return _EXPORTERS.registering(lambda function, place: [Named(name, function, place) for name in names_of(names)])


def export_rows(rows: Mapping[str, Export], dialect: str = "relax") -> None:
    """Register the exporters of many operations by name."""
    place = place_of_caller(1)
    _EXPORTERS.add([Named(f"{dialect}.{name}", function, f"{place} ({name})") for name, function in rows.items()])


def export_same(rows: Mapping[str, str], dialect: str = "relax") -> None:
    """Register operations that correspond to one ONNX operator with the same operands."""
    export_rows({name: _same(operator) for name, operator in rows.items()}, dialect)


def _same(operator: str) -> Export:
    return lambda op: op.node(operator, *op.operands)


def find_exporter(name: str) -> Export | None:
    """Return the exporter registered for an operation name."""
    found = _EXPORTERS.find(name)
    return None if found is None else found.thing


def exported_names() -> list[str]:
    """Return the names of all operations that can be exported."""
    return _EXPORTERS.names()
