# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary changes of the bindings' shim: other threads do not notice them, and the original state returns."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

from chains import body_of, chain, op_names
from relax_mlir.bindings.erasing import erasing_by
from relax_mlir.bindings.mlir import ir

METHODS = [(ir._OperationBase, "erase"), (ir._OperationBase, "detach_from_parent"), (ir.SymbolTable, "erase")]
IMPORTS = """
import importlib, sys, threading
import relax_mlir.bindings.wheel
entered, imported, problems = threading.Event(), threading.Event(), []

def import_numpy():
    entered.wait(60)
    try:
        import numpy
    except ImportError as error:
        problems.append(error)
    imported.set()

def slow_import(name, *package):
    if not name.endswith(".ir") or entered.is_set():
        return actual(name, *package)
    try:
        import numpy
        problems.append("the bindings get numpy")
    except ImportError:
        pass
    entered.set()
    imported.wait(60)
    return actual(name)

actual = importlib.import_module
thread = threading.Thread(target=import_numpy)
thread.start()
importlib.import_module = slow_import
import relax_mlir.bindings.mlir
thread.join()
import numpy
print(problems, numpy.__name__)
"""


def test_numpy_is_there_for_other_threads() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("[] numpy\n", "")


def test_erasing_is_guarded_in_its_own_thread_only() -> None:
    """Two runs of drivers overlap, and the one that came first ends first; between, another thread erases."""
    before = [getattr(owner, name) for owner, name in METHODS]
    steps = [threading.Event() for _ in range(4)]
    erased: list[Any] = []
    code = chain("relax.exp", "relax.sin")
    exp, sin, _ = (each.operation for each in body_of(code))
    (argument,) = exp.operands

    def run(begin: int, end: int) -> None:
        with erasing_by(erased.append):
            steps[begin].set()
            steps[end].wait(60)

    def first() -> None:
        run(0, 2)
        steps[3].set()

    def second() -> None:
        steps[0].wait(60)
        with erasing_by(erased.append):
            steps[1].set()
            steps[3].wait(60)
            exp.erase()

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    steps[1].wait(60)
    assert [getattr(owner, name) for owner, name in METHODS] != before
    sin.results[0].replace_all_uses_with(argument)
    sin.erase()
    assert op_names(code) == ["relax.exp", "func.return"]
    steps[2].set()
    for thread in threads:
        thread.join(60)
    assert erased == [exp], "the driver that runs is asked, and no other"
    assert [getattr(owner, name) for owner, name in METHODS] == before
