# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time to the first result of a saved program on a GPU, beside the driver's own start-up time.

    python bench/gpu_startup.py          prints a row for each kind of code; reports a missing device
    python bench/gpu_startup.py --must   fails without a device

Each program, the digits' model, is loaded and called once in a separate process that imports only the runtime. "driver"
lasts until the device has a context, "load" until the program is loaded, "call" until its first result is on the CPU;
"first result" is the sum of the last two. The goal is 0.3 s. Figures are the smallest of some runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "digits.onnx"
_RUNS = 5
#: Optimization level by the program's contents: without optimization it contains only PTX.
_LEVELS = {"PTX alone": 0, "machine code too": 2}


def seconds_of(path: Path) -> dict[str, float]:
    """Return the times of this process, which has not used the driver before."""
    import numpy
    from relax_mlir.runtime import load
    from relax_mlir.runtime.cuda.driver import driver

    begun = time.perf_counter()
    driver().context(driver().device(0).handle)
    started = time.perf_counter()
    program = load(path)
    loaded = time.perf_counter()
    program.copying()["main"](numpy.zeros((1, 1, 8, 8), "float32"))
    return {"driver": started - begun, "load": loaded - started, "call": time.perf_counter() - loaded}


def row(what: str, found: Sequence[Mapping[str, float]]) -> str:
    best = {name: min(each[name] for each in found) for name in ("driver", "load", "call")}
    cells = [*best.values(), best["load"] + best["call"]]
    return f"{what:<20}" + "".join(f"{cell:13.3f}" for cell in cells)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--must", action="store_true", help="fail where there is no device")
    parser.add_argument("--of", type=Path, metavar="file", help="the figures of this program and process, as JSON")
    arguments = parser.parse_args(given)
    if arguments.of is not None:
        print(json.dumps(seconds_of(arguments.of)))
        return 0
    from relax_mlir.runtime.cuda.driver import driver
    from relax_mlir.runtime.errors import DeviceError

    import relax_mlir as rx

    try:
        device = driver().device(0)
    except DeviceError as error:
        print(f"nothing is measured: {error}")
        return 1 if arguments.must else 0
    print(f"{device.name} ({device.arch}), seconds")
    print(f"{'':<20}" + "".join(f"{name:>13}" for name in ("driver", "load", "call", "first result")), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "digits.rxa")
        for what, level in _LEVELS.items():
            rx.compile(rx.from_onnx(_DIGITS), f"cuda{{arch={device.arch}}}", opt_level=level).save(path)
            print(row(what, [_in_a_process(path) for _ in range(_RUNS)]), flush=True)
    return 0


def _in_a_process(path: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--of", str(path)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
