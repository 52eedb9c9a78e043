# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of the model zoo through rx.from_torch and torch.compile, beside torch itself.

    python bench/torch_models.py                         all of test/pytorch/zoo
    python bench/torch_models.py --only Bert resnet      architectures with one of these in their names
    python bench/torch_models.py --inductor --onnx       beside Inductor and the way over ONNX, too

The benchmark runs in the environment of `suite.py torch`: build/env-torch/bin/python. Columns: seconds of export,
import, compilation and the first call; milliseconds per call, the least of several turns with the others; and the
difference of results from eager mode, relative to their largest value. Each is for static sizes, for dynamic sizes, and
for torch.compile.
"""

from __future__ import annotations

import argparse
import copy
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from relax_mlir_torch.compile.torch_compile import torch_backend

import relax_mlir as rx

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "pytorch"))
from model_zoo import ZOO, apart, built, dynamic_shapes, tensors_in

_TURNS, _SECONDS = 5, 0.1


def least(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the milliseconds per call of each, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(_TURNS):
        for name, call in calls.items():
            start, count = time.perf_counter(), 0
            while count == 0 or time.perf_counter() - start < _SECONDS:
                call()
                count += 1
            found[name] = min(found[name], (time.perf_counter() - start) / count * 1e3)
    return found


class Measured:
    """Figures of one model."""

    def __init__(self, name: str, peers: Sequence[str]):
        self.name, self.peers = name, peers
        self.case = built(name)
        self.model = self.case.model
        self.args, self.kwargs = self.case.args, dict(self.case.kwargs)
        with torch.no_grad():
            self.wanted = copy.deepcopy(self.model)(*self.args, **self.kwargs)

    def row(self) -> str:
        start = time.perf_counter()
        program = torch.export.export(self.model, self.args, self.kwargs, strict=False)
        exported = time.perf_counter()
        module = rx.from_torch(program)
        imported = time.perf_counter()
        executable = rx.compile(module, cache=False)
        compiled = time.perf_counter()
        main = executable["main"]
        with torch.no_grad():
            got = main(*self.args, **self.kwargs)
            first = time.perf_counter()
            errors = [apart(got, self.wanted), self._dynamic(), self._compiled()]
            calls = {"ours": lambda: main(*self.args, **self.kwargs), "eager": self._call(self.model), **self._peers()}
            times = least(calls)
        seconds = (exported - start, imported - exported, compiled - imported, first - compiled)
        cells = [f"{each:7.2f}" for each in seconds]
        cells += [f"{times['ours']:9.3f}", *(f"{times['ours'] / times[name]:7.2f}" for name in list(times)[1:])]
        cells += [f"{each:9.1e}" if each is not None else f"{'-':>9}" for each in errors]
        return f"{self.name:34}{len(program.graph.nodes):6}{''.join(cells)}"

    def _call(self, model: Callable[..., object]) -> Callable[[], object]:
        return lambda: model(*self.args, **self.kwargs)

    def _dynamic(self) -> float | None:
        shapes = dynamic_shapes(self.case)
        if shapes is None:
            return None
        module = rx.from_torch(self.model, self.args, self.kwargs, dynamic_shapes=shapes)
        return apart(rx.compile(module)["main"](*self.args, **self.kwargs), self.wanted)

    def _compiled(self) -> float:
        torch._dynamo.reset()
        self.by_compile = torch.compile(copy.deepcopy(self.model), backend=torch_backend, options={"fallback": "error"})
        return apart(self.by_compile(*self.args, **self.kwargs), self.wanted)

    def _peers(self) -> dict[str, Callable[[], object]]:
        found = {"torch.compile": self._call(self.by_compile)}
        if "inductor" in self.peers:
            inductor = torch.compile(copy.deepcopy(self.model))
            inductor(*self.args, **self.kwargs)
            found["inductor"] = self._call(inductor)
        if "onnx" in self.peers:
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/model.onnx"
                torch.onnx.export(self.model, self.args, path, kwargs=self.kwargs, dynamo=True, verbose=False)
                main = rx.compile(rx.from_onnx(path))["main"]
            given = tensors_in((self.args, self.kwargs))
            found["onnx"] = lambda: main(*given)
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="models with one of these in their names")
    parser.add_argument("--inductor", action="store_true", help="beside torch.compile as it is: needs a C++ compiler")
    parser.add_argument("--onnx", action="store_true", help="beside the same model by way of ONNX: needs onnxscript")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    peers = [name for name in ("inductor", "onnx") if getattr(options, name)]
    heads = "".join(f"{each:>7}" for each in ("export", "import", "comp.", "first"))
    ratios = "".join(f"{each:>7}" for each in ("/eager", "/t.c.", *(f"/{each[:5]}" for each in peers)))
    print(f"{'':34}{'nodes':>6}{heads}{'ms':>9}{ratios}{'static':>9}{'dynamic':>9}{'t.c.':>9}", flush=True)
    failed = 0
    for name in ZOO:
        if any(each in name for each in options.only):
            try:
                print(Measured(name, peers).row(), flush=True)
            except Exception as error:  # models, torch and peers may raise any error; the others are still measured
                failed += 1
                print(f"{name:34}{type(error).__name__}: {str(error).partition(chr(10))[0][:90]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
