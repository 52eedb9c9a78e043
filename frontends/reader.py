# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of a front end: the functions that import models, list problems and list operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..bindings.ir import Operation
from ..passes.core.journal import timed
from ..support.callbacks import enters
from ..support.collector import uncollected
from ..support.errors import RelaxError
from .core.converters import Function, NamedConverters
from .core.problems import Problems, Words
from .module import Module


@dataclass(frozen=True)
class Reader:
    """Functions of a loaded front end.

    `read(source, **options)` imports a model. `problems_of(path, **options)` lists what prevents an import, for
    `relax-compile --check`. `operators()` gives rows for `relax-compile --list-operators`: an operator, and the
    location of its converter.
    """

    read: Callable[..., Module]
    problems_of: Callable[..., Problems] | None = None
    operators: Callable[[], Iterable[Sequence[str]]] | None = None
    converters: NamedConverters | None = None

    def register(self, *names: str) -> Callable[[Function], Function]:
        """Return a decorator that registers the converter of these operators. Raise RelaxError without converters."""
        if self.converters is None:
            raise RelaxError("this front end has no converters of operators that could be registered")
        return self.converters.teaching(*names)


def graph_reader(add: Callable[..., None], words: Words, converters: NamedConverters) -> Reader:
    """Return the reader of a front end that converts a graph by converters of its operators.

    `add(module, source, problems, **options)` adds functions to the module's operation. It adds what it cannot import
    to `problems`, which are reported together.
    """

    def attempt(source: object, options: dict[str, Any]) -> tuple[Module, Problems]:
        module, problems = Module(), Problems(words)
        operation: Operation = module.operation
        add(operation, source, problems, **options)
        return module, problems

    @enters
    @uncollected()
    def read(source: object, **options: Any) -> Module:
        with timed("import"):
            module, problems = attempt(source, options)
            problems.check()
            module.verify()
        return module

    def problems_of(path: str, **options: Any) -> Problems:
        return attempt(path, options)[1]

    return Reader(read, problems_of, converters.rows, converters)
