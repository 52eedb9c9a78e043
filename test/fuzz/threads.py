# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stress test of threads: calls programs with parallel loops from eight threads at once, for some seconds.

It draws sizes, grains and numbers of threads, checks that fail in the middle, sums and products of floats, programs
that come and go, and forks in between. Three more threads build and compile programs at the same time, and take turns
with one module.

python test/fuzz/threads.py [--seconds 60] [--seed 0]

Every call must give the result of one thread, to the bit, or the first failure of one thread; in a forked process, too.
The exit code is 1 otherwise, or if a child does not end.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy
from relax_mlir.runtime.threads import working_threads

import relax_mlir as rx
from relax_mlir import relax

_CALLERS, _COMPILERS, _PROGRAMS, _CALLS_OF_ONE, _CALLS_OF_CHILD = 8, 3, 6, 500, 20
_THREADS = (1, 2, 3, 8, 40)
_SHARE_OF_FLOATS = 0.4
#: Seconds, for a child's calls on a busy machine.
_PATIENCE = 120
_FLOATS: dict[str, Callable[[Any], Any]] = {
    "sums of columns": lambda x: relax.sum(x, axis=[0]),
    "the sum": relax.sum,
    "softmax": relax.nn.softmax,
    "a product with itself": lambda x: relax.matmul(relax.permute_dims(x), x),
    "functions": lambda x: relax.exp(relax.tanh(x)),
}
_LIMIT = 1000
_TEXT = """
func.func @main(%x: tensor<SIZExi64>) -> tensor<SIZExi64> {
  %y = "relax.call_tir"(%x) {func = @check} : (tensor<SIZExi64>) -> tensor<SIZExi64>
  return %y : tensor<SIZExi64>
}
func.func private @check(%a: memref<SIZExi64>, %b: memref<SIZExi64>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant SIZE : index
  %rounds = arith.constant ROUNDS : index
  %most = arith.constant LIMIT : i64
  %three = arith.constant 3 : i64
  scf.for %i = %c0 to %size step %c1 {
    %n = memref.load %a[%i] : memref<SIZExi64>
    %ok = arith.cmpi slt, %n, %most : i64
    "tir.assert"(%ok, %n) {kind = "ValueError", message = "{} is too much"} : (i1, i64) -> ()
    %sum = scf.for %j = %c0 to %rounds step %c1 iter_args(%s = %n) -> (i64) {
      %t = arith.muli %s, %three : i64
      scf.yield %t : i64
    }
    memref.store %sum, %b[%i] : memref<SIZExi64>
  } {tir.parallel = GRAIN : i64}
  return
}
"""


class Checked:
    """Loop over integers with a check, in random grains. The expected result is computed here."""

    def __init__(self, chance: random.Random) -> None:
        self.size, self.rounds = chance.randint(1, 3000), chance.choice((0, 1, 20, 300))
        words = {"SIZE": self.size, "ROUNDS": self.rounds, "GRAIN": chance.choice((0, 1, 2, 7, 100, 5000))}
        text = _TEXT.replace("LIMIT", str(_LIMIT))
        for word, number in words.items():
            text = text.replace(word, str(number))
        self.description = str(words)
        self.executable = rx.compile(rx.Module.parse(text))

    def call(self, chance: random.Random) -> str:
        """Return the problem of a call, or an empty text."""
        given = numpy.random.default_rng(chance.random().hex().encode()[-1]).integers(0, _LIMIT, self.size)
        failing = chance.sample(range(self.size), min(chance.choice((0, 0, 0, 1, 3)), self.size))
        given[failing] = [_LIMIT + place for place in failing]
        self.executable.threads = chance.choice(_THREADS)
        try:
            found: Any = numpy.from_dlpack(self.executable["main"](given))
        except ValueError as error:
            refused = re.search(r"(\d+) is too much", str(error))
            wanted = _LIMIT + min(failing) if failing else None
            return "" if refused and int(refused[1]) == wanted else f"{error}, expected {wanted}"
        if failing:
            return "nothing failed"
        with numpy.errstate(over="ignore"):
            expected = given * numpy.int64(
                pow(3, self.rounds, 1 << 64) - (1 << 64) * (pow(3, self.rounds, 1 << 64) >> 63)
            )
        return "" if (found == expected).all() else f"{(found != expected).sum()} elements differ"


