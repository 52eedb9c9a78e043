# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This project as a process that reads one JSON command per line and writes one JSON answer: own_worker.py MODEL.

`llama_cpp_worker.py` has the same commands.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from relax_mlir_llm import Request, SamplingParameters

import relax_mlir as rx


def completed(model: Any, engine: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Return the greedy answer, and the seconds for the prompt and for each further token."""
    prompt = model.tokenizer.encode(command["prompt"])
    parameters = SamplingParameters(max_tokens=command["tokens"], temperature=0, ignore_eos=True)
    scheduler = rx.llm.Scheduler(engine, prefix_cache=False, max_batched_tokens=512, prefill_chunk=512)
    scheduler.add(Request(prompt, parameters))
    times, tokens = [time.perf_counter()], []
    while not scheduler.is_idle:
        for output in scheduler.step():
            tokens += [each.token for each in output.tokens]
            times += [time.perf_counter()] * len(output.tokens)
    return {
        "text": model.tokenizer.decode(tokens),
        "seconds": times[-1] - times[0],
        "prompt_seconds": times[1] - times[0],
        "prompt_tokens": len(prompt),
        "token_seconds": (times[-1] - times[1]) / max(len(tokens) - 1, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--activations", default="f32", choices=("f32", "i8"))
    options = parser.parse_args()
    model = rx.llm.load(options.model, context=options.context, activations=options.activations)
    model.threads = options.threads
    engine = model.engine(-(-options.context // model.description.page_size))
    print(json.dumps({"address": ""}), flush=True)
    for line in sys.stdin:
        print(json.dumps(completed(model, engine, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
