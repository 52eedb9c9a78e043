# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Representations of public objects: one informative line, without an address."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax, te
from relax_mlir.patterns import is_op, wildcard

PRIM_FUNC = """
from relax_mlir.script import tir as T

@T.prim_func
def k(A: T.Buffer((8,), 'float32'), C: T.Buffer((8,), 'float32')):
    for i in T.grid(8):
        with T.block('C'):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
"""


class Silent(rx.Instrument):
    pass


class Runtime(rx.ExternalRuntime):
    name = "mine"


def module() -> rx.Module:
    made = rx.Module()
    with made.function("main", {"x": rx.tensor(("n", 4))}) as f:
        f.returns(relax.exp(*f))
    return made


def schedule() -> rx.Schedule:
    made = rx.Schedule(rx.Module.from_script(PRIM_FUNC))
    made.split(made.get_loops("C")[0], [2, 4])
    return made


def value(of: Callable[[Any], Any]) -> Any:
    made = rx.Module()
    with made.function("main", {"x": rx.tensor(("n", 4))}) as f:
        shown = repr(of(*f))
        f.returns(*f)
    return shown


def journal() -> rx.Journal:
    found = rx.Journal()
    with found.recording():
        found.note("test-kind", number=1)
    return found


def trainer() -> rx.Trainer:
    made = rx.Module()
    with made.function("loss", {"w": rx.tensor((4,))}) as f:
        f.returns(relax.sum(*f))
    return rx.Trainer(made, "loss", rx.optim.SGD(lr=0.1), {"w": numpy.ones(4, "float32")}, jobs=1)


SHOWN: dict[str, tuple[Callable[[], Any], str]] = {
    "module": (module, r'<module of 1 function\n  main\(x: Tensor\(\(n, 4\), "float32"\)\) -> .*>'),
    "schedule": (schedule, r"<schedule of k: \d steps>"),
    "block": (lambda: schedule().get_block("C"), r"BlockRV\(function='k', name='C'\)"),
    "journal": (journal, "<journal of 1 facts: test-kind>"),
    "timing": (rx.Timing, "<Timing>"),
    "statistics": (rx.Statistics, "<Statistics>"),
    "own instrument": (Silent, "<Silent>"),
    "conversion": (lambda: rx.Conversion("mine"), "<conversion mine: patterns for nothing yet>"),
    "trainer": (trainer, "<trainer of w>"),
    "backend": (lambda: rx.find_backend("llvm"), "<backend LLVMBackend>"),
    "codegen": (lambda: rx.find_codegen("c")(), r"<\w+ of codegen 'c'>"),
    "runtime": (Runtime, "<Runtime of codegen 'mine'>"),
    "executable": (lambda: rx.compile(module(), jobs=1), r"Executable: for [^\n]*\n  main.*  \(1 kernel\)"),
    "artifact": (lambda: rx.compile(module(), jobs=1)._artifact, r"<artifact for \S+: main>"),
    "function": (lambda: rx.compile(module(), jobs=1)["main"], r"<function main\(x: float32\[n, 4\]\) -> .*>"),
    "profile": (
        lambda: rx.compile(module(), jobs=1).profile("main", numpy.ones((2, 4), "float32"), repeat=2),
        r"<profile of main: \d+\.\d+ ms a call, 2 calls, 1 kernel, \w+ takes \d+\.\d %: print\(profile\) shows all>",
    ),
    "dialect": (lambda: relax.dialect, r"<dialect relax: \d+ operators>"),
    "operator": (lambda: relax.exp, "<operator relax.exp>"),
    "target": (lambda: rx.find_target("llvm"), "<target llvm.*>"),
    "stages": (lambda: rx.stages("llvm"), "<stages of llvm: .*>"),
    "pipeline": (lambda: rx.Pipeline("cse"), r"Pipeline\('builtin.module\(cse\)'\)"),
    "pattern": (lambda: is_op("relax.exp")(wildcard()), r"relax\.exp\(\*\)"),
    "te": (lambda: te.placeholder((4,), name="A"), "Tensor.*name='A'.*"),
    "symbol": (lambda: rx.sym("n"), r"SymExpr\('n'\)"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_public_objects_at_a_glance(name: str) -> None:
    make, expected = SHOWN[name]
    shown = repr(make())
    assert re.fullmatch(expected, shown, re.DOTALL), shown
    assert " at 0x" not in shown
    assert len(shown) < 1000


def test_values_at_a_glance() -> None:
    assert value(lambda x: x) == '<argument 0: Tensor((n, 4), "float32")>'
    assert value(relax.exp) == '<value of relax.exp: Tensor((n, 4), "float32")>'
    assert value(lambda x: relax.shape_of(x)).startswith("<value of relax.shape_of: ")
