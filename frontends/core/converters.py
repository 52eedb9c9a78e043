# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of operator converters by name, for front ends without versions of operators."""

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
    """Converter of an operator. `place` is the file and line of its definition."""

    name: str
    function: Callable[[Any], Outputs]
    place: str

    def __call__(self, node: Any) -> Outputs:
        what = f"the converter '{self.function.__name__}'"
        with blaming(what, self.function, answers=(Unsupported, Incomplete)):
            return self.function(node)


class NamedConverters(Registry[NamedConverter]):
    """Registered converters of a front end."""

    def __init__(
        self,
        front_end: str,
        what: str,
        package: str,
        example: str,
        refused: Mapping[str, str] = MappingProxyType({}),
        *,
        register: str = "",
    ):
        """Create a registry of converters.

        `front_end` is the kind under which other packages announce converters, and `what` the front end's word for an
        operator. The package `operators` in `package` has the families of converters; an empty `package` has none.
        `example` is an operator's name, for messages. `refused` maps operators that no imported program can contain to
        the reason. `register` is the decorator that users call, `rx.register_<front end>` by default.
        """

        def doubled(new: NamedConverter, taken: NamedConverter) -> str:
            return f"{what} '{new.name}' has a converter already: {taken.place}"

        super().__init__(lambda each: (each.name,), doubled, families=f"{package}.operators" if package else "")
        self._front_end, self._what, self._example, self._refused = front_end, what, example, refused
        self._register = register or f"rx.register_{front_end}"

    def teaching(self, *names: str) -> Callable[[Function], Function]:
        """Return a decorator that registers the converter of these operators."""
        if not names or not all(names):
            raise RelaxError(f"{self._register.rpartition('.')[2]} takes names of operators, such as '{self._example}'")
        return self.registering(lambda function, place: [NamedConverter(name, function, place) for name in names])

    def teach_rows(self, rows: Mapping[str, Callable[[Any], Outputs]]) -> None:
        """Register converters from rows. A key is one or several operator names, separated by spaces."""
        for names, convert in rows.items():
            self.teaching(*names.split())(convert)

    def rows(self) -> list[tuple[str, str]]:
        """Return each operator with the location of its converter, by name."""
        return [(each.name, each.place) for each in self.all()]

    def converter_of(self, *names: str) -> NamedConverter | None:
        """Return the converter of the first name that has one.

        If no name has one, packages that announce converters are imported: `mylib` for `mylib.op`, `mylib::op` and
        `custom_call @mylib.op`.
        """
        self.load()
        converter = self._first(names)
        namespace = names[0].rpartition("@")[2].partition("::")[0].partition(".")[0]
        if converter is None and load_plugins(self._front_end, namespace):
            converter = self._first(names)
        return converter

    def _first(self, names: tuple[str, ...]) -> NamedConverter | None:
        return next((each for name in names for each in self.tried(name)), None)

    def unknown(self, name: str) -> Unsupported:
        """Return the error for an operator without a converter, with an example of how to register one."""
        if name in self._refused:
            return Unsupported(self._refused[name])
        self.load()
        lines = f"""teach it in your own package:
@{self._register}("{name}")
def convert(node):
    return relax.nn.relu(node.tensor(0))  # what it computes, with relax's operators"""
        return Unsupported(f"no converter{suggest(name, self.entries)}", help=lines)
