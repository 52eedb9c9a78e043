# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry: its order, its refusals with both locations, and its table."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.registry import Registry, names_of, table


class Rule(NamedTuple):
    name: str
    target: str
    function: Any
    place: str
    dtypes: str = ""


@pytest.fixture
def rules() -> Registry[Rule]:
    return Registry[Rule](
        lambda rule: (rule.name, rule.target),
        lambda rule, taken: f"'{rule.name}' is taken: {taken.place}",
        clash=lambda rule, taken: rule.dtypes == taken.dtypes,
    )


def test_entries_of_a_name_come_in_the_order_of_sorts(rules: Registry[Rule]) -> None:
    for name, target in (("b", "cpu"), ("a", "cpu"), ("a", "npu"), ("c", "gpu")):
        rules.add([Rule(name, target, None, f"{name}{target}")])
    assert [rule.place for rule in rules.tried("a", [("npu",), ("cpu",), ("gpu",)])] == ["anpu", "acpu"]
    assert {name: len(found) for name, found in rules.by_name([("cpu",), ("npu",)]).items()} == {"a": 2, "b": 1}
    assert list(rules.by_name([("cpu",)])) == ["a", "b"]
    assert [rule.place for rule in rules.all()] == ["acpu", "anpu", "bcpu", "cgpu"]
    assert rules.tried("d", [("cpu",)]) == []


def test_a_second_one_is_refused_with_both_places_and_none_of_its_company_is_kept(rules: Registry[Rule]) -> None:
    rules.add([Rule("a", "cpu", None, "here.py:1")])
    with pytest.raises(RelaxError, match=r"'a' is taken: here\.py:1\nnote: the second one is there\.py:2"):
        rules.add([Rule("b", "cpu", None, "there.py:2"), Rule("a", "cpu", None, "there.py:2")])
    assert [rule.name for rule in rules.all()] == ["a"]
    rules.add([Rule("a", "cpu", None, "there.py:2", dtypes="f32")])
    assert len(rules.tried("a", [("cpu",)])) == 2, "these two do not clash"


def test_one_from_the_same_place_takes_the_place_of_the_first(rules: Registry[Rule]) -> None:
    @rules.registering(lambda function, place: [Rule("a", "cpu", function, place)])
    def first() -> None: ...

    place = rules.all()[0].place
    assert place.startswith("support/test_registry.py:")
    rules.add([Rule("a", "cpu", "reloaded", place)])
    assert [rule.function for rule in rules.all()] == ["reloaded"]


def test_families_are_imported_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "rulefamilies"
    package.mkdir()
    (package / "__init__.py").write_text("seen = []\n")
    for name in ("one", "two"):
        (package / f"{name}.py").write_text(f"from . import seen\nseen.append('{name}')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry[Rule](lambda rule: (rule.name,), lambda rule, taken: "", families="rulefamilies")
    registry.load()
    registry.load()
    import rulefamilies  # type: ignore[import-not-found]

    assert rulefamilies.seen == ["one", "two"]


def test_columns_of_a_table_are_aligned() -> None:
    assert table(("name", "rule"), ("a", "x.py:1")) == "name  rule\na     x.py:1"
    assert names_of("a") == ["a"] and names_of(("a", "b")) == ["a", "b"]
