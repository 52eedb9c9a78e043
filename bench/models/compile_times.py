# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long it takes from a model's file to something that runs, and how much memory, against other compilers.

python bench/models/compile_times.py build/models [--peers=build/models/env-peers/bin/python] [name ...]

Whole processes, from start to end. Memory is the most that all processes of a measurement held at once, shared pages
counted once, sampled. `cold` begins with an empty cache, `cached` finds the program in it, `kernels` only
the code of its kernels, as where the model has changed a little. Python's bytecode is there, as in any installation.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_OURS = str(Path(sys.executable).with_name("relax-compile"))
_PEERS = Path(__file__).with_name("peers.py")
_NAMES = ("onnxruntime", "tvm", "iree")
_SAMPLE_SECONDS = 0.01
# Where nothing may be written, sources are compiled by each process anew.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Measured:
    seconds: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} ({self.megabytes:.0f})"


def main(folder: str, *arguments: str) -> int:
    peers = next((each.partition("=")[2] for each in arguments if each.startswith("--peers=")), "")
    names = [each for each in arguments if not each.startswith("--")]
    models = [Path(folder, f"{name}.onnx") for name in names] or sorted(Path(folder).glob("*.onnx"))
    columns = ["cold", "cached", "kernels", *(_NAMES if peers else ())]
    failures: list[str] = []
    print("seconds (peak MB)\n" + "model".ljust(22) + "".join(column.rjust(16) for column in columns))
    for model in models:
        print(model.stem.ljust(22), end="", flush=True)
        for cell in _row(model, peers, failures):
            print(cell.rjust(16), end="", flush=True)
        print()
    print("\n".join(["", "failed:", *failures]) if failures else "")
    return 0


def _row(model: Path, peers: str, failures: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        output, cache = os.path.join(folder, "model.rxa"), os.path.join(folder, "cache")
        ours = [_OURS, f"--cache-dir={cache}", "-o", output, str(model)]
        yield _output(ours, failures)
        os.unlink(output)  # else nothing would have to be written
        yield _output(ours, failures)
        os.unlink(output)
        for programs in Path(cache).glob("*/programs"):
            shutil.rmtree(programs)
        yield _output(ours, failures)
    for peer in _NAMES if peers else ():
        yield _output([peers, str(_PEERS), peer, str(model)], failures)


def _output(command: Sequence[str], failures: list[str]) -> str:
    try:
        return str(measured(command))
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.decode(errors="replace").splitlines() if "rror" in line]
        failures.append(f"{shlex.join(command[-2:])}: {lines[-1].strip()[:300] if lines else error}")
        return "failed"


def measured(command: Sequence[str]) -> Measured:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_ENVIRONMENT)
    memory = _Memory(process.pid)
    _, errors = process.communicate()
    seconds = time.perf_counter() - start
    memory.stop()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=errors)
    return Measured(seconds, memory.most / 1e6)


class _Memory(threading.Thread):
    """The most bytes that a process and those that it started held at once."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self._root = root
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            self.most = max(self.most, sum(map(_held, _family(self._root))))

    def stop(self) -> None:
        self._over.set()
        self.join()


def _family(root: int) -> list[int]:
    found = [root]
    for parent in found:
        try:
            found += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
        except (OSError, ValueError):
            continue  # it has ended
    return found


def _held(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
