# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search tuned kernels that come with the target llvm, on models that export.py has exported.

    python bench/models/tune_shipped.py build/models [model ...] [--trials 32] [--minutes 4]
    python bench/models/tune_shipped.py build/models [model ...] --measure

The search goes to build/models/tuned and continues there. Winners are measured a second time. Files with at most
0.95 of the default's time both times go to targets/llvm/tuned, their kernels to the tests. --measure only compares
whole models with and without the files of targets/llvm/tuned, in turns.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Callable, Sequence, Set
from pathlib import Path

from compare import random_inputs
from relax_mlir.compilation.schedules import until_rules
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.kernels.schedule.tuned_plans import TunedFolder, kernel_key
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir.targets.core.registry import parse_target
from relax_mlir_tune.tool import run
from zoo import ZOO, Exported

import relax_mlir as rx

TARGET = "llvm{cpu=x86-64-v3}"
#: A file that comes with the target takes at most this share of the default's time.
MOST_RATIO = 0.95
_REPOSITORY = Path(__file__).resolve().parents[2]
_SHIPPED = _REPOSITORY / "targets" / "llvm" / "tuned"
_KERNELS = _REPOSITORY / "test" / "python" / "passes" / "tuned_kernels"
_TURNS = 15


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", choices=[[], *(each.name for each in ZOO)])
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    chosen = [each for each in ZOO if not options.models or each.name in options.models]
    for model in chosen if not options.measure else ():
        search(options.folder / f"{model.name}.onnx", options.folder / "tuned", options.trials, options.minutes)
    print(f"{cpu_name()}, {TARGET}, one thread")
    print(f"{'model':<16}{'default ms':>12}{'tuned ms':>12}{'ratio':>8}{'kernels':>9}")
    for model in chosen:
        compare(model, options.folder)
    return 0


def search(path: Path, folder: Path, trials: int, minutes: float) -> None:
    """Tune the kernels of a model, measure winners again, and add the files of good ones to the target's."""
    common = [str(path), "--target", TARGET, "-o", str(folder)]
    run([*common, "--trials", str(trials), "--minutes", str(minutes), "-q"])
    replayed = io.StringIO()
    if run([*common, "--replay"], stdout=replayed) == 0:
        print(replayed.getvalue(), flush=True)
        rows = [line.split() for line in replayed.getvalue().splitlines()]
        good = {row[0] for row in rows if row[-1] == "kept" and float(row[1]) <= MOST_RATIO}
        ship(rx.from_onnx(path), TunedFolder(folder), good)


def ship(module: rx.Module, found: TunedFolder, good: Set[str]) -> None:
    """Write the files of a model's good kernels to the target's folder, and the kernels to the folder of the test."""
    chosen = parse_target(TARGET)
    machine = rx.find_backend(chosen.name).machine(chosen)
    lowered = rx.lower(module, TARGET, pipeline=until_rules(rx.stages(TARGET)))
    for function in prim_funcs_in(lowered.operation):
        kernel = found.find(kernel_key(function), machine)
        if kernel is not None and kernel.kernel in good and kernel.times.tuned <= MOST_RATIO * kernel.times.default:
            kernel.write(_SHIPPED)
            _KERNELS.mkdir(exist_ok=True)
            (_KERNELS / f"{kernel.key}.mlir").write_text(f"{function}\n", encoding="utf-8")


def compare(model: Exported, folder: Path) -> None:
    """Print the times of a whole model without tuned kernels and with them."""
    module = rx.from_onnx(folder / f"{model.name}.onnx")
    inputs = list(random_inputs(model, model.sizes[0]).values())
    programs: list[Callable[..., object]] = []
    for tuned in (False, None):
        program = rx.compile(module, TARGET, tuned=tuned)
        program.threads = 1
        programs.append(program["main"])
    turns = [[_seconds(program, inputs) for program in programs] for _ in range(_TURNS)]
    default, tuned_time = (statistics.median(each) * 1e3 for each in zip(*turns, strict=True))
    ratio = statistics.median(after / before for before, after in turns)
    count = str(rx.lower(module, TARGET, pipeline=rx.stages(TARGET).until("plan"))).count("rule tuned")
    print(f"{model.name:<16}{default:>12.2f}{tuned_time:>12.2f}{ratio:>8.3f}{count:>9}", flush=True)


def _seconds(program: Callable[..., object], inputs: Sequence[object]) -> float:
    """Return the least time of three calls."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        program(*inputs)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
