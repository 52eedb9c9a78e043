# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speeds of this machine: multiply-adds from registers, and reads from each cache level and from memory.

Loops of vector instructions measure both, so that no kernel of the compiler sets the bounds.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.core.registry import parse_target

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))
from undisturbed import undisturbed

_TRIES, _ROUNDS, _STEPS, _READS, _LINE = 8, 3, 200_000, 8, 64
#: Levels that belong to one core; share of the best bandwidth that a buffer in a shared level must reach.
_OWN_LEVELS, _ALMOST = 2, 0.8
#: Bytes that a call reads, repeatedly if a buffer is smaller; the smallest buffer that counts as memory.
_STREAM, _MEMORY = 64 << 20, 256 << 20

_PEAK = """
func.func private @peak(%x: memref<{twice}xf32>, %y: memref<{width}xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %next = arith.constant {width} : index
  %steps = arith.constant {steps} : index
  %zero = arith.constant dense<0.0> : {vector}
  %p = vector.load %x[%c0] : memref<{twice}xf32>, {vector}
  %q = vector.load %x[%next] : memref<{twice}xf32>, {vector}
  %sums:{count} = scf.for %i = %c0 to %steps step %c1 iter_args({starts}) -> ({vectors}) {{
    {body}
    scf.yield {yields} : {vectors}
  }}
  {total}
  vector.store %t{count}, %y[%c0] : memref<{width}xf32>, {vector}
  return
}}
func.func @main(%x: tensor<{twice}xf32>) -> tensor<{width}xf32> {{
  %r = "relax.call_tir"(%x) {{func = @peak}} : (tensor<{twice}xf32>) -> tensor<{width}xf32>
  return %r : tensor<{width}xf32>
}}
"""

_READ = """
func.func private @read(%x: memref<{size}xf32>, %y: memref<{width}xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %passes = arith.constant {passes} : index
  %size = arith.constant {size} : index
  %step = arith.constant {step} : index
  %zero = arith.constant dense<0.0> : {vector}
  {offsets}
  %sums:{count} = scf.for %n = %c0 to %passes step %c1 iter_args({starts}) -> ({vectors}) {{
    %inner:{count} = scf.for %i = %c0 to %size step %step iter_args({inner_starts}) -> ({vectors}) {{
      {body}
      scf.yield {yields} : {vectors}
    }}
    scf.yield {inner_yields} : {vectors}
  }}
  {total}
  vector.store %t{count}, %y[%c0] : memref<{width}xf32>, {vector}
  return
}}
func.func @main(%x: tensor<{size}xf32>) -> tensor<{width}xf32> {{
  %r = "relax.call_tir"(%x) {{func = @read}} : (tensor<{size}xf32>) -> tensor<{width}xf32>
  return %r : tensor<{width}xf32>
}}
"""


class Level(NamedTuple):
    """Cache level, or the memory. The size is in bytes, the bandwidth in bytes per second."""

    name: str
    size: float
    bandwidth: float


class Speeds(NamedTuple):
    """Peak in operations per second, and levels with their bandwidths, innermost first."""

    peak: float
    levels: tuple[Level, ...]

    def reads(self, size: float, footprint: float) -> dict[str, float]:
        """Return the seconds per level that reading `size` bytes takes, if calls touch `footprint` bytes in between.

        An inner level holds a part of a larger footprint, so that only the rest comes from the next level.
        """
        seconds, held = {}, 0.0
        for level in self.levels:
            part = min(level.size, footprint) - held
            if part > 0:
                seconds[level.name], held = size * part / footprint / level.bandwidth, held + part
        return seconds


def machine_of(target: str) -> Machine:
    """Return the machine that a target's code is for. Raises rx.OptionError if the CPU is unknown."""
    return rx.find_backend("llvm").machine(parse_target(target))


