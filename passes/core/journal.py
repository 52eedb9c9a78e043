# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimization remarks: facts that passes record in the active journal, in order.

    journal = Journal()
    with journal.recording():
        ...                                     # passes that run here find the journal
    print(journal.to_json())

    journal = Journal.active()                  # in a pass; compute nothing if this is None
    if journal is not None:
        journal.note("my-kind", kernel="add", banks=3)

A fact is a dictionary of JSON values with a kind. facts.py declares the facts of this project's passes. Facts of other
kinds are stored and shown as well.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from ...support.errors import RelaxError

#: Format version of the journal's JSON.
FORMAT_VERSION = 1
_active: ContextVar[Journal | None] = ContextVar("journal", default=None)


@dataclasses.dataclass(eq=False, repr=False)
class Fact:
    """Fields of one kind of fact; see facts.py.

    The kind is derived from the class name: "not-fused" for NotFusedFact.
    """

    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "kind" not in vars(cls):
            cls.kind = re.sub("(?<=[a-z])(?=[A-Z])", "-", cls.__name__.removesuffix("Fact")).lower()

    # One method for all classes: generating it and comparisons per class would take longer than recording does.
    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@dataclasses.dataclass(eq=False, repr=False)
class StageFact(Fact):
    """Wall time of a compilation stage."""

    name: str
    seconds: float


@dataclasses.dataclass(eq=False, repr=False)
class PassFact(Fact):
    """Effect of a pass on the graph: changes of operation counts, and the number of applications of each pattern."""

    stage: str
    name: str
    operations: Mapping[str, int]
    patterns: Mapping[str, int]


class Journal:
    """Facts in the order of recording."""

    def __init__(self, *, steps: bool = False, schedules: bool = False) -> None:
        """Create a journal.

        With `steps` the journal also receives the schedules that kernels' plans stand for, which takes time for each
        kernel. With `schedules` the journal receives the intrinsics of kernels, and the reasons for unused rules and
        intrinsics.
        """
        self.facts: list[dict[str, Any]] = []
        self.explains_schedules = schedules
        #: Reasons of earlier passes against schedules of kernels, or None if not requested.
        self.steps: dict[str, list[str]] | None = {} if steps else None

    @staticmethod
    def active() -> Journal | None:
        """Return the active journal, or None."""
        return _active.get()

    @contextmanager
    def recording(self) -> Iterator[Journal]:
        """Make this journal the only active one, in this thread or task, inside the `with` statement."""
        token = _active.set(self)
        try:
            yield self
        finally:
            _active.reset(token)

    def add(self, fact: Fact) -> None:
        """Record a fact of a declared kind."""
        fields = {field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)}
        self.note(fact.kind, **fields)

    def note(self, kind: str, /, **fields: object) -> None:
        """Record a fact of any kind. Raise RelaxError for values that JSON cannot represent."""
        if not kind:
            raise RelaxError("a fact needs a kind: a word that says what it is about")
        if "kind" in fields:
            raise RelaxError(f"a fact of kind '{kind}' has a field 'kind', which is taken")
        self.facts.append({"kind": kind, **{name: _plain(value, kind, name) for name, value in fields.items()}})

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the facts of a kind, in order."""
        return [fact for fact in self.facts if fact["kind"] == kind]

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of recorded facts, in order of first occurrence."""
        return list(dict.fromkeys(fact["kind"] for fact in self.facts))

    def to_json(self, indent: int | None = None) -> str:
        """Return all facts as JSON text."""
        return json.dumps({"format": FORMAT_VERSION, "facts": self.facts}, indent=indent, allow_nan=False)

    def __repr__(self) -> str:
        return f"<journal of {len(self)} facts: {', '.join(self.kinds) or 'none yet'}>"

    def __len__(self) -> int:
        return len(self.facts)

    def __str__(self) -> str:
        """Return one line per fact."""
        return "\n".join(_line(fact) for fact in self.facts)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Record the duration of a compilation stage if a journal is active."""
    if (journal := Journal.active()) is None:
        yield
        return
    start = time.perf_counter()
    yield
    journal.add(StageFact(name, time.perf_counter() - start))


def _plain(value: object, kind: str, name: str) -> Any:
    """Return a copy of a value as JSON data, independent of later changes. Raise RelaxError for other values."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, kind, name) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, kind, name) for key, item in value.items()}
    shown = repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
    raise RelaxError(
        f"field '{name}' of a fact of kind '{kind}' is {shown}, which JSON cannot hold: tell numbers, text, lists, "
        "dictionaries with text as keys"
    )


def _line(fact: dict[str, object]) -> str:
    fields = (f"{name}={value!r}" for name, value in fact.items() if name != "kind")
    return f"{fact['kind']}: {' '.join(fields)}"
