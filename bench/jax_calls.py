# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of a call of a small function, in microseconds of the thread.

The ways are jax.jit on jax's CPUs and on the platform relax, rx.jit, the program itself, and a NumPy function in place
of the program behind PJRT's table.

    build/env-jax/bin/python bench/jax_calls.py
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import relax_mlir as rx

_ROUNDS, _CALLS = 15, 2000


def microseconds(functions: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return the times of each round. The functions take turns."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        for _ in range(100):
            function()
    for _ in range(_ROUNDS):
        for name, function in functions.items():
            start = time.thread_time()
            for _ in range(_CALLS):
                function()
            found[name].append((time.thread_time() - start) / _CALLS * 1e6)
    return found


def _several(a: Any) -> Any:
    return [a + each for each in range(50)]


def _one(a: Any) -> Any:
    return a + 1


def _behind_the_table(call: Callable[[], object]) -> Callable[[], object]:
    """Return the call with a NumPy function in place of the program that the call ran last."""
    from relax_mlir.runtime.arrays import tensor, to_numpy
    from relax_mlir_jax.pjrt.c_handles import held_by_handle
    from relax_mlir_jax.pjrt.programs import Executable

    executable = [each for each in held_by_handle.values() if isinstance(each, Executable)][-1]
    own, count = executable.main, len(executable.shapes)

    def with_numpy(x: Any) -> Any:
        found = [tensor(to_numpy(x) + numpy.float32(each)) for each in range(count)]
        return found[0] if count == 1 else found

    def replaced() -> object:
        executable.main = with_numpy
        try:
            return call()
        finally:
            executable.main = own

    return replaced


def functions_of(function: Callable[[Any], Any]) -> dict[str, Callable[[], object]]:
    import jax

    cpu, relax = (jax.devices(each)[0] for each in ("cpu", "relax"))
    given = numpy.ones(3, "float32")
    on_cpu, on_relax = jax.device_put(given, cpu), jax.device_put(given, relax)
    jitted = jax.jit(function)
    ours: Any = rx.jit(function)
    main = ours.executable(on_cpu)["main"].packed
    (taken,) = ours.executable(on_cpu)["main"].prepared(on_cpu)

    def platform() -> object:
        return jitted(on_relax)

    platform()
    return {
        "jax.jit, jax's CPUs": lambda: jitted(on_cpu),
        "jax.jit, relax": platform,
        "  numpy behind it": _behind_the_table(platform),
        "rx.jit": lambda: ours(on_cpu),
        "the program": lambda: main(taken),
    }


def main() -> None:
    os.environ["JAX_PLATFORMS"] = "relax,cpu"
    try:
        import jax
    except ImportError:
        print("not measured: jax is not installed here (make env-jax)")
        sys.exit(0)
    print(f"us a call, jax {jax.__version__}        median     min")
    for title, function in (("x + 1 of 3 numbers", _one), ("50 results", _several)):
        print(title)
        for name, times in microseconds(functions_of(function)).items():
            print(f"  {name:<24}{statistics.median(times):>10.1f}{min(times):>8.1f}")


if __name__ == "__main__":
    main()
