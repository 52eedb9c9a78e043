# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Separately compiled kernels: the same code as in the program, found again by their PrimFuncs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.compilation import steps
from relax_mlir.passes.core.instruments import Callback
from relax_mlir.runtime import Executable
from relax_mlir.support.disk_cache import DiskCache
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.processes.background import BackgroundRun
from relax_mlir.targets.llvm.objects import separate_kernels, unit_compiler

import relax_mlir as rx
from relax_mlir import relax

pytestmark = pytest.mark.usefixtures("no_whole_programs")
X = numpy.linspace(-2, 2, 6 * 32, dtype="float32").reshape(6, 32)
PLACES = numpy.array([3, 0, 31, 7], "int64")


@pytest.fixture(autouse=True)
def fixed_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the rules that other tests have registered in this process."""
    monkeypatch.setattr(separate_kernels, "extensions_digest", lambda: "rules of this test")


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the list of kernels that are lowered separately."""
    names: list[str] = []
    made = separate_kernels._Separation._lower_batch

    def noted(self: Any, keys: Any, expected: int) -> Any:
        names.extend(str(self._by_key[key][0].attributes["sym_name"].value) for key in keys)
        return made(self, keys, expected)

    monkeypatch.setattr(separate_kernels._Separation, "_lower_batch", noted)
    yield names


def network(widths: tuple[int, ...] = (32, 40, 48, 56, 64, 72, 80, 88, 96), dynamic: bool = False) -> rx.Module:
    """Return products of different widths with their epilogues, a residual sum in place, and a kernel that can fail."""
    module, random = rx.Module(), numpy.random.default_rng(3)
    with module.function("main", [rx.tensor(("n" if dynamic else 6, 32)), rx.tensor((4,), "int64")]) as f:
        x, places = f
        for inside, width in zip((32, *widths), widths, strict=False):
            weights = random.normal(size=(inside, width)).astype("float32") / inside
            x = relax.nn.relu(relax.matmul(x, relax.const(weights)))
        softened = relax.nn.softmax(x)
        total = relax.add(relax.exp(softened), softened)
        f.returns(relax.take(total, places, axis=1), relax.concat([total, x], axis=1))
    return module


def compiled(module: rx.Module, **options: Any) -> Executable:
    return rx.compile(module, **{"cache": False, "jobs": 1, **options})


def whole(module: rx.Module, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Executable:
    """Compile without separation."""
    with monkeypatch.context() as patched:
        patched.setattr(steps, "_is_followed", lambda options: True)
        return compiled(module, **options)


def results(executable: Executable) -> list[Any]:
    return [numpy.from_dlpack(each) for each in executable["main"](X, PLACES)]


def objects(executable: Executable) -> set[bytes]:
    return {bytes(each) for each in executable._artifact.objects}


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_code_is_that_of_the_whole_program(
    dynamic: bool, lowered: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = network(dynamic=dynamic)
    expected = whole(module, monkeypatch)
    assert not lowered
    apart, found = compiled(module, cache=tmp_path), compiled(module, cache=tmp_path)
    assert len(lowered) >= 9, "every kernel is lowered once, and none that the cache has"
    assert objects(apart) == objects(found) == objects(expected)
    for each in (apart, found):
        for mine, theirs in zip(results(each), results(expected), strict=True):
            numpy.testing.assert_array_equal(mine, theirs)
        with pytest.raises(IndexError, match=r"relax\.take"):
            each["main"](X, PLACES + 900)


def test_only_kernels_that_differ_are_lowered(lowered: list[str], tmp_path: Path) -> None:
    widths = (32, 40, 48, 56, 64, 72, 80, 88, 96)
    compiled(network(widths), cache=tmp_path)
    lowered.clear()
    compiled(network((*widths[:4], 60, *widths[5:])), cache=tmp_path)
    assert 1 <= len(lowered) <= 2, f"one layer has another width: {lowered}"


def test_workers_make_the_same_bytes(tmp_path: Path) -> None:
    module = network()
    assert objects(compiled(module, jobs=2, cache=tmp_path)) == objects(compiled(module))
    assert threading.active_count() < 20, "threads stay behind programs"


def test_passes_that_somebody_follows_see_the_whole_program(lowered: list[str]) -> None:
    names: list[str] = []
    compiled(network(), instruments=[Callback(before=lambda name, op: names.append(name))])
    assert "tir-apply-plan" in names
    compiled(network(), pipeline=rx.stages().insert_after("apply", "look", "cse"))
    assert not lowered


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b'{"types": 1, "needs": [], "overwrites": [[1]]}'])
def test_a_damaged_contract_is_made_again(damage: bytes, lowered: list[str], tmp_path: Path) -> None:
    first = objects(compiled(network(), cache=tmp_path))
    cache = DiskCache(tmp_path)
    for path in (tmp_path / "1" / "contracts").rglob("*"):
        if path.is_file():
            cache.put("contracts", path.name, damage)
    lowered.clear()
    assert objects(compiled(network(), cache=tmp_path)) == first
    assert len(lowered) >= 9


def test_a_contract_without_its_object_is_made_again(lowered: list[str], tmp_path: Path) -> None:
    first = objects(compiled(network(), cache=tmp_path))
    for path in (tmp_path / "1" / "kernels").rglob("*"):
        if path.is_file():
            path.unlink()
    lowered.clear()
    assert objects(compiled(network(), cache=tmp_path)) == first
    assert len(lowered) >= 9


def test_rules_without_a_hash_keep_no_contracts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(separate_kernels, "extensions_digest", lambda: None)
    compiled(network(), cache=tmp_path)
    assert "contracts" not in DiskCache(tmp_path).sizes()


def test_contracts_depend_on_rules(lowered: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiled(network(), cache=tmp_path)
    lowered.clear()
    monkeypatch.setattr(separate_kernels, "extensions_digest", lambda: "a rule has changed")
    compiled(network(), cache=tmp_path)
    assert len(lowered) >= 9


def test_contracts_depend_on_the_passes_and_the_machine(lowered: list[str], tmp_path: Path) -> None:
    for options in ({}, {"opt_level": 3}, {"target": "llvm{cpu=x86-64-v3}"}, {"target": "llvm{cpu=x86-64-v2}"}):
        lowered.clear()
        compiled(network(), cache=tmp_path, **options)
        assert lowered, f"kernels for something else were taken for {options}"


def test_kernels_that_the_memory_plan_changes_stay(tmp_path: Path) -> None:
    compiled(network(), cache=tmp_path)
    records = [json.loads(path.read_bytes().partition(b"}")[0] + b"}") for path in _files(tmp_path / "1" / "contracts")]
    stay = [record for record in records if not record["symbol"]]
    assert 0 < len(stay) < len(records), "a concatenation stays, products leave"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_failure_stops_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[BackgroundRun] = []
    abandon = BackgroundRun.abandon
    monkeypatch.setattr(BackgroundRun, "abandon", lambda self: (ended.append(self), abandon(self))[1])

    def failing(*arguments: Any) -> Any:
        raise RelaxError("no contract")

    monkeypatch.setattr(unit_compiler, "_WORTH_A_PROCESS", 0)
    monkeypatch.setattr(separate_kernels, "_replace_by_stub", failing)
    with pytest.raises(RelaxError, match="no contract"):
        compiled(network(), jobs=2)
    assert len(ended) == 1


def test_without_threads_this_process_makes_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    expected = objects(compiled(network()))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert objects(compiled(network(), jobs=2)) == expected
