# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How relax operators become nodes of ONNX, by the operation's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ....support.registry import Registry, names_of, place_of_caller

if TYPE_CHECKING:
    from .call import ExportedOp
    from .values import Held

#: Told an operation, it adds nodes and gives what stands for the results: one, or a sequence.
Export = Callable[["ExportedOp"], "Held | Sequence[Held]"]
Function = TypeVar("Function", bound=Export)


class Exporter(NamedTuple):
    """How an operation is exported; `place` says where that is written."""

    name: str
    function: Export
    place: str


_EXPORTERS = Registry[Exporter](
    lambda each: (each.name,),
    lambda new, taken: f"operation '{new.name}' is exported to ONNX already: {taken.place}",
    families=f"{__package__}.operators",
)


def exports(names: str | Sequence[str]) -> Callable[[Function], Function]:
    """Says what operations of a name, or of several, become in ONNX; use it as a decorator."""
    return _EXPORTERS.registering(lambda function, place: [Exporter(name, function, place) for name in names_of(names)])


def export_rows(rows: Mapping[str, Export]) -> None:
    """The same of many: functions by the names of relax operators."""
    place = place_of_caller(1)
    _EXPORTERS.add([Exporter(f"relax.{name}", function, f"{place} ({name})") for name, function in rows.items()])


def export_same(rows: Mapping[str, str]) -> None:
    """Of relax operators that one operator of ONNX with the same operands is, by names."""
    export_rows({name: _same(operator) for name, operator in rows.items()})


def _same(operator: str) -> Export:
    return lambda op: op.node(operator, *op.operands)


def find_exporter(name: str) -> Export | None:
    """How operations of this name are exported."""
    _EXPORTERS.load()
    found = next(iter(_EXPORTERS.tried(name)), None)
    return None if found is None else found.function


def exported_names() -> list[str]:
    """The names of all operations that can be exported."""
    _EXPORTERS.load()
    return sorted(_EXPORTERS.entries)
