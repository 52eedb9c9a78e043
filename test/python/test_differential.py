# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Differential fuzzer: a short run with a fixed seed, and detection of wrong results (`suite.py fuzz` runs longer)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import real_devices
from c_programs import needs_compiler

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[1] / "fuzz"
CASES = 20


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "differential.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def run_code(code: str) -> subprocess.CompletedProcess[str]:
    """Run code with the fuzzer's modules on the path."""
    start = f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\nimport differential, numpy\n"
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=600)


def test_random_graphs_give_what_the_oracles_give() -> None:
    done = run("--seed", "20", "--cases", str(CASES), "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 20: (\d+) graphs, (\d+) agree, (\d+) undefined, 0 failed", done.stdout)
    assert summary is not None, done.stdout
    total, agreeing, _ = map(int, summary.groups())
    assert total == CASES, done.stdout
    assert agreeing > 0.8 * CASES, f"most cases compare nothing: {done.stdout}"


@needs_compiler
def test_random_graphs_on_target_c() -> None:
    """Compiled with strict flags, in the system's memory and in the program's."""
    done = run("--kind", "relax", "--target", "c", "--seed", "20", "--cases", str(CASES), "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 20: (\d+) graphs, (\d+) agree, (\d+) undefined, 0 failed", done.stdout)
    assert summary is not None, done.stdout
    assert int(summary[2]) > 0.6 * int(summary[1]) == 0.6 * CASES, f"most cases compare nothing: {done.stdout}"


@needs_compiler
def test_what_target_c_gets_wrong_is_found() -> None:
    """Replace the oracle by a wrong one instead of the target. The printed reproduction calls the program in C."""
    done = run_code("""
import relax_oracle
relax_oracle.FUNCTIONS["relax.concat"] = lambda xs, axis: numpy.flip(numpy.concatenate(xs, axis), axis)
sys.exit(differential.main(["--kind", "relax", "--target", "c", "--seed", "9", "--cases", "8", "--jobs", "1"]))
""")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"FAILED .*: result v\d+_0 of relax.concat: \d+ of \d+ elements differ", done.stdout), done.stdout
    assert "main = CProgram(module, 'c" in done.stdout


def test_random_graphs_run_on_an_emulated_device() -> None:
    done = run("--kind", "relax", "--target", "cuda", "--seed", "71001", "--cases", "8", "--jobs", "2")
    assert re.match(r"seed 71001: 8 graphs, [78] agree, \d undefined, 0 failed", done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("kind", real_devices.KINDS)
def test_random_graphs_run_on_a_device(kind: str) -> None:
    real_devices.skip_without_type(kind, "float16")  # Two of the graphs compute in it.
    done = run("--kind", "relax", "--target", kind, "--seed", "71001", "--cases", "8", "--jobs", "2")
    assert re.match(r"seed 71001: 8 graphs, [78] agree, \d undefined, 0 failed", done.stdout), done.stdout + done.stderr


def test_a_case_is_made_again_from_its_seed() -> None:
    first, second = (run("--kind", "relax", "--seed", "3", "--case", "7") for _ in range(2))
    assert first.stdout == second.stdout != ""
    assert first.returncode == 0, first.stdout + first.stderr


def test_a_wrong_result_is_found_and_made_small() -> None:
    # A wrong oracle takes the place of a wrong compiler.
    done = run_code("""
import relax_oracle
relax_oracle.FUNCTIONS["relax.concat"] = lambda xs, axis: numpy.flip(numpy.concatenate(xs, axis), axis)
sys.exit(differential.main(["--kind", "relax", "--seed", "9", "--cases", "8", "--jobs", "1"]))
""")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(
        r"FAILED .*relax --seed 9 --case \d+: result v\d+_0 of relax.concat: \d+ of \d+ elements differ", done.stdout
    ), done.stdout
    program = done.stdout.partition("module {")[2].partition("}\n}")[0]
    operators = re.findall(r'"(relax\.[\w.]+)"', program)
    assert set(operators) == {"relax.concat"}, f"not as small as it could be: {program}"


def test_an_access_outside_of_an_array_is_found() -> None:
    done = run_code("""
import ctypes
from relax_mlir.runtime import guard_pages
from relax_mlir_proof.testing import isolated
def read(at_end, offset):
    array = guard_pages.guarded(numpy.arange(7.0), at_end)
    return ctypes.c_double.from_address(array.ctypes.data + 8 * offset).value
for at_end, offset in ((True, 6), (True, 7), (False, 0), (False, -1)):
    print(isolated.alone(lambda: read(at_end, offset), 60.0, lambda cause, phase: cause))
""")
    died = "the process died of SIGSEGV"
    assert done.stdout.splitlines() == ["6.0", died, "0.0", died], done.stdout + done.stderr


def test_a_write_outside_of_a_result_is_found() -> None:
    done = run_code("""
import ctypes, relax_mlir as rx
from relax_mlir.runtime import guard_pages
from relax_mlir_proof.testing import isolated
module = rx.Module()
with module.function("main", [rx.tensor(("n",))]) as f:
    f.returns(rx.relax.negative(f.args[0]))
main = rx.compile(module, cache=False)["main"]
def write(offset):
    with guard_pages.guarded_results():
        result = rx.runtime.to_numpy(main(numpy.ones(5, "float32")))
    ctypes.c_float.from_address(result.ctypes.data + 4 * offset).value = 2.0
    return result.tolist()
for offset in (4, 5):
    print(isolated.alone(lambda: write(offset), 60.0, lambda cause, phase: cause))
""")
    assert done.stdout.splitlines() == [str([-1.0] * 4 + [2.0]), "the process died of SIGSEGV"], (
        done.stdout + done.stderr
    )


def test_a_crash_and_a_hang_are_failures_and_the_next_case_goes_on() -> None:
    done = run_code("""
import os, time
from relax_mlir_proof.testing import isolated
def work(index):
    if index == 1:
        os.abort()
    if index == 2:
        time.sleep(1000)
    return index
queue = ((index,) for index in range(5))
for line in sorted(map(str, isolated.run(work, queue, 2, None, 5.0, lambda cause, phase: cause))):
    print(line)
""")
    died, late = "the process died of SIGABRT", "no result in 5 s"
    expected = ["((0,), 0)", f"((1,), '{died}')", f"((2,), '{late}')", "((3,), 3)", "((4,), 4)"]
    assert done.stdout.splitlines() == expected, done.stdout + done.stderr


def test_zeros_among_subnormal_results_are_undetermined() -> None:
    done = run_code("""
from relax_mlir_proof.testing.agreement import STEPS
from graphs import ErrorSizes, Node, Noise

noise = Noise(1, ErrorSizes(frozenset(), frozenset(), frozenset()), lambda dtype: STEPS[dtype.name])
node = Node("relax.cumprod", (), ("y",), None)
plain, small = numpy.array([0, 1], "float32"), numpy.array([0, 1e-40, 1], "float32")
(after,) = noise.after(node, [plain])
assert after[0] == 0 and after[1] != 1, after
(after,) = noise.after(node, [small])
assert 0 < abs(after[0]) < 2e-38 and abs(after[2] - 1) < 1e-5, after
""")
    assert done.returncode == 0, done.stderr
