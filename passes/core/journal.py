# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimization remarks: facts that passes note in a journal while one is active, kept in their order.

    journal = Journal()
    with journal.recording():
        ...                                     # passes that run here find it
    print(journal.to_json())

    journal = Journal.active()                  # in a pass; None where none is active: then nothing is computed
    if journal is not None:
        journal.note("my-kind", kernel="add", banks=3)

A fact is a dictionary of what JSON can hold, with its kind. facts.py has those that this project's passes note; those
of other kinds are kept and shown as well.
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

#: Of the JSON that a journal becomes.
FORMAT_VERSION = 1
_active: ContextVar[Journal | None] = ContextVar("journal", default=None)


@dataclasses.dataclass(eq=False, repr=False)
class Fact:
    """What one kind of fact says; see facts.py. The kind is the class' name, "not-fused" of NotFusedFact, or given."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "kind" not in vars(cls):
            cls.kind = re.sub("(?<=[a-z])(?=[A-Z])", "-", cls.__name__.removesuffix("Fact")).lower()

    # Made for each class, this and comparisons would take longer than recording does.
    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@dataclasses.dataclass(eq=False, repr=False)
class StageFact(Fact):
    """The time of a stage of the compilation, by the wall clock."""

    name: str
    seconds: float


@dataclasses.dataclass(eq=False, repr=False)
class PassFact(Fact):
    """What a pass of a stage did to the graph: how many more, or fewer, of its operations there are behind it by their
    names, and how often each pattern was applied."""

    stage: str
    name: str
    operations: Mapping[str, int]
    patterns: Mapping[str, int]


class Journal:
    """Facts in the order in which they were noted."""

    def __init__(self, *, steps: bool = False, schedules: bool = False) -> None:
        """With `steps` it also has the schedules that kernels' plans stand for, which takes time for each kernel; with
        `schedules` the intrinsics of kernels, and the reasons of rules and intrinsics that are not used."""
        self.facts: list[dict[str, Any]] = []
        self.explains_schedules = schedules
        #: Those that are told before tir-plan sees a kernel; None where none are asked for.
        self.steps: dict[str, list[str]] | None = {} if steps else None

    @staticmethod
    def active() -> Journal | None:
        """The journal that is being written here, if any."""
        return _active.get()

    @contextmanager
    def recording(self) -> Iterator[Journal]:
        """Whatever runs inside, in this thread or task, writes into this journal and no other."""
        token = _active.set(self)
        try:
            yield self
        finally:
            _active.reset(token)

    def add(self, fact: Fact) -> None:
        """Keeps a fact of a declared kind."""
        fields = {field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)}
        self.note(fact.kind, **fields)

    def note(self, kind: str, /, **fields: object) -> None:
        """Keeps a fact of any kind. Raises RelaxError for what JSON cannot hold."""
        if not kind:
            raise RelaxError("a fact needs a kind: a word that says what it is about")
        if "kind" in fields:
            raise RelaxError(f"a fact of kind '{kind}' has a field 'kind', which is taken")
        self.facts.append({"kind": kind, **{name: _plain(value, kind, name) for name, value in fields.items()}})

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The facts of a kind, in their order."""
        return [fact for fact in self.facts if fact["kind"] == kind]

    @property
    def kinds(self) -> list[str]:
        """The kinds of facts there are, in the order of their first one."""
        return list(dict.fromkeys(fact["kind"] for fact in self.facts))

    def to_json(self, indent: int | None = None) -> str:
        """All of it as JSON text."""
        return json.dumps({"format": FORMAT_VERSION, "facts": self.facts}, indent=indent, allow_nan=False)

    def __repr__(self) -> str:
        return f"<journal of {len(self)} facts: {', '.join(self.kinds) or 'none yet'}>"

    def __len__(self) -> int:
        return len(self.facts)

    def __str__(self) -> str:
        """A line for each fact."""
        return "\n".join(_line(fact) for fact in self.facts)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Notes how long a stage of the compilation takes, if a journal is active."""
    journal = Journal.active()
    if journal is None:
        yield
        return
    start = time.perf_counter()
    yield
    journal.add(StageFact(name, time.perf_counter() - start))


def _plain(value: object, kind: str, name: str) -> Any:
    """The value as JSON holds it: a copy, so that it stays what it was when it was noted."""
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
