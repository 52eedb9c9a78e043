# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interruption of work at its n-th step, for many n, and repetition of the work after each, in a process of its own.

    python interrupting.py small 0 120     the work's name, a seed, the number of interruptions

A step is a point at which the interpreter checks for signals: the start of a Python function, or the return from a C
function. So the results do not depend on the speed of the machine.
"""

from __future__ import annotations

import json
import random
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import relax_mlir as rx
from relax_mlir import relax

ir = rx.ir
_METHODS = {name: getattr(ir._OperationBase, name) for name in ("erase", "detach_from_parent", "walk", "verify")}

SOURCE = """
func.func @main(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %0 = "relax.exp"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.exp"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %2 = "relax.add"(%0, %1) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>) \
-> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %2 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}"""


def _to_sin(op: Any, rewriter: Any) -> Any:
    return relax.sin(relax.negative(op.x))


def _to_cos(op: Any, operands: Any, rewriter: Any) -> Any:
    return relax.cos(relax.negative(operands[0]))


def small() -> str:
    """Parse, run own and upstream passes, patterns and a conversion, walk, verify, print."""
    module = rx.Module.parse(SOURCE)
    rx.Pipeline("relax-canonicalize,func.func(cse)").run(module)
    rx.apply_greedy(module.operation, [rx.Pattern("relax.exp", _to_sin)])
    conversion = rx.Conversion("to-cos")
    conversion.illegal("relax.sin")
    conversion.add("relax.sin", _to_cos)
    conversion.run(module.operation)
    names: list[str] = []
    module.operation.walk(lambda op: names.append(op.name) or ir.WalkResult.ADVANCE)
    module.verify()
    return str(module) + " ".join(names) + str(len(module.bytecode()))


def compiled() -> str:
    """Compile and return a function."""
    import numpy

    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 16)), rx.tensor((16, 8))]) as f:
        f.returns(relax.nn.softmax(relax.matmul(*f)))
    executable = rx.compile(module, jobs=1, cache=False)
    result = executable["main"](numpy.ones((2, 16), "float32"), numpy.ones((16, 8), "float32"))
    return str(numpy.from_dlpack(result).tolist())


WORK: dict[str, Callable[[], str]] = {"small": small, "compiled": compiled}


class Steps:
    """Counter of steps, which interrupts at one of them."""

    def __init__(self, at: int = -1):
        self.count, self.at, self.late = 0, at, 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "c_return"):
            return
        self.count += 1
        if self.count == self.at:
            signal.raise_signal(signal.SIGINT)
        elif self.count > self.at > 0:
            self.late += 1

    def run(self, work: Callable[[], str]) -> str:
        sys.setprofile(self)
        try:
            return work()
        finally:
            sys.setprofile(None)


def check_state(handler: Any) -> None:
    assert signal.getsignal(signal.SIGINT) is handler, "the signal's handler was not given back"
    assert ir.Context.current is None, "a context is still entered"
    changed = [name for name, method in _METHODS.items() if getattr(ir._OperationBase, name) is not method]
    assert not changed, f"methods of the bindings were not given back: {changed}"


def main() -> None:
    name, seed, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    work, draw = WORK[name], random.Random(seed)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    handler = signal.getsignal(signal.SIGINT)
    expected, interrupted, latest = work(), 0, 0
    counter = Steps()
    counter.run(work)
    for _ in range(times):
        steps = Steps(draw.randrange(1, counter.count))
        try:
            steps.run(work)
        except KeyboardInterrupt:
            interrupted += 1
        check_state(handler)
        latest = max(latest, steps.late)
        assert work() == expected, f"after an interruption at step {steps.at} the same work gives something else"
    print(json.dumps({"interrupted": interrupted, "late": latest}))


if __name__ == "__main__":
    main()