class Computed:
    """Program whose result depends on the order of sums. A run on one thread gives the expected result."""

    def __init__(self, chance: random.Random) -> None:
        name, build = chance.choice(list(_FLOATS.items()))
        shape = chance.randint(1, 1500), chance.choice((1, 63, 256, 700))
        module = rx.Module()
        with module.function("main", [rx.tensor(shape)]) as f:
            f.returns(build(*f))
        self.description = f"{name} of {shape}"
        self.executable = rx.compile(module, "llvm{cores=4}")
        self._given = numpy.random.default_rng(shape).standard_normal(shape, dtype=numpy.float32)
        self.executable.threads = 1
        self._expected = self._result()

    def _result(self) -> bytes:
        return numpy.from_dlpack(self.executable["main"](self._given)).tobytes()

    def call(self, chance: random.Random) -> str:
        self.executable.threads = chance.choice(_THREADS)
        return "" if self._result() == self._expected else "not the bits that one thread gives"


Program = Checked | Computed


def made(chance: random.Random) -> Program:
    return (Computed if chance.random() < _SHARE_OF_FLOATS else Checked)(chance)


def problem_of_child(program: Program, chance: random.Random) -> str:
    """Return the problem of calls in a forked process, which has only the forking thread."""
    child = os.fork()
    if child == 0:
        # In all cases the parent's work must not continue in the child.
        status = 1
        try:
            signal.alarm(_PATIENCE)
            is_fresh = working_threads() == 0
            status = 0 if is_fresh and not any(program.call(chance) for _ in range(_CALLS_OF_CHILD)) else 2
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"a forked process ended with {code}" if code else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    calls, problems = [0] * _CALLERS, list[str]()
    chance, children = random.Random(arguments.seed), 0
    programs = [made(chance) for _ in range(_PROGRAMS)]
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
    end = time.monotonic() + arguments.seconds

    def caller(number: int) -> None:
        nonlocal children
        own = random.Random(f"{arguments.seed} {number}")
        # Each is there once, however busy the machine is.
        while not calls[number] or time.monotonic() < end and not problems:
            place = own.randrange(_PROGRAMS)
            program = programs[place]
            for _ in range(own.randint(1, _CALLS_OF_ONE)):
                problem = program.call(own)
                calls[number] += 1
                if problem:
                    problems.append(f"{program.description}: {problem}")
                    return
            if number == 0:
                children += 1
                problem = problem_of_child(program, own)
                if problem:
                    problems.append(f"{program.description}: {problem}")
                programs[place] = made(own)

    shared = rx.Module.parse(
        _TEXT.replace("SIZE", "9").replace("ROUNDS", "1").replace("LIMIT", "9").replace("GRAIN", "1")
    )
    shared_text, compiled = str(shared), [0] * _COMPILERS

    def compiler(number: int) -> None:
        own = random.Random(f"{arguments.seed} compiler {number}")
        while not compiled[number] or time.monotonic() < end and not problems:
            program = made(own)
            if problem := program.call(own):
                problems.append(f"just compiled, {program.description}: {problem}")
            rx.compile(shared, cache=False)
            if str(shared) != shared_text:
                problems.append("a module that several threads compile has changed")
            compiled[number] += 1

    def guarded(work: Callable[[int], None], number: int) -> None:
        try:
            work(number)
        except Exception as error:
            problems.append(f"{work.__name__} {number}: {type(error).__name__}: {error}")

    works = [*((caller, number) for number in range(_CALLERS)), *((compiler, number) for number in range(_COMPILERS))]
    threads = [threading.Thread(target=guarded, args=each) for each in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print(f"{sum(calls)} calls from {_CALLERS} threads, {children} forks, {sum(compiled)} compilations in {_COMPILERS}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
