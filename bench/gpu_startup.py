# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How soon the first result of a saved program is there on a GPU, next to the driver's own start.

    python bench/gpu_startup.py          prints a row for each kind of code; where there is no device it says so
    python bench/gpu_startup.py --must   fails where there is no device

Each program, the digits' model, is loaded and called once in a process of its own that imports the runtime alone:
"driver" is until the device has a context, "load" until the program is there, "call" until its first result is on the
CPU; "first result" is the last two together. The goal is 0.3 s. Figures are the smallest of some runs.
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
#: How a program is compiled, by what it holds: without optimization there is PTX alone.
_LEVELS = {"PTX alone": 0, "machine code too": 2}


def seconds_of(path: Path) -> dict[str, float]:
    """Of this process, which has done nothing of it before."""
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
