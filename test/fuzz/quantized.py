# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzer of QDQ models: compiles random models for each available codegen, and for none, and compares with onnxruntime.

    quantized.py --seconds 60                new models for a minute
    quantized.py --seed 7 --case 1234        one model again, with as few layers as possible

The tolerance is one step of quantization, plus the change of the result for a small change of the quantized values.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy
import onnx
import quantized_models
from relax_mlir.passes.graph.partition.codegen import all_codegens
from relax_mlir_proof.testing import cluster, isolated

import relax_mlir as rx
from relax_mlir import relax

SAVED = Path(__file__).resolve().parents[2] / "build" / "fuzz"
_PATIENCE_S = 300.0
_LEVELS = 4
#: Largest tolerance relative to the results. With a larger one nothing is compared.
_LARGEST_SHARE = 0.25
_ORACLE, _OURS = 0, 1


class Outcome(NamedTuple):
    status: str
    problem: str = ""
    #: How many of the model's operators each codegen took.
    taken: dict[str, int] = {}  # noqa: RUF012  # replaced, never changed


def died(cause: str, phase: int) -> Outcome:
    """Return the outcome of a crash. A crash of onnxruntime is no failure of this project."""
    return Outcome("failed", cause) if phase == _OURS else Outcome("undefined", f"the oracle: {cause}")


def usable() -> list[str]:
    """Return the available codegens for CPUs."""
    return [each.name for each in all_codegens() if "cpu" in each.devices and isolated.alone(
        lambda name=each.name: _is_usable(name), _PATIENCE_S, lambda cause, phase: False)]  # fmt: skip


def _is_usable(name: str) -> bool:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        f.returns(relax.matmul(*f, relax.const(numpy.ones((4, 4), "float32"))))
    try:
        rx.compile(module, partition=[name], strict_partition=True)
    except rx.RelaxError:
        return False
    return True


def has_vnni() -> bool:
    flags = Path("/proc/cpuinfo")
    return flags.exists() and "vnni" in flags.read_text()


def check(seed: int, index: int, codegens: Sequence[str], most_layers: int) -> Outcome:
    """Check one model, without a codegen and with each, at a random level for each."""
    isolated.enter(_ORACLE)
    drawn = quantized_models.draw(Random(f"{seed}:{index}"), most_layers, narrow=not has_vnni())
    wanted = quantized_models.expected(drawn)
    if any(each.tolerance > _LARGEST_SHARE * numpy.ptp(each.array) for each in wanted):
        return Outcome("undefined", "what it gives is as small as its steps")
    isolated.enter(_OURS)
    chance, taken = Random(f"levels {seed}:{index}"), {}
    for codegen in ("", *codegens):
        level, journal = chance.randrange(_LEVELS), rx.Journal()
        problem = _problem(drawn, wanted, codegen, level, journal)
        if problem:
            return Outcome("failed", f"{codegen or 'no codegen'} at -O{level}: {problem}; {drawn.description}")
        facts = [fact for fact in journal.facts if fact["kind"] == "partition"]
        taken[codegen] = sum(count for fact in facts for count in fact["matched"].values())
    return Outcome("agree", taken=taken)


def _problem(drawn: Any, wanted: Sequence[Any], codegen: str, level: int, journal: rx.Journal) -> str:
    """Return the problem, or an empty text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # parts that are declined
            module = rx.from_onnx(drawn.model)
            program = rx.compile(module, partition=[codegen] if codegen else (), opt_level=level, journal=journal)
        for array, each in zip(drawn.inputs, wanted, strict=True):
            found = numpy.from_dlpack(program["main"](array))
            if found.shape != each.array.shape or found.dtype != each.array.dtype:
                return f"{found.dtype} {found.shape}, expected {each.array.dtype} {each.array.shape}"
            off = numpy.abs(found - each.array)
            if not off.max(initial=0) <= each.tolerance:
                count = numpy.count_nonzero(~(off <= each.tolerance))
                return f"{count} of {off.size} elements are off, by {off.max():.4g}, more than {each.tolerance:.4g}"
    except (rx.RelaxError, rx.runtime.ArtifactError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _layers_that_fail(seed: int, index: int, codegens: Sequence[str]) -> tuple[int, Outcome]:
    """Return the smallest failing number of the first layers, and the outcome."""
    for count in range(1, quantized_models.MOST_LAYERS + 1):
        outcome = isolated.alone(partial(check, seed, index, codegens, count), _PATIENCE_S, died)
        if outcome.status == "failed":
            break
    return count, outcome


def show(seed: int, index: int, codegens: Sequence[str]) -> None:
    count, outcome = _layers_that_fail(seed, index, codegens)
    path = SAVED / f"quantized-{seed}-{index}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = quantized_models.draw(Random(f"{seed}:{index}"), count, narrow=not has_vnni())
    onnx.save(drawn.model, path)
    print(f"FAILED: --seed {seed} --case {index}: {outcome.problem}\n  saved as {path}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this many models")
    parser.add_argument("--seed", type=int, help="the same seed gives the same models")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, whose workers run the cases")
    parser.add_argument("--case", type=int, help="run this model of the seed and show it")
    options = parser.parse_args(argv)
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    codegens = usable()
    if options.case is not None:
        outcome = isolated.alone(
            lambda: check(seed, options.case, codegens, quantized_models.MOST_LAYERS), _PATIENCE_S, died
        )
        print(f"{outcome.status}: {outcome.problem}")
        if outcome.status == "failed":
            show(seed, options.case, codegens)
        return outcome.status == "failed"
    if options.seconds is None and options.cases is None:
        parser.error("how long? --seconds or --cases")
    return fuzz(seed, codegens, options.seconds, options.cases, options.jobs, options.scheduler)


def fuzz(
    seed: int,
    codegens: Sequence[str],
    seconds: float | None,
    cases: int | None,
    jobs: int,
    scheduler: str | None = None,
) -> int:
    statuses: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    failed: list[int] = []
    end = None if seconds is None else time.monotonic() + seconds
    queue: Iterator[tuple[Any, ...]] = (
        (seed, index, codegens, quantized_models.MOST_LAYERS) for index in range(cases or 10**12)
    )
    for (_, index, *_), outcome in cluster.run(
        *(cluster.Script("test/fuzz/quantized.py", "check"), queue, jobs, end, _PATIENCE_S, died),
        scheduler=scheduler,
        told=lambda sentence: print(sentence, file=sys.stderr),
    ):
        statuses[outcome.status] += 1
        taken.update(outcome.taken)
        if outcome.status == "failed":
            failed.append(index)
    counts = ", ".join(f"{statuses[name]} {name}" for name in ("agree", "undefined", "failed"))
    print(f"seed {seed}: {statuses.total()} models, {counts}")
    print(f"operators taken: {', '.join(f'{name} {taken[name]}' for name in codegens)}")
    for index in failed[:10]:
        show(seed, index, codegens)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
