# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cached output of codegens that name their dependencies, and concurrent work in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
from c_programs import needs_compiler
from partitioning import Native, built, codegen
from relax_mlir.passes.graph.partition.keeping import _KIND
from relax_mlir.support.disk_cache import DiskCache

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

EXP = [("npu.add", is_op("relax.add"))]
WEIGHTS = numpy.arange(600, dtype="float32").reshape(2, 300)


def body(weights: Any = WEIGHTS, times: float = 1.0) -> Callable[..., Any]:
    return lambda a, b: relax.add(relax.multiply(relax.add(a, relax.const(weights)), relax.const(times)), b)


class Counting(Native):
    """Codegen that names its dependencies and counts its compilations."""

    options: Any = {"cores": "how many"}  # noqa: RUF012  # as users write it
    depends = "npu 1"
    made = 0

    def fingerprint(self, options: Mapping[str, Any]) -> str:
        return type(self).depends

    def compile(self, module: rx.Module, options: Mapping[str, Any]) -> bytes:
        Counting.made += 1
        return super().compile(module, options)


def times_made(folder: Path, module: rx.Module, plan: str = "npu") -> int:
    """Return the number of compilations for a program whose results are right."""
    before, journal = Counting.made, rx.Journal()
    program = rx.compile(module, partition=[plan], cache=folder, journal=journal, opt_level=0)
    a = numpy.ones((2, 300), "float32")
    expected = rx.compile(module, opt_level=0, cache=False)["main"](a, a)
    numpy.testing.assert_array_equal(program["main"](a, a), expected)
    made = [fact for fact in journal.facts if fact["kind"] == "external"]
    assert len(made) == 2 and sum(fact["cached"] for fact in made) == 2 - (Counting.made - before)
    return Counting.made - before


def test_the_second_time_nothing_is_compiled(tmp_path: Path) -> None:
    shapes = [(2, 300), (2, 300)]
    with codegen(EXP, base=Counting):
        assert times_made(tmp_path, built(body(), *shapes)) == 2
        assert times_made(tmp_path, built(body(), *shapes)) == 0
        # Code outside of the parts does not count, but all of a part's contents do, with small and large constants.
        assert times_made(tmp_path, built(body(times=2.0), *shapes)) == 0
        assert times_made(tmp_path, built(body(WEIGHTS + 1), *shapes)) == 1
        assert times_made(tmp_path, built(body(WEIGHTS[0]), *shapes)) == 1
        assert times_made(tmp_path, built(body(2.0), *shapes)) == 1
        assert times_made(tmp_path, built(body(3.0), *shapes)) == 1
        assert times_made(tmp_path, built(body(3.0), *shapes)) == 0
        assert times_made(tmp_path, built(body(), *shapes), "npu{cores=2}") == 2
    with codegen(EXP, base=Counting, depends="npu 2"):
        assert times_made(tmp_path, built(body(), *shapes)) == 2
    with codegen(EXP, base=Counting, depends=""):
        assert [times_made(tmp_path, built(body(), *shapes)) for _ in range(2)] == [2, 2]


def test_entries_that_are_damaged_are_made_anew(tmp_path: Path) -> None:
    module = built(body(), (2, 300), (2, 300))
    with codegen(EXP, base=Counting):
        times_made(tmp_path, module)
        entries = [file for file in (tmp_path / "1" / _KIND).rglob("*") if file.is_file()]
        assert len(entries) == 2
        cache = DiskCache(tmp_path)
        cache.put(_KIND, entries[0].name, b"what another version has written")
        entries[1].write_bytes(entries[1].read_bytes()[:-5])
        assert times_made(tmp_path, module) == 2
        assert times_made(tmp_path, module) == 0


@pytest.mark.parametrize(
    ("gives", "message"),
    [(lambda *_: 3, r"fingerprint\(\) returned a int, expected text"), (lambda *_: 1 / 0, "ZeroDivision")],
)
def test_a_fingerprint_that_is_none(gives: Any, message: str, tmp_path: Path) -> None:
    with (
        codegen(EXP, base=Counting, fingerprint=gives),
        pytest.raises(rx.RelaxError, match=f"(declined|failed) .*{message}"),
    ):
        rx.compile(built(body(), (2, 300), (2, 300)), partition="npu", strict_partition=True, cache=tmp_path)


@needs_compiler
def test_objects_are_kept_with_their_constants(tmp_path: Path) -> None:
    """Cache objects without the part's own constants, but with constants that are computed during compilation."""
    a = numpy.random.default_rng(1).normal(size=(4, 300)).astype("float32")
    large = numpy.random.default_rng(2).normal(size=(300, 500)).astype("float32")

    def layers(x: Any, y: Any) -> Any:
        hidden = relax.matmul(x, relax.const(large))
        return relax.add(relax.matmul(hidden, relax.permute_dims(relax.const(large), [1, 0])), y)

    module = built(layers, (4, 300), (4, 300))
    expected = (a @ large) @ large.T + a
    cached = []
    for _ in range(2):
        journal = rx.Journal()
        program = rx.compile(module, partition=["c{flags=-O1}"], cache=tmp_path, journal=journal, opt_level=0)
        numpy.testing.assert_allclose(program["main"](a, a), expected, rtol=1e-4, atol=1e-2)
        cached += [fact["cached"] for fact in journal.facts if fact["kind"] == "external"]
    assert cached == [False, True]
    assert DiskCache(tmp_path).sizes()[_KIND][1] < large.nbytes * 1.5


def test_compilations_of_parts_run_concurrently(tmp_path: Path) -> None:
    """Let each compilation wait for the other: sequential ones would never end."""
    meeting = threading.Barrier(2, timeout=600)

    def compile_(self: Native, module: rx.Module, options: Any) -> Callable[[], bytes]:
        data = Native.compile(self, module, options)

        def finish() -> bytes:
            meeting.wait()
            return data

        return finish

    module = built(body(), (2, 300), (2, 300))
    a = numpy.ones((2, 300), "float32")
    with codegen(EXP, compile=compile_, fingerprint=lambda *_: "1"):
        program = rx.compile(module, partition=["npu"], jobs=2, cache=tmp_path, opt_level=0)
        numpy.testing.assert_array_equal(program["main"](a, a), a + WEIGHTS + a)
        rx.compile(module, partition=["npu"], jobs=1, cache=tmp_path, opt_level=0)  # found: nothing waits


@pytest.mark.parametrize(
    ("finish", "message"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: "text", r"compile\(\) returned a str, expected bytes or rx.codegens.ObjectCode"),
        (lambda: lambda: b"", r"compile\(\) returned a function, expected bytes"),
    ],
)
def test_a_failure_in_a_thread_declines_the_part(finish: Any, message: str) -> None:
    module = built(body(), (2, 300), (2, 300))
    with (
        codegen(EXP, compile=lambda *_: finish),
        pytest.raises(rx.RelaxError, match=f"(declined|failed to compile) @.*{message}"),
    ):
        rx.compile(module, partition="npu", strict_partition=True)