def cpu_name() -> str:
    """Return the CPU's name as Linux reports it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")


def peak_call(target: str, threads: int = 1) -> tuple[Callable[[], float], float]:
    """Return a call that measures seconds of multiply-adds on all threads, and its number of operations.

    All operands stay in registers: a CPU with 32 vector registers keeps 24 sums, one with 16 keeps 12.
    """
    machine, steps = machine_of(target), _STEPS if threads == 1 else 5 * _STEPS  # threads start in 0.1 ms
    width, count = machine.lanes(32), 24 if machine.registers >= 32 else 12
    body = (f"%d{i} = vector.fma %p, %q, %s{i} : vector<{width}xf32>" for i in range(count))
    text = _PEAK.format(twice=2 * width, steps=steps, body="\n".join(body), **_sums(width, count))
    main = rx.compile(rx.Module.parse(text), target)["main"]
    arrays = [numpy.full(2 * width, 1e-3, "float32") for _ in range(threads)]
    return lambda: _seconds([partial(main, x) for x in arrays]), 2.0 * width * count * steps * threads


def bandwidths(target: str, threads: int = 1) -> tuple[Level, ...]:
    """Measure the bandwidth of each cache level, by reads of a buffer of half its size, and of the memory.

    Cores of other machines on the host may use a shared level, too: see `_shared`.
    """
    caches = machine_of("llvm").caches
    own = [size * threads for size in caches[:_OWN_LEVELS]]
    shared = [_shared(target, size // 2, 4 * caches[_OWN_LEVELS - 1], threads) for size in caches[_OWN_LEVELS:]]
    buffers = [*(size // 2 for size in own), *shared, max(_MEMORY, 2 * max(caches, default=0))]
    best = [0.0] * len(buffers)
    for _ in range(_ROUNDS):
        best = [max(known, _bandwidth(target, size, threads)) for known, size in zip(best, buffers, strict=True)]
    names = [*(f"L{number + 1}" for number in range(len(caches))), "memory"]
    return tuple(map(Level, names, [*own, *shared, math.inf], best))


def _shared(target: str, largest: int, smallest: int, threads: int) -> int:
    """Return the size of the largest buffer that is read almost as fast as smaller ones.

    A shared cache of 300 MiB reads 32 and 64 MiB with 24 GB/s, but 150 MiB with 13, like memory.
    """
    sizes = [largest]
    while sizes[-1] // 2 >= smallest:
        sizes.append(sizes[-1] // 2)
    found = {size: _bandwidth(target, size, threads) for size in sizes}
    return next(size for size in sizes if found[size] >= _ALMOST * max(found.values()))


def _bandwidth(target: str, size: int, threads: int) -> float:
    """Return bytes per second that all threads together read from a buffer of `size` bytes, a part each."""
    width = machine_of(target).lanes(32)
    step = width * _READS
    elements = max(size // threads // 4 // step, 1) * step
    passes = max(_STREAM // (4 * elements), 1)
    vector = f"vector<{width}xf32>"
    offsets = (f"%o{i} = arith.constant {i * width} : index" for i in range(_READS))
    body = (
        f"%j{i} = arith.addi %i, %o{i} : index\n%v{i} = vector.load %x[%j{i}] : memref<{elements}xf32>, {vector}\n"
        f"%d{i} = arith.addf %v{i}, %u{i} : {vector}"
        for i in range(_READS)
    )
    text = _READ.format(
        size=elements,
        passes=passes,
        step=step,
        offsets="\n".join(offsets),
        inner_starts=", ".join(f"%u{i} = %s{i}" for i in range(_READS)),
        inner_yields=", ".join(f"%inner#{i}" for i in range(_READS)),
        body="\n".join(body),
        **_sums(width, _READS),
    )
    main = rx.compile(rx.Module.parse(text), target)["main"]
    arrays = [_aligned(elements) for _ in range(threads)]
    seconds = undisturbed(lambda: min(_seconds([partial(main, x) for x in arrays]) for _ in range(_TRIES)))
    return 4 * elements * passes * threads / seconds


def _aligned(elements: int) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]:
    """Return an array of ones that begins at a cache line: loads across two lines take twice as long."""
    memory = numpy.ones(elements + _LINE // 4, "float32")
    start = -memory.ctypes.data % _LINE // 4
    return memory[start : start + elements]


def _sums(width: int, count: int) -> dict[str, object]:
    """Return the texts that both kernels have in common: sums as loop values, and their total."""
    vector = f"vector<{width}xf32>"
    lines = (f"%t{i + 1} = arith.addf %t{i}, %sums#{i} : {vector}" for i in range(count))
    return {
        "width": width,
        "count": count,
        "vector": vector,
        "vectors": ", ".join([vector] * count),
        "starts": ", ".join(f"%s{i} = %zero" for i in range(count)),
        "yields": ", ".join(f"%d{i}" for i in range(count)),
        "total": "\n".join([f"%t0 = arith.constant dense<0.0> : {vector}", *lines]),
    }


def _seconds(calls: Iterable[Callable[[], object]]) -> float:
    """Return the CPU seconds of a call, or the seconds by the clock of several calls, each on its own thread."""
    first, *others = calls
    if not others:
        start = time.thread_time()
        first()
        return time.thread_time() - start
    with ThreadPoolExecutor(len(others)) as pool:
        start = time.perf_counter()
        started = [pool.submit(call) for call in others]
        first()
        for each in started:
            each.result()
        return time.perf_counter() - start
