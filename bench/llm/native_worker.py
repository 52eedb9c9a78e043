# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp built for this CPU as a process, one JSON command and answer per line: native_worker.py MODEL.

Needs the package llama-cpp-python (bench/models/llama-native.txt). `own_worker.py` has the same commands. With
`--requantize TYPE OUT` it writes the model in another type, for example Q4_0, and ends.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from typing import Any

import llama_cpp


def completed(model: llama_cpp.Llama, command: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of a greedy answer, and the seconds for the prompt and for each further token."""
    prompt = model.tokenize(command["prompt"].encode())
    model.reset()
    times = [time.perf_counter()]
    model.eval(prompt)
    tokens = [model.sample(temp=0, repeat_penalty=1)]
    times.append(time.perf_counter())
    while len(tokens) < command["tokens"]:
        model.eval(tokens[-1:])
        tokens.append(model.sample(temp=0, repeat_penalty=1))
    times.append(time.perf_counter())
    return {
        "text": model.detokenize(tokens).decode(errors="replace"),
        "seconds": times[2] - times[0],
        "prompt_seconds": times[1] - times[0],
        "prompt_tokens": len(prompt),
        "token_seconds": (times[2] - times[1]) / max(len(tokens) - 1, 1),
    }


def requantize(model: str, kind: str, out: str) -> None:
    """Write the model with weights of another type."""
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    parameters.allow_requantize = parameters.pure = True
    if llama_cpp.llama_model_quantize(model.encode(), out.encode(), ctypes.byref(parameters)):
        sys.exit(f"{model} was not written as {kind}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--requantize", nargs=2, metavar=("TYPE", "OUT"))
    options = parser.parse_args()
    if options.requantize:
        requantize(options.model, *options.requantize)
        return
    threads = {"n_threads": options.threads, "n_threads_batch": options.threads}
    model = llama_cpp.Llama(options.model, n_ctx=options.context, n_batch=512, verbose=False, **threads)
    print(json.dumps({"address": ""}), flush=True)
    for line in sys.stdin:
        print(json.dumps(completed(model, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
