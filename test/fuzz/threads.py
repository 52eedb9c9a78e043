# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls programs with shared loops from eight threads at once, for so many seconds: random sizes, grains and numbers of
threads, checks that fail in the middle, programs that come and go.

python test/fuzz/threads.py [--seconds 60] [--seed 0]

Every call must give what one thread gives, or the failure that one thread meets first. Exit code 1 where it does not.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import threading
import time
from typing import Any

import numpy

import relax_mlir as rx

_CALLERS, _PROGRAMS, _CALLS_OF_ONE = 8, 6, 500
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


class Program:
    """A program, and what it must give."""

    def __init__(self, chance: random.Random) -> None:
        self.size, self.rounds = chance.randint(1, 3000), chance.choice((0, 1, 20, 300))
        words = {"SIZE": self.size, "ROUNDS": self.rounds, "GRAIN": chance.choice((0, 1, 2, 7, 100, 5000))}
        text = _TEXT.replace("LIMIT", str(_LIMIT))
        for word, number in words.items():
            text = text.replace(word, str(number))
        self.told = str(words)
        self.executable = rx.compile(rx.Module.parse(text))

    def call(self, chance: random.Random) -> str:
        """What is wrong with a call; empty if nothing is."""
        given = numpy.random.default_rng(chance.random().hex().encode()[-1]).integers(0, _LIMIT, self.size)
        failing = chance.sample(range(self.size), min(chance.choice((0, 0, 0, 1, 3)), self.size))
        given[failing] = [_LIMIT + place for place in failing]
        self.executable.threads = chance.choice((1, 2, 3, 8, 40))
        try:
            found: Any = numpy.from_dlpack(self.executable["main"](given))
        except ValueError as error:
            told = re.search(r"(\d+) is too much", str(error))
            wanted = _LIMIT + min(failing) if failing else None
            return "" if told and int(told[1]) == wanted else f"{error}, expected {wanted}"
        if failing:
            return "nothing failed"
        with numpy.errstate(over="ignore"):
            expected = given * numpy.int64(
                pow(3, self.rounds, 1 << 64) - (1 << 64) * (pow(3, self.rounds, 1 << 64) >> 63)
            )
        return "" if (found == expected).all() else f"{(found != expected).sum()} elements differ"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    calls, problems = [0] * _CALLERS, list[str]()
    chance = random.Random(arguments.seed)
    programs = [Program(chance) for _ in range(_PROGRAMS)]
    end = time.monotonic() + arguments.seconds

    def caller(number: int) -> None:
        own = random.Random(f"{arguments.seed} {number}")
        # Each is there once, however busy the machine is.
        while not calls[number] or time.monotonic() < end and not problems:
            place = own.randrange(_PROGRAMS)
            program = programs[place]
            for _ in range(own.randint(1, _CALLS_OF_ONE)):
                problem = program.call(own)
                calls[number] += 1
                if problem:
                    problems.append(f"{program.told}: {problem}")
                    return
            if number == 0:
                programs[place] = Program(own)

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(_CALLERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print(f"{sum(calls)} calls from {_CALLERS} threads")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
