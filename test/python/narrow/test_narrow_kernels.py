# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawn part of the sweep of narrow kernels (test/fuzz/narrow_kernels.py), and the sweep's own parts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest
from emulated_instructions import compiled
from example_counts import DRAW

import relax_mlir as rx
from relax_mlir import relax

FOLDER = Path(__file__).resolve().parents[2] / "fuzz"
sys.path.insert(0, str(FOLDER))

import narrow_cases  # noqa: E402
import narrow_oracle  # noqa: E402
import narrow_ties  # noqa: E402

#: Processes that share the drawn cases.
PARTS = 2


def sweep(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\nimport narrow_kernels\n{before}\n"
    command = [sys.executable, "-c", f"{code}sys.exit(narrow_kernels.main({list(arguments)!r}))"]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800)


@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_drawn_kernels_equal_the_oracle(part: int) -> None:
    drawn = ("--draw", DRAW or "all", "--cases", str(narrow_cases.DRAWN), "--part", f"{part}/{PARTS}")
    done = sweep(*drawn, "--jobs", "1", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["right"] > narrow_cases.DRAWN / PARTS / 2, found


WRONG = """
right = narrow_kernels.narrow_targets.compiled
def wrong(*arguments):
    call = right(*arguments)
    return lambda number, arrays, threads: [each + 1 for each in call(number, arrays, threads)]
narrow_kernels.narrow_targets.compiled = wrong
"""


def test_a_wrong_result_is_found_and_made_simpler() -> None:
    number = next(each for each in range(narrow_cases.COUNT) if narrow_cases.case(each).target == "llvm")
    done = sweep("--case", str(number), before=WRONG)
    assert done.returncode == 1, done.stdout + done.stderr
    simplest = done.stdout.partition("simplest: ")[2]
    assert "outputs=1 depth=1 " in simplest and "results are wrong" in simplest, done.stdout
    assert "relax.matmul" in simplest


def test_a_crash_fails_and_the_sweep_continues(tmp_path: Path) -> None:
    """Kill the processes of two cases. A second run with the journal runs no case again."""
    chance = Random("narrow share 7")
    numbers = [number for number in range(narrow_cases.COUNT) if chance.random() < 0.0001]
    crashed = {numbers[0], numbers[5]}
    before = f"""
import os, signal
def crash(cases):
    if any(each.number in {crashed} for each in cases):
        os.kill(os.getpid(), signal.SIGSEGV)
    return [(each.number, "right", "") for each in cases]
narrow_kernels.check = crash
"""
    journal = tmp_path / "journal"
    only = ("--share", "0.0001", "--draw", "7", "--journal", str(journal), "--jobs", "1")
    done = sweep(*only, before=before)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = {number: told for number, *told in map(json.loads, journal.read_text().splitlines())}
    died = ["failed", "the process died of SIGSEGV"]
    assert lines == {number: died if number in crashed else ["right"] for number in numbers}
    again = sweep(*only, before="def fails(*_): raise AssertionError\nnarrow_kernels.check = fails")
    assert again.returncode == 1 and "FAILED" not in again.stdout, again.stdout + again.stderr
    assert len(journal.read_text().splitlines()) == len(lines)


def test_the_table_has_all_sizes_of_each_operator() -> None:
    assert narrow_cases.COUNT >= 200_000
    strata = len(narrow_cases._STRATA)
    cases = [narrow_cases.case(number) for number in range(0, strata * len(narrow_cases.SIZES) ** 2, strata)]
    assert {each.family.name for each in cases} == {"matmul"}
    assert len({(each.outputs, each.depth) for each in cases}) == len(narrow_cases.SIZES) ** 2


@pytest.mark.parametrize("rounding", narrow_cases.ROUNDINGS)
def test_the_oracle_rounds_like_requantize(rounding: str) -> None:
    """Compare the oracle's rounding with Requantize.apply, which is written apart."""
    numbers = numpy.concatenate([numpy.arange(-40, 41), [-(2**31), 2**31 - 1]])
    how = rx.Requantize("power_of_two", rounding=rounding)
    for shift in (0, 1, 3):
        multiplier = how.parameters(2.0**-shift)
        right = how.apply(numbers.astype("int32"), multiplier, 0, "int32")
        assert (narrow_oracle.rounded_shift(numbers, int(multiplier.shift), rounding) == right).all()


@pytest.mark.parametrize("draw", "12345678")
def test_a_draw_requantizes_ties_with_each_rounding(draw: str) -> None:
    cases = [
        narrow_cases.case(number) for numbers in narrow_cases.drawn(draw, narrow_cases.DRAWN) for number in numbers
    ]
    found = [how for each in map(narrow_ties.ties, cases) if each is not None for how in each.how]
    assert {how.form for how in found} == set(narrow_cases.FORMS)
    assert {how.rounding for how in found if how.form != "float"} == set(narrow_cases.ROUNDINGS)


@pytest.mark.parametrize("form", narrow_cases.FORMS)
def test_ties_tell_roundings_apart(form: str) -> None:
    cases = map(narrow_cases.case, range(4000))
    held = [each for each in map(narrow_ties.ties, cases) if each is not None and each.how[0].form == form]
    assert len(held) > 50
    told_apart = []
    for each in held:
        ways = tuple(each.how[0]._replace(rounding=rounding) for rounding in narrow_cases.ROUNDINGS)
        results = [result.tobytes() for result in narrow_ties.wanted(each._replace(how=ways)).values()]
        # The first five differ at ties only.
        assert len(set(results[:5])) == 5
        told_apart.append(len(set(results)) == len(ways))
    assert sum(told_apart) > 0.9 * len(held)


def product(kinds: tuple[str, str], depth: int, columns: int, rows: int = 5) -> tuple[rx.Module, Any, Any]:
    numbers = numpy.random.default_rng(3)
    x, w = (
        numbers.integers(*narrow_cases.limits(kind), shape, endpoint=True).astype(narrow_oracle.NUMPY[kind])
        for kind, shape in zip(kinds, ((rows, depth), (depth, columns)), strict=True)
    )
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(x.shape, kinds[0])}) as f:
        f.returns(relax.matmul(*f, relax.const(w), out_dtype="i32"))
    return module, x, x.astype("int64") @ w


