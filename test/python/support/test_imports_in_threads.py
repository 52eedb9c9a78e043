# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that one thread imports while other threads request their contents."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from relax_mlir.support.importing import hidden_module
from relax_mlir.support.once import once
from relax_mlir.support.processes import pool
from relax_mlir.support.quiet import ignoring_warnings
from relax_mlir.support.registry import NamedRegistry

import relax_mlir

PATIENCE = 60
SLOW = """
from relax_mlir.support import test_only

def answer():
    return LATER

test_only.registry.register(NAME, answer)
test_only.begun.set()
test_only.goes_on.wait(60)
LATER = 42
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a package of this project with a module `slow` that waits in its middle, and a registry of its
    functions."""
    package = "families_of_a_test"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / package / "slow.py").write_text(SLOW.replace("NAME", "'slow'"))
    monkeypatch.setattr(relax_mlir, "__path__", [*relax_mlir.__path__, str(tmp_path)])
    made = SimpleNamespace(begun=threading.Event(), goes_on=threading.Event(), package=f"relax_mlir.{package}")
    monkeypatch.setitem(sys.modules, "relax_mlir.support.test_only", made)
    monkeypatch.setattr("relax_mlir.support.test_only", made, raising=False)
    yield made
    made.goes_on.set()
    for name in [name for name in sys.modules if name.startswith(made.package)]:
        del sys.modules[name]


def beside(shared: Any, first: Callable[[], object], second: Callable[[], Any]) -> Any:
    """Return the result of `second` in a thread that starts while `first` imports a module."""
    found: list[Any] = []
    threads = [threading.Thread(target=first), threading.Thread(target=lambda: found.append(second()))]
    threads[0].start()
    assert shared.begun.wait(PATIENCE)
    threads[1].start()
    time.sleep(0.1)
    assert not found, "the second thread does not wait"
    shared.goes_on.set()
    for each in threads:
        each.join(PATIENCE)
    return found[0]


def test_an_entry_waits_for_the_whole_of_its_module(shared: Any) -> None:
    shared.registry = NamedRegistry[Callable[[], int]]("an answer")
    name = f"{shared.package}.slow"
    assert beside(shared, lambda: importlib.import_module(name), lambda: shared.registry.get("slow")()) == 42


def test_an_entry_waits_while_its_module_is_not_in_sys_modules(shared: Any) -> None:
    """At the end of an import, Python takes the module out and puts it back."""
    shared.registry = NamedRegistry[Callable[[], int]]("an answer")
    name, begun, goes_on = f"{shared.package}.slow", shared.begun, shared.goes_on

    def wait(seconds: float) -> None:
        module = sys.modules.pop(name)
        begun.set()
        goes_on.wait(seconds)
        sys.modules[name] = module

    shared.begun = SimpleNamespace(set=lambda: None, wait=begun.wait)
    shared.goes_on = SimpleNamespace(set=goes_on.set, wait=wait)
    assert beside(shared, lambda: importlib.import_module(name), lambda: shared.registry.get("slow")()) == 42


def test_families_are_loaded_before_they_are_asked(shared: Any) -> None:
    registry = shared.registry = NamedRegistry[Callable[[], int]]("an answer", families=shared.package)
    assert beside(shared, registry.load, lambda: (registry.load(), [each.name for each in registry.all()])[1]) == [
        "slow"
    ]


def test_a_family_may_ask_its_registry(shared: Any) -> None:
    registry = shared.registry = NamedRegistry[Callable[[], int]]("an answer", families=shared.package)
    loaded: list[bool] = []
    shared.begun = SimpleNamespace(set=lambda: (registry.load(), loaded.append(registry._is_loaded)))
    shared.goes_on.set()
    assert registry.get("slow")() == 42
    assert loaded == [False], "other threads still wait for the family"


def test_a_module_is_hidden_from_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    with hidden_module("colorsys"):
        monkeypatch.delitem(sys.modules, "colorsys", raising=False)
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("colorsys")
        thread = threading.Thread(target=lambda: found.append(importlib.import_module("colorsys")))
        thread.start()
        thread.join(PATIENCE)
    assert found == [importlib.import_module("colorsys")]


def test_a_function_runs_once() -> None:
    calls: list[int] = []

    @once
    def opened(number: int) -> object:
        calls.append(number)
        time.sleep(0.05)
        return object()

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(opened(1))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert calls == [1] and len(set(map(id, found))) == 1
    assert opened(2) is not found[0] and calls == [1, 2]
    opened.cache_clear()
    assert opened(1) is not found[0]


def test_one_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(pool.Pool):
        def __init__(self) -> None:
            time.sleep(0.05)
            super().__init__()

    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setattr(pool, "Pool", Slow)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(pool.process_pool())) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert len(set(map(id, found))) == 1


def test_filters_of_warnings_are_put_back() -> None:
    """Two threads overlap, and the one that came first leaves first."""
    before, steps = list(warnings.filters), [threading.Event() for _ in range(2)]

    def second() -> None:
        with ignoring_warnings():
            steps[0].set()
            steps[1].wait(PATIENCE)

    thread = threading.Thread(target=second)
    with ignoring_warnings():
        thread.start()
        steps[0].wait(PATIENCE)
    assert warnings.filters[0][0] == "ignore"
    steps[1].set()
    thread.join(PATIENCE)
    assert list(warnings.filters) == before


@pytest.mark.parametrize("name", ["relax_mlir", "relax_mlir.runtime"])
def test_a_python_without_the_lock_is_refused(name: str) -> None:
    code = f"import sys; sys._is_gil_enabled = lambda: False; import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: relax_mlir needs the global interpreter lock, and this free-threaded Python")
    assert "use a standard build of Python" in last


def test_a_free_threaded_python_with_the_lock_is_not_refused() -> None:
    code = "import sys; sys._is_gil_enabled = lambda: True; import relax_mlir"
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE).returncode == 0
