# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that have no versions, by the operators' names: what each front end has a registry of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...support.blaming import blaming
from ...support.registry import Registry
from .node import Incomplete, Unsupported
from .values import Outputs


class NamedConverter(NamedTuple):
    """How an operator is converted. `place` says where that is written."""

    name: str
    function: Callable[[Any], Outputs]
    place: str

    def __call__(self, node: Any) -> Outputs:
        what = f"the converter '{self.function.__name__}'"
        with blaming(what, self.function, answers=(Unsupported, Incomplete)):
            return self.function(node)


def converters(what: str, families: str) -> Registry[NamedConverter]:
    """A registry: `what` is what its operators are called, `families` the package of the project's own converters."""

    def doubled(new: NamedConverter, taken: NamedConverter) -> str:
        return f"{what} '{new.name}' has a converter already: {taken.place}"

    return Registry(lambda each: (each.name,), doubled, families=families)