@pytest.mark.parametrize(
    ("cpu", "kinds", "instruction"),
    [
        ("triple=x86_64-linux-gnu cpu=cascadelake", ("ui8", "i8"), "x86.avx512.vpdpbusd."),
        ("triple=x86_64-linux-gnu cpu=cascadelake", ("i8", "i8"), "x86.avx512.vpdpbusd."),
        ("triple=x86_64-linux-gnu cpu=skylake-avx512", ("i8", "i8"), "x86.avx512.pmadd"),
        ("triple=x86_64-linux-gnu cpu=sapphirerapids", ("ui8", "i8"), "x86.tdpbusd."),
        ("triple=x86_64-linux-gnu cpu=sierraforest", ("ui8", "ui8"), "x86.avx2.vpdpbuud."),
        ("triple=aarch64-linux-gnu cpu=neoverse-n1", ("i8", "i8"), "aarch64.neon.sdot."),
        ("triple=aarch64-linux-gnu cpu=neoverse-v1", ("ui8", "i8"), "aarch64.neon.usdot."),
    ],
)
def test_emulated_dot_products(cpu: str, kinds: tuple[str, str], instruction: str) -> None:
    module, x, wanted = product(kinds, 67, 33, 64)
    program, names = compiled(module, f"llvm{{{cpu} cores=1}}")
    assert any(each.startswith(instruction) for each in names), names
    numpy.testing.assert_array_equal(rx.runtime.to_numpy(program["main"](x)), wanted)
