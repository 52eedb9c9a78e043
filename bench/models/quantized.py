# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that rx.quantize quantizes, compiled, against onnxruntime with models that its own tools and NNCF quantize.

python bench/models/quantized.py build/models mlp resnet18 mobilenet_v2 bert vit --nncf build/env-quantize/bin/python

Each machine is a run of its own: AVX2, AVX-512 with VNNI, and AMX, as far as this CPU has them. Programs are compiled
for the machine, and `cpu_level.c` hides the other instruction sets from onnxruntime. Milliseconds of processor time on
one thread, the fastest of calls in turns. "dB" is the signal-to-noise ratio against the model in floating point, for
random inputs. The goal is 0.9 of onnxruntime's time with either model.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
from compare import onnxruntime_session, random_inputs
from relax_mlir.runtime import to_numpy
from runs import quantized
from zoo import ZOO, Exported

import relax_mlir as rx

GOAL = 0.9
#: Machines: the CPU that programs are compiled for, and the level of cpu_level.c or 0 for all that there is.
MACHINES = {"AVX2": ("x86-64-v3", 2), "VNNI": ("cascadelake", 3), "AMX": ("sapphirerapids", 0)}
_NNCF = """
import sys, logging, numpy, onnx, nncf
logging.getLogger("nncf").setLevel(logging.ERROR)
inputs = dict(numpy.load(sys.argv[2]))
kind = nncf.ModelType.TRANSFORMER if sys.argv[4] else None
onnx.save(nncf.quantize(onnx.load(sys.argv[1]), nncf.Dataset([inputs]), subset_size=1, model_type=kind), sys.argv[3])
"""
#: Models for which NNCF is told that they are transformers.
_TRANSFORMERS = ("bert", "gpt2", "llama", "vit")


def _of_nncf(python: str, source: Path, inputs: dict[str, Any]) -> Path:
    """Return the model that NNCF quantizes in an environment of its own."""
    path = source.with_name(f"{source.stem}_nncf.onnx")
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            numpy.savez(Path(folder, "inputs.npz"), **inputs)
            given = [str(source), str(Path(folder, "inputs.npz")), str(path)]
            given.append("transformer" if source.stem in _TRANSFORMERS else "")
            subprocess.run([python, "-c", _NNCF, *given], check=True, stdout=subprocess.DEVNULL)
    return path


def _times(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Return the milliseconds of the fastest call of each."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            for _ in range(2):
                begin = time.thread_time()
                call()
                found[name] = min(found[name], 1e3 * (time.thread_time() - begin))
    return found


def _snr(real: Any, other: Any) -> float:
    noise = float(((real - other).astype(float) ** 2).sum())
    return 10 * float(numpy.log10((real.astype(float) ** 2).sum() / noise)) if noise else float("inf")


def _first(results: Any) -> Any:
    return to_numpy(results[0] if isinstance(results, (list, tuple)) else results)


def measure(model: Exported, folder: Path, cpu: str, nncf: str | None, turns: int) -> float:
    """Print a model's row. Returns the ratio to onnxruntime's faster time."""
    source, inputs = folder / f"{model.name}.onnx", random_inputs(model, model.sizes[0])
    given, target = list(inputs.values()), f"llvm{{cpu={cpu}}}"
    module = rx.from_onnx(source)
    programs = {"float": rx.compile(module, target)}
    programs["int8"] = rx.compile(rx.quantize(module, [inputs], for_=target).module, target)
    for each in programs.values():
        each.threads = 1
    mains = {name: each["main"] for name, each in programs.items()}
    files = {"ort float": source, "ort": quantized(model, source)}
    if nncf is not None:
        files["NNCF"] = _of_nncf(nncf, source, inputs)
    sessions = {name: onnxruntime_session(path) for name, path in files.items()}
    real = sessions["ort float"].run(None, inputs)[0]
    calls: dict[str, Callable[[], Any]] = {name: lambda f=main: f(*given) for name, main in mains.items()}
    calls |= {name: lambda s=session: s.run(None, inputs) for name, session in sessions.items()}
    noise = {name: _snr(real, _first(call())) for name, call in calls.items() if "float" not in name}
    ms = _times(calls, turns)
    ratio = ms["int8"] / min(ms[name] for name in files if name != "ort float")
    shown = [f"{ms.get(name, float('nan')):9.2f}" for name in ("float", "int8", "ort float", "ort", "NNCF")]
    heard = [f"{noise.get(name, float('nan')):7.1f}" for name in ("int8", "ort", "NNCF")]
    print(f"{model.name:<14}{''.join(shown)}{ratio:8.2f}{''.join(heard)}", flush=True)
    return ratio


def _on_machine(name: str, arguments: Sequence[str]) -> int:
    """Run this script for one machine."""
    level = MACHINES[name][1]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RELAX_MLIR_MACHINE": name}
        if level:
            library = str(Path(folder, "cpu_level.so"))
            source = Path(__file__).with_name("cpu_level.c")
            subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
            environment |= {"LD_PRELOAD": library, "CPU_LEVEL": str(level)}
        return subprocess.run([sys.executable, __file__, *arguments], env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {model.name: model for model in ZOO}
    parser.add_argument("folder", type=Path, help="of the exported models")
    parser.add_argument("models", nargs="+", choices=sorted(known), metavar="model", help=", ".join(known))
    parser.add_argument("--machines", nargs="+", choices=list(MACHINES), default=list(MACHINES))
    parser.add_argument("--nncf", metavar="PYTHON", help="interpreter with nncf")
    parser.add_argument("--turns", type=int, default=20)
    given = parser.parse_args()
    machine = os.environ.get("RELAX_MLIR_MACHINE")
    if machine is None:
        return max(_on_machine(name, sys.argv[1:]) for name in given.machines)
    times = "".join(f"{name:>9}" for name in ("float", "int8", "ort f32", "ort", "NNCF"))
    print(f"{machine:<14}{times}{'ratio':>8}{'dB':>7}{'ort':>7}{'NNCF':>7}")
    cpu = MACHINES[machine][0]
    ratios = [measure(known[name], given.folder, cpu, given.nncf, given.turns) for name in given.models]
    return int(max(ratios) > GOAL)


if __name__ == "__main__":
    sys.exit(main())
