# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and memory of whole processes from a model's file to a program, against other compilers.

    python bench/models/compile_times.py build/models [name ...]
        --peers=build/models/env-peers/bin/python    other compilers
        --beside=../before/.venv/bin/relax-compile   another state of this project, model by model in turns

Each cell has seconds by the clock, seconds of processor time of the main process, and MB: the maximum memory of all
processes at once, sampled, with shared pages counted once. The columns: `cold` begins with an empty cache, `cached`
finds the program in it, and `kernels` finds only the kernels. `edited` compiles the model with one column less in its
last matrix, with the kernels of the original in the cache. Python's bytecode is present, as in any installation.
"""

from __future__ import annotations

import os
import resource
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
_COLUMNS = ("cold", "cached", "kernels", "edited")
_PRODUCTS = ("Gemm", "MatMul")
_SAMPLE_SECONDS = 0.01
# Without this variable each process may write bytecode, and does not compile the sources again.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Measured:
    seconds: float
    processor: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} {self.processor:.2f} ({self.megabytes:.0f})"


def main(folder: str, *arguments: str) -> int:
    peers, beside = (_option(arguments, name) for name in ("--peers=", "--beside="))
    names = [each for each in arguments if not each.startswith("--")]
    models = [Path(folder, f"{name}.onnx") for name in names] or sorted(Path(folder).glob("*.onnx"))
    columns = [*_COLUMNS, *(_NAMES if peers else ())]
    failures: list[str] = []
    print("seconds, of processors (peak MB)\n" + "model".ljust(22) + "".join(column.rjust(20) for column in columns))
    for model in models:
        for command in filter(None, (_OURS, beside)):
            print((model.stem if command == _OURS else "  beside").ljust(22), end="", flush=True)
            for cell in _row(command, model, peers if command == _OURS else "", failures):
                print(cell.rjust(20), end="", flush=True)
            print()
    print("\n".join(["", "failed:", *failures]) if failures else "")
    return 0


def _option(arguments: Sequence[str], name: str) -> str:
    return next((each.removeprefix(name) for each in arguments if each.startswith(name)), "")


def _row(compiler: str, model: Path, peers: str, failures: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        output, cache = os.path.join(folder, "model.rxa"), Path(folder, "cache")
        ours = [compiler, f"--cache-dir={cache}", "-o", output]
        for column in _COLUMNS:
            if column in ("kernels", "edited"):
                for programs in cache.glob("*/programs"):
                    shutil.rmtree(programs)
            source = _edited(model, folder) if column == "edited" else str(model)
            yield _output([*ours, source], failures) if source else "no matrix"
            Path(output).unlink(missing_ok=True)  # otherwise nothing would have to be written
    for peer in _NAMES if peers else ():
        yield _output([peers, str(_PEERS), peer, str(model)], failures)


def _edited(model: Path, folder: str) -> str:
    """Return the path of a copy with one column less in the last weight matrix, or "" if no product has such a
    matrix."""
    import onnx
    from onnx import numpy_helper

    loaded = onnx.load(model)
    weights = {each.name: each for each in loaded.graph.initializer if len(each.dims) == 2}
    node = next(
        (each for each in reversed(loaded.graph.node) if each.op_type in _PRODUCTS and each.input[1] in weights), None
    )
    if node is None:
        return ""
    matrix, is_turned = weights[node.input[1]], any(each.name == "transB" and each.i for each in node.attribute)
    array = numpy_helper.to_array(matrix)
    matrix.CopyFrom(numpy_helper.from_array(array[:-1] if is_turned else array[:, :-1], matrix.name))
    for each in loaded.graph.initializer:
        if each.name in node.input[2:] and len(each.dims) == 1:
            each.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(each)[:-1], each.name))
    del loaded.graph.value_info[:]
    for output in loaded.graph.output:
        output.type.tensor_type.ClearField("shape")
    path = os.path.join(folder, "edited.onnx")
    onnx.save(loaded, path, save_as_external_data=True, location="edited.data")
    return path


def _output(command: Sequence[str], failures: list[str]) -> str:
    try:
        return str(measured(command))
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.decode(errors="replace").splitlines() if "rror" in line]
        failures.append(f"{shlex.join(command[-2:])}: {lines[-1].strip()[:300] if lines else error}")
        return "failed"


def measured(command: Sequence[str]) -> Measured:
    start, before = time.perf_counter(), _processor_seconds()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_ENVIRONMENT)
    memory = _Memory(process.pid)
    _, errors = process.communicate()
    seconds = time.perf_counter() - start
    memory.stop()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=errors)
    return Measured(seconds, _processor_seconds() - before, memory.most / 1e6)


def _processor_seconds() -> float:
    """Return the processor time of this process's ended children and their descendants."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _Memory(threading.Thread):
    """Sampler of the maximum memory of a process and its descendants."""

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
            continue  # the process has ended
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
