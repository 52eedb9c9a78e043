# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Daemon threads that still call or compile at the interpreter's end are refused. The exit status is the program's."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

_START = """
import atexit, sys, threading, time
# Asked for before the package is imported: behind the package's own.
last = []
atexit.register(lambda: [each() for each in last])
import numpy, relax_mlir as rx
from relax_mlir import relax
module = rx.Module()
with module.function("main", [rx.tensor(("n", 64)), rx.tensor((64, 64))]) as f:
    f.returns(relax.nn.softmax(relax.matmul(*f)))
main = rx.compile(module, jobs=1)["main"]
x, w = numpy.ones((100, 64), "float32"), numpy.ones((64, 64), "float32")
rounds = [0, 0, 0]
def start(work, again=lambda: True):
    def go(number):
        while True:
            try:
                work()
            except rx.RelaxError as error:
                rounds[number] = str(error)
                if not again():
                    return
            else:
                rounds[number] += 1
    for number in range(3):
        threading.Thread(target=go, args=(number,), daemon=True).start()
    while not all(rounds):
        time.sleep(0.001)
"""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _START + code], capture_output=True, text=True, timeout=600)


_CALLS = "start(lambda: main(x, w), again=lambda: False)"
_COMPILES = "start(lambda: rx.compile(module, jobs=1, cache=False), again=lambda: False)"
_ADVICE = "the interpreter is ending; end this thread before, or join it"


@pytest.mark.slow
@pytest.mark.parametrize("work", [_CALLS, _COMPILES], ids=["calls", "compiles"])
def test_threads_are_refused_at_exit(work: str) -> None:
    done = ended(f"{work}\nprint('leaving')\nsys.exit(3)")
    assert (done.returncode, done.stdout, done.stderr) == (3, "leaving\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "what"),
    [(_CALLS, "a call of main"), (_COMPILES, "(pass [a-z.()-]+|native code)")],
    ids=["calls", "compiles"],
)
def test_threads_are_told_that_the_process_ends(work: str, what: str) -> None:
    done = ended(f"{work}\nlast.append(lambda: print(*rounds, sep='\\n'))")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(f"({what}: {_ADVICE}\n){{3}}", done.stdout), done.stdout


@pytest.mark.slow
def test_a_thread_that_goes_on_asking_holds_nothing_up() -> None:
    done = ended("start(lambda: main(x, w))\nprint('leaving')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


@pytest.mark.slow
def test_a_thread_that_is_refused_ends_with_its_error() -> None:
    """End with the error like after any other error, not in the middle of a call."""
    done = ended("""
def go():
    while True:
        main(x, w)
        rounds[0] += 1
threading.Thread(target=go, daemon=True).start()
while not rounds[0]:
    time.sleep(0.001)
""")
    assert done.returncode == 0
    assert done.stderr.rstrip().endswith(f"RelaxError: a call of main: {_ADVICE}")


@pytest.mark.slow
def test_the_program_itself_may_call_at_its_end() -> None:
    """Call at the program's end: threads have released their locks, and exit functions still compute."""
    done = ended("""
lock = threading.Lock()
def work():
    with lock:
        main(x, w)
start(work, again=lambda: False)
def at_last():
    with lock:
        print(main(x, w).shape)
last.append(at_last)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "(100, 64)\n", "")


_IN_A_FUNCTION = """
import tvm_ffi
inside, never = threading.Event(), threading.Event()
def called(x):
    inside.set()
    {body}
tvm_ffi.register_global_func("test.ending", called)
module = rx.Module()
with module.function("main", [rx.tensor((4,))]) as f:
    f.returns(relax.call_packed("test.ending", list(f.args), f.args[0].type))
main, given = rx.compile(module, jobs=1)["main"], numpy.ones(4, "float32")
work = lambda: main(given)
"""
_IN_A_PASS = """
inside, never = threading.Event(), threading.Event()
class Waiting(rx.Pass):
    name = "test-waiting"
    def run(self, op):
        inside.set()
        {body}
work = lambda: rx.Pipeline([Waiting()]).run(module)
"""
_WAYS = {"lock": "never.wait()", "again and again": "while True: time.sleep(0.01)", "in Python": "while True: pass"}


@pytest.mark.slow
@pytest.mark.parametrize("body", _WAYS.values(), ids=_WAYS)
@pytest.mark.parametrize("where", [_IN_A_FUNCTION, _IN_A_PASS], ids=["function", "pass"])
def test_blocked_foreign_functions_do_not_delay_the_exit(where: str, body: str) -> None:
    done = ended(f"""{where.format(body=body)}
from relax_mlir.support import ending
ending._PATIENCE_S = 1e9  # for those in this package
def go():
    try:
        work()
    except rx.RelaxError:
        pass
threading.Thread(target=go, daemon=True).start()
inside.wait()
sys.exit(3)
""")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


@pytest.mark.slow
def test_a_function_of_others_comes_to_its_end() -> None:
    done = ended(
        _IN_A_FUNCTION.format(body="time.sleep(0.05); print('done', flush=True)")
        + """
threading.Thread(target=lambda: print(main(given)), daemon=True).start()
inside.wait()
"""
    )
    assert (done.returncode, done.stdout.partition("\n")[0]) == (0, "done")
