# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hashes of functions and objects: every change of a rule's results changes its hash."""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.object_digest import digest_of

HEAD = """
import functools, helper
SCALE, TABLE = 2, {"a": [1, 2]}
def inner(x): return x * SCALE
class Base:
    bits = 8
class Board(Base):
    def __init__(self, lanes): self.lanes = lanes
    def width(self): return self.lanes * self.bits
BOARD = Board(4)
"""
RULE = "def rule(x): return inner(x) + BOARD.width() + TABLE['a'][0] + helper.offset(x)"
HELPER = "UNIT = 3\ndef offset(x): return x + UNIT"


def rule_of(head: str = HEAD, rule: str = RULE, helper: str = HELPER) -> Callable[..., object]:
    """Return the rule of a module, mynpu, that imports another one of its package."""
    other = types.ModuleType("mynpu.helper")
    exec(helper, vars(other))
    own = types.ModuleType("mynpu")
    vars(own)["helper"] = other
    exec(head.replace("import functools, helper", "import functools") + rule, vars(own))
    made = vars(own)["rule"]
    assert callable(made)
    return made


def test_the_same_source_has_the_same_hash() -> None:
    assert digest_of(rule_of()) == digest_of(rule_of()) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE, TABLE = 2", "SCALE, TABLE = 3"),
        ("[1, 2]", "[1, 3]"),
        ("x * SCALE", "x + SCALE"),
        ("bits = 8", "bits = 4"),
        ("self.lanes * self.bits", "self.lanes + self.bits"),
        ("Board(4)", "Board(5)"),
        ("return inner(x) +", "return inner(x) -"),
        ("UNIT = 3", "UNIT = 4"),
        ("x + UNIT", "x - UNIT"),
        ("def rule(x)", "def rule(x, y=1)"),
    ],
)
def test_a_change_changes_the_hash(old: str, new: str) -> None:
    texts = [HEAD, RULE, HELPER]
    changed = [text.replace(old, new) for text in texts]
    assert changed != texts
    assert digest_of(rule_of(*changed)) != digest_of(rule_of())


def test_state_that_changes_while_the_program_runs() -> None:
    rule = rule_of()
    before = digest_of(rule)
    rule.__globals__["BOARD"].lanes = 9  # type: ignore[attr-defined]  # a function
    assert digest_of(rule) != before
    rule.__globals__["BOARD"].lanes = 4  # type: ignore[attr-defined]
    assert digest_of(rule) == before


def test_closures_defaults_and_partials() -> None:
    def make(scale: int, *, of: int = 1) -> Callable[[int], int]:
        def rule(x: int, y: int = of) -> int:
            return x * scale + y

        return rule

    assert digest_of(make(2)) == digest_of(make(2)) is not None
    assert digest_of(make(2)) != digest_of(make(3))
    assert digest_of(make(2)) != digest_of(make(2, of=5))
    assert digest_of(functools.partial(make(2), 1)) != digest_of(functools.partial(make(2), 2))
    assert digest_of(functools.lru_cache(make(2))) != digest_of(functools.lru_cache(make(3)))


class Kind(enum.Enum):
    ONE = 1
    TWO = 2


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    bits: int = 8
    kinds: tuple[Kind, ...] = ()


class Pair(NamedTuple):
    one: int
    two: int = 2

    def sum(self) -> int:
        return self.one + self.two


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: object) -> None:
        self.a = a


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (Row("a"), Row("b")),
        (Row("a"), Row("a", 4)),
        (Row("a", kinds=(Kind.ONE,)), Row("a", kinds=(Kind.TWO,))),
        (Slotted(1), Slotted(2)),
        (Pair(1), Pair(2)),
        (Pair(1), (1, 2)),
        (numpy.arange(3), numpy.arange(3)[::-1]),
        (numpy.arange(4), numpy.arange(4).reshape(2, 2)),
        (numpy.float32(1), numpy.float64(1)),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        ({1, 2}, {1, 3}),
        ({Row("a"), (1, 2)}, {Row("b"), (1, 2)}),
        ([1, 2], (1, 2)),
        (1, True),
        ([[1], 2], [[1, 2]]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (len, sorted),
        ([].append, [1].append),
        (Path("a"), Path("b")),
        (str, int),
    ],
)
def test_values_that_differ(one: Any, two: Any) -> None:
    assert digest_of(one) is not None
    assert digest_of(one) != digest_of(two)


def test_the_order_of_a_set_does_not_count() -> None:
    rows = [Row(str(number)) for number in range(50)]
    assert digest_of({*rows}) == digest_of({*rows[::-1]}) is not None


@pytest.mark.parametrize("base, value", [("dict", "{'a': 1}"), ("list", "[1]"), ("int", "3"), ("str", "'a'")])
def test_methods_of_numbers_texts_and_containers_count(base: str, value: str) -> None:
    head = f"class Own({base}):\n    def width(self): return 8\nOWN = Own({value})\n"
    rule = "def rule(x): return OWN.width()"
    before = digest_of(rule_of(head, rule))
    assert before is not None
    assert before != digest_of(rule_of(head.replace("8", "4"), rule))
    assert before != digest_of(rule_of(head.replace("1", "2").replace("3", "2").replace("'a'", "'b'"), rule))


def test_imports_in_a_function() -> None:
    known = "def rule(x):\n    import math\n    from numpy import sin\n    return sin(x)"
    assert digest_of(rule_of(rule=known)) is not None
    for imported in ("from mynpu.tables import SCALE", "from . import tables", "import mynpu.tables"):
        assert digest_of(rule_of(rule=f"def rule(x):\n    {imported}\n    return x")) is None


def test_a_module_with_a_name_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "profile", types.ModuleType("profile"))

    def of(number: int) -> object:
        made = rule_of(rule=f"def rule(x): return x + {number}")
        made.__module__ = "profile"
        return made

    assert digest_of(of(1)) != digest_of(of(2))


def test_circles_end() -> None:
    ring: list[object] = [1]
    ring.append(ring)
    other: list[object] = [2]
    other.append(other)
    assert digest_of(ring) != digest_of(other)


class Stranger:
    def __getattr__(self, name: str) -> object:
        if name in ("dtype", "tobytes"):
            raise RuntimeError(name)
        raise AttributeError(name)


@pytest.mark.parametrize(
    "opaque",
    [
        threading.Lock(),
        (each for each in ()),
        memoryview(b"ab"),
        Stranger(),
        {threading.Lock()},
        lambda: LOCK,
        [types.SimpleNamespace(a=threading.Lock())],
    ],
)
def test_opaque_objects_have_no_digest(opaque: object) -> None:
    assert digest_of(opaque) is None


LOCK = threading.Lock()


def test_an_object_with_memory_of_its_own_has_no_hash() -> None:
    with ir.Context() as context:
        assert digest_of(context) is None


def test_types_and_attributes_of_mlir_count_by_their_texts() -> None:
    with ir.Context():
        i8, other = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(16)
        assert digest_of(i8) != digest_of(other)
        assert digest_of(ir.TypeAttr.get(i8)) != digest_of(ir.TypeAttr.get(other))
        with ir.Context():
            assert digest_of(i8) == digest_of(ir.IntegerType.get_signless(8)) is not None
