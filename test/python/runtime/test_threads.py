# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel loops: the same results for any number of threads, errors, many callers, forks, limits."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.runtime import threads
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

TARGET = "llvm{cores=4}"
Array = Any


def program(build: Callable[..., Any], *shapes: tuple[int | str, ...]) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(build(*f))
    return rx.compile(module, TARGET)


def random(*shape: int) -> Array:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape, dtype=numpy.float32)


def product(x: Any, w: Any) -> Any:
    return relax.nn.relu(relax.matmul(x, w))


@lru_cache(maxsize=1)
def layer() -> rx.Executable:
    return program(product, ("n", 256), (256, 384))


def called(executable: rx.Executable, *arguments: Array) -> Array:
    return numpy.array(numpy.from_dlpack(executable["main"](*arguments)))


# ---- results ----

CASES: dict[str, tuple[Callable[..., Any], list[tuple[int | str, ...]], list[tuple[int, ...]]]] = {
    "product": (product, [(100, 300), (300, 700)], [(100, 300), (300, 700)]),
    "product of any size": (product, [("n", "k"), ("k", "m")], [(130, 260), (260, 390)]),
    "row by matrix": (product, [(1, 1024), (1024, 2048)], [(1, 1024), (1024, 2048)]),
    "products": (relax.matmul, [("b", 64, 64), ("b", 64, 64)], [(12, 64, 64), (12, 64, 64)]),
    "softmax": (lambda x: relax.nn.softmax(x, axis=-1), [("n", "m")], [(500, 400)]),
    "elementwise": (lambda x: relax.exp(relax.tanh(x)), [("n", "m")], [(300, 801)]),
    "transposed": (lambda x: relax.permute_dims(x, axes=[1, 0]), [("n", "m")], [(700, 900)]),
    "sums of columns": (lambda x: relax.sum(x, axis=[0]), [(2000, 513)], [(2000, 513)]),
    "convolution": (
        lambda x, w: relax.nn.conv2d(x, w, padding=[1, 1, 1, 1]),
        [("n", 32, 28, 28), (64, 32, 3, 3)],
        [(2, 32, 28, 28), (64, 32, 3, 3)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_results_do_not_depend_on_the_number_of_threads(case: str) -> None:
    build, stated, shapes = CASES[case]
    executable, arguments = program(build, *stated), [random(*shape) for shape in shapes]
    executable.threads = 1
    alone = called(executable, *arguments)
    for count in (2, 3, 8):
        executable.threads = count
        for _ in range(5):
            numpy.testing.assert_array_equal(called(executable, *arguments), alone)


def test_small_work_is_not_shared() -> None:
    small = program(product, (8, 16), (16, 32))
    assert "parallel" not in str(small.signature("main"))
    numpy.testing.assert_allclose(called(small, random(8, 16), random(16, 32)), numpy.maximum(
        random(8, 16) @ random(16, 32), 0), rtol=1e-5)  # fmt: skip


# ---- that threads work at the same time ----


# Each step posts a semaphore and waits for another one, of the step half of all away, which only another thread can
# post meanwhile. The last address is that of the time until which it waits.
MEETING = """
func.func @main(%x: tensor<?xi64>) -> tensor<8xi32> {
  %y = "relax.call_tir"(%x) {func = @meet} : (tensor<?xi64>) -> tensor<8xi32>
  return %y : tensor<8xi32>
}
func.func private @meet(%addresses: memref<?xi64>, %status: memref<8xi32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %count = memref.dim %addresses, %c0 : memref<?xi64>
  %steps = arith.subi %count, %c1 : index
  %half = arith.divui %steps, %c2 : index
  %deadline = memref.load %addresses[%steps] : memref<?xi64>
  scf.for %i = %c0 to %steps step %c1 {
    %away = arith.addi %i, %half : index
    %other = arith.remui %away, %steps : index
    %post = memref.load %addresses[%other] : memref<?xi64>
    %wait = memref.load %addresses[%i] : memref<?xi64>
    %posted = "tir.call_extern"(%post) {func = "sem_post"} : (i64) -> i32
    %waited = "tir.call_extern"(%wait, %deadline) {func = "sem_timedwait"} : (i64, i64) -> i32
    memref.store %waited, %status[%i] : memref<8xi32>
  } {tir.parallel = 1 : i64}
  return
}
"""
C = ctypes.CDLL(None)


class Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


def meet(executable: rx.Executable, patience: float, steps: int = 2) -> list[int]:
    """Return sem_timedwait's result for each step: 0 where the thread met the other one."""
    semaphores = (ctypes.c_uint64 * (8 * steps))()
    addresses = [ctypes.addressof(semaphores) + 64 * step for step in range(steps)]
    for address in addresses:
        C.sem_init(ctypes.c_void_p(address), 0, 0)
    deadline = Time(int(time.time() + patience) + 1, 0)
    words = numpy.array([*addresses, ctypes.addressof(deadline)])
    return called(executable, words).tolist()[:steps]


@lru_cache(maxsize=1)
def meeting() -> rx.Executable:
    return rx.compile(rx.Module.parse(MEETING), TARGET)


def test_threads_work_at_the_same_time() -> None:
    meeting().threads = 2
    assert meet(meeting(), 60) == [0, 0]
    assert threads.working_threads() >= 1
    meeting().threads = 1
    assert -1 in meet(meeting(), 0)


def test_each_thread_has_a_part_of_a_loop() -> None:
    """Meet the other thread at each step: the caller runs the first half."""
    meeting().threads = 2
    for _ in range(5):
        assert meet(meeting(), 60, 8) == [0] * 8


def test_idle_threads_sleep() -> None:
    """Check that idle threads sleep after a few microseconds of looking for the next loop."""
    layer().threads = 4
    called(layer(), random(256, 256), random(256, 384))
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(1)
    assert time.process_time() - before < 0.5


# ---- errors ----


@I.ir_module
class Checked:
    @T.prim_func
    def check(A: T.Buffer((4000,), "int64"), B: T.Buffer((4000,), "int64")):
        for i in T.parallel(4000):
            assert A[i] < T.int64(7), "too much"
            B[i] = A[i]

    @R.function
    def main(a: R.Tensor((4000,), "int64")):
        cls = Checked
        gv = R.call_tir(cls.check, (a,), out_sinfo=R.Tensor((4000,), "int64"))
        return gv


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_check_that_fails_ends_the_call(count: int) -> None:
    checked = rx.compile(Checked, TARGET)
    checked.threads = count
    good, bad = numpy.zeros(4000, numpy.int64), numpy.zeros(4000, numpy.int64)
    bad[[5, 1700, 3999]] = 9
    for _ in range(20):
        with pytest.raises(AssertionError, match="too much"):
            checked["main"](bad)
        numpy.testing.assert_array_equal(called(checked, good), good)


NUMBERED = """
func.func @main(%x: tensor<4000xi64>) -> tensor<4000xi64> {
  %y = "relax.call_tir"(%x) {func = @check} : (tensor<4000xi64>) -> tensor<4000xi64>
  return %y : tensor<4000xi64>
}
func.func private @check(%a: memref<4000xi64>, %b: memref<4000xi64>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4000 = arith.constant 4000 : index
  %most = arith.constant 7 : i64
  scf.for %i = %c0 to %c4000 step %c1 {
    %n = memref.load %a[%i] : memref<4000xi64>
    %ok = arith.cmpi slt, %n, %most : i64
    "tir.assert"(%ok, %n) {kind = "ValueError", message = "{} is too much"} : (i1, i64) -> ()
    memref.store %n, %b[%i] : memref<4000xi64>
  } {tir.parallel = 10 : i64}
  return
}
"""


def test_the_first_failure_is_reported() -> None:
    """Report the failure of the lowest step, whichever thread fails first."""
    numbered = rx.compile(rx.Module.parse(NUMBERED), TARGET)
    numbered.threads = 4
    generator = numpy.random.default_rng(1)
    for _ in range(50):
        bad = numpy.zeros(4000, numpy.int64)
        places = generator.choice(4000, 5, replace=False)
        bad[places] = 100 + places
        with pytest.raises(ValueError, match=f" {100 + min(places)} is too much"):
            numbered["main"](bad)


# ---- many callers ----


def test_callers_from_many_threads_share_the_pool() -> None:
    layer().threads = 4
    arguments = [(random(rows, 256), random(256, 384)) for rows in (1, 7, 64, 130)]
    expected = [called(layer(), *each) for each in arguments]

    def call(number: int) -> None:
        chosen = number % len(arguments)
        numpy.testing.assert_array_equal(called(layer(), *arguments[chosen]), expected[chosen])

    with ThreadPoolExecutor(8) as callers:
        list(callers.map(call, range(400)))


def test_two_programs_share_the_pool() -> None:
    one, other = layer(), program(relax.matmul, (200, 300), (300, 200))
    other.threads = one.threads = 4
    for _ in range(20):
        numpy.testing.assert_allclose(called(other, random(200, 300), random(300, 200)),
                                      random(200, 300) @ random(300, 200), rtol=1e-3, atol=1e-3)  # fmt: skip
        called(one, random(64, 256), random(256, 384))
    assert threads.working_threads() <= 7, "each program has workers of its own"


# ---- processes ----

PRELUDE = """
import os, sys, numpy
from relax_mlir import runtime
program = runtime.load(sys.argv[1])
program.threads = 4
x, w = numpy.ones((200, 256), numpy.float32), numpy.ones((256, 384), numpy.float32)
def works():
    return bool((numpy.from_dlpack(program["main"](x, w)) == 256).all())
"""


def run(tmp_path: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "layer.rxa"
    layer().save(path)
    return subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(path)], capture_output=True,
                          text=True, timeout=300, env={**os.environ, **environment})  # fmt: skip


#: From 3.12 on CPython warns of a fork while threads run; the test checks that such a fork works.
FORKS = {"PYTHONWARNINGS": "ignore::DeprecationWarning"}


def test_after_a_fork_the_child_has_threads_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, """
        from relax_mlir.runtime.threads import working_threads
        assert works() and working_threads() >= 1
        child = os.fork()
        if child == 0:
            assert working_threads() == 0
            os._exit(0 if works() and working_threads() >= 1 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), works())
    """, **FORKS)  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("0 True\n", "", 0)


def test_results_are_right_while_cores_change_and_signals_come(tmp_path: Path) -> None:
    """Run four threads on one core and on others, and call the program in the handler of a signal."""
    done = run(tmp_path, """
        import signal, threading
        cores, calls, is_over = sorted(os.sched_getaffinity(0)), [], []
        def change_cores():
            while not is_over:
                for allowed in (cores[:1], cores, cores[-1:], cores):
                    for thread in os.listdir("/proc/self/task"):
                        os.sched_setaffinity(int(thread), allowed)
        other = threading.Thread(target=change_cores)
        other.start()
        signal.signal(signal.SIGALRM, lambda *_: calls.append(works()))
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        assert all(works() for _ in range(200)) and calls and all(calls)
        signal.setitimer(signal.ITIMER_REAL, 0)
        is_over.append(True)
        other.join()
    """)  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system calls have other numbers")
@pytest.mark.parametrize(
    ("refused", "notes"),
    [
        ("28, 2, 18", ["the system had no more threads to give: 1 of 4 work"]),  # MADV_WIPEONFORK
        ("204, 0, 0", []),  # sched_getaffinity
        ("158, 0, 0x1023", []),  # ARCH_REQ_XCOMP_PERM
    ],
)
def test_programs_run_if_the_system_refuses_a_call(tmp_path: Path, refused: str, notes: list[str]) -> None:
    """Refuse a system call with a value of an argument, as containers do (seccomp)."""
    done = run(tmp_path, f"""
        import ctypes, struct
        from relax_mlir.runtime import cpu, threads
        def refuse(call, argument, value):
            steps = [(0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 16 + 8 * argument), (0x15, 0, 1, value)]
            code = b"".join(struct.pack("HBBI", *step) for step in [*steps, (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)])
            place = ctypes.create_string_buffer(code)
            ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
            program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(place))
            assert ctypes.CDLL(None).prctl(22, 2, program, 0, 0) == 0
        refuse({refused})
        cpu.may_use_tiles.cache_clear()
        program = runtime.load(sys.argv[1])
        program.threads = 4
        assert works() and not (({refused})[0] == 158 and cpu.may_use_tiles())
        print([note for note in threads.notes_on_threads(4) if "system" in note])
    """)  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == (f"{notes}\n", "", 0)


@pytest.mark.parametrize("what", ["fails", "finds"])
def test_a_child_does_what_others_did_at_the_fork(tmp_path: Path, what: str) -> None:
    """Fork while other threads hold locks of errors and of the loader: a child could not release them."""
    code = """
        import signal, threading
        from relax_mlir.runtime.threads import working_threads
        def fails():
            try:
                program["main"](x, w[1:])
            except ValueError:
                return True
        def finds():
            return working_threads() >= 0  # asks the loader each time
        def go_on():
            while not is_over:
                WHAT()
        assert works()
        is_over, codes = [], set()
        others = [threading.Thread(target=go_on) for _ in range(4)]
        for each in others:
            each.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if WHAT() else 1)
            codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            if codes != {0}:
                break
        is_over.append(True)
        for each in others:
            each.join()
        print(codes)
    """
    done = run(tmp_path, code.replace("WHAT", what), **FORKS)
    assert (done.stdout, done.stderr, done.returncode) == ("{0}\n", "", 0)


def test_a_process_ends_while_threads_look_for_work(tmp_path: Path) -> None:
    for _ in range(3):
        done = run(tmp_path, "assert works()")
        assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_system_that_has_no_threads_to_give(tmp_path: Path) -> None:
    """Run in the calling thread if there is no memory for a thread's stack."""
    done = run(tmp_path, """
        import resource
        from relax_mlir.runtime.threads import working_threads
        program["main"]
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (6 << 20),) * 2)
        print(works(), working_threads())
    """)  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("True 0\n", "", 0)


# ---- how many ----


def test_the_number_of_threads_can_be_set() -> None:
    assert 1 <= threads.usual_threads({}) <= len(os.sched_getaffinity(0))
    assert threads.usual_threads({"RELAX_NUM_THREADS": " 3 "}) == 3
    assert threads.usual_threads({"RELAX_NUM_THREADS": ""}) == threads.usual_threads({})
    executable = program(product, (8, 16), (16, 32))
    executable.threads = 200
    assert executable.threads == 200


@pytest.mark.parametrize("absurd", ["0", "-1", "1.5", "many", "257", "1" * 30, "\u0663"])
def test_absurd_numbers_of_threads(absurd: str) -> None:
    expected = "expected a number of threads from 1 to 256"
    with pytest.raises(RelaxError, match=f"RELAX_NUM_THREADS={absurd}: {expected}"):
        threads.usual_threads({"RELAX_NUM_THREADS": absurd})
    with pytest.raises(RelaxError, match=f"executable.threads = .*: {expected}"):
        layer().threads = absurd  # type: ignore[assignment]


def test_wrong_numbers_of_threads_are_refused() -> None:
    for wrong in (0, -3, 1.5, True, None, 1 << 70, 10**5000, -(10**5000), b"2", "", [2]):
        with pytest.raises(RelaxError, match="expected a number of threads"):
            layer().threads = wrong  # type: ignore[assignment]


@pytest.mark.parametrize(("said", "shown"), [("two", "two"), ("9" * 5000, "9" * 40 + "..."), ("-1", "-1")])
def test_a_variable_that_is_no_number_is_named(tmp_path: Path, said: str, shown: str) -> None:
    done = run(tmp_path, "", RELAX_NUM_THREADS=said)
    message = f"OptionError: RELAX_NUM_THREADS={shown}: expected a number of threads from 1 to 256"
    assert done.stderr.rstrip().endswith(message)


def relax_run(tmp_path: Path, *options: str, limit: Callable[[], None] | None = None) -> tuple[int, str]:
    """Return the exit code and standard error of a process after a call of `limit`."""
    path = tmp_path / "layer.rxa"
    layer().save(path)
    command = [str(Path(sys.executable).with_name("relax-run")), str(path), "--shape=arg0:200,256", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=limit,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("absurd", ["0", "-1", "1e9", "many", "", "257", "9" * 30])
def test_absurd_numbers_of_threads_of_relax_run(tmp_path: Path, absurd: str) -> None:
    message = f"relax-run: error: option --threads={absurd}: expected a number of threads from 1 to 256\n"
    assert relax_run(tmp_path, f"--threads={absurd}") == (1, message)


def test_more_threads_than_cores_are_noted(tmp_path: Path) -> None:
    one_core = {min(os.sched_getaffinity(0))}
    message = "relax-run: note: 256 threads were asked for, and this process may use 1 core\n"
    assert relax_run(tmp_path, "--threads=256", limit=lambda: os.sched_setaffinity(0, one_core)) == (0, message)


def test_a_system_without_threads_to_give_is_noted(tmp_path: Path) -> None:
    """Note that there is no memory for a thread's stack, which is as large as the process's limit."""

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 30, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, resource.RLIM_INFINITY))

    code, errors = relax_run(tmp_path, "--threads=4", limit=little_room)
    assert code == 0
    assert errors.endswith("relax-run: note: the system had no more threads to give: 1 of 4 work\n")


@pytest.mark.parametrize(
    ("quota", "period", "cpus"),
    [("150000", "100000", 2), ("100000", "100000", 1), ("1000", "100000", 1), ("max", "100000", 256), ("", "", 256)],
)
def test_time_that_control_groups_get(tmp_path: Path, quota: str, period: str, cpus: int) -> None:
    (tmp_path / "cpu.max").write_text(f"{quota} {period}\n")
    assert threads._quota(str(tmp_path / "cpu.max")) == cpus
