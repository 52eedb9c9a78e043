# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that have no versions, by the operators' names: what each front end has a registry of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ...support.blaming import blaming
from ...support.errors import RelaxError
from ...support.plugins import load_plugins
from ...support.registry import Registry
from ...support.suggest import suggest
from .node import Incomplete, Unsupported
from .values import Outputs

Function = TypeVar("Function", bound=Callable[..., object])


class NamedConverter(NamedTuple):
    """How an operator is converted. `place` says where that is written."""

    name: str
    function: Callable[[Any], Outputs]
    place: str

    def __call__(self, node: Any) -> Outputs:
        what = f"the converter '{self.function.__name__}'"
        with blaming(what, self.function, answers=(Unsupported, Incomplete)):
            return self.function(node)


class NamedConverters(Registry[NamedConverter]):
    """The converters of a front end."""

    def __init__(
        self, front_end: str, what: str, package: str, example: str, refused: Mapping[str, str] = MappingProxyType({})
    ):
        """`front_end`: the kind as which other packages announce converters; `what` its operators are called;
        `package` has the families of this project's own; `example` is an operator's name, for messages; `refused` are
        operators that no program of ours can have, and why.
        """

        def doubled(new: NamedConverter, taken: NamedConverter) -> str:
            return f"{what} '{new.name}' has a converter already: {taken.place}"

        super().__init__(lambda each: (each.name,), doubled, families=f"{package}.operators")
        self._front_end, self._what, self._example, self._refused = front_end, what, example, refused

    def teaching(self, *names: str) -> Callable[[Function], Function]:
        """A decorator for the converter of these operators."""
        if not names or not all(names):
            raise RelaxError(f"register_{self._front_end} takes names of operators, such as '{self._example}'")
        return self.registering(lambda function, place: [NamedConverter(name, function, place) for name in names])

    def teach_rows(self, rows: Mapping[str, Callable[[Any], Outputs]]) -> None:
        """Teaches the operators that take a line each: names, several with spaces between, with what converts them."""
        for names, convert in rows.items():
            self.teaching(*names.split())(convert)

    def converter_of(self, *names: str) -> NamedConverter | None:
        """The converter of the first name that has one. Packages that announce some are imported where there is none:
        those of `mylib`, for `mylib.op`, `mylib::op` and `custom_call @mylib.op`.
        """
        self.load()
        found = self._first(names)
        namespace = names[0].rpartition("@")[2].partition("::")[0].partition(".")[0]
        if found is None and load_plugins(self._front_end, namespace):
            found = self._first(names)
        return found

    def _first(self, names: tuple[str, ...]) -> NamedConverter | None:
        return next((each for name in names for each in self.tried(name)), None)

    def unknown(self, name: str) -> Unsupported:
        """Why an operator without a converter cannot be imported, and how it is taught."""
        if name in self._refused:
            return Unsupported(self._refused[name])
        self.load()
        lines = f"""teach it in your own package:
@rx.register_{self._front_end}("{name}")
def convert(node):
    return relax.nn.relu(node.tensor(0))  # what it computes, with relax's operators"""
        return Unsupported(f"no converter{suggest(name, self.entries)}", help=lines)
