# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp as a process that reads one JSON command per line and writes one JSON answer: llama_cpp_worker.py MODEL.

Needs the package xllamacpp (bench/models/llm.txt). `own_worker.py` has the same commands.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import xllamacpp


def started(options: argparse.Namespace) -> Any:
    """Return a server in this process. It also listens to HTTP."""
    chosen = xllamacpp.CommonParams()
    chosen.model.path = options.model
    chosen.n_parallel = options.clients
    chosen.n_ctx = options.context * options.clients
    chosen.warmup = False
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = options.threads
    return xllamacpp.Server(chosen)


def completed(server: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of a greedy answer, and the seconds for the prompt and for each further token."""
    start = time.perf_counter()
    answer = server.handle_completions(
        {
            "prompt": command["prompt"],
            "max_tokens": command["tokens"],
            "temperature": 0,
            "cache_prompt": False,
            "ignore_eos": True,
        }
    )
    if "timings" not in answer:
        return {"error": str(answer)}
    times = answer["timings"]
    return {
        "text": answer["choices"][0]["text"],
        "seconds": time.perf_counter() - start,
        "prompt_seconds": times["prompt_ms"] / 1e3,
        "prompt_tokens": times["prompt_n"],
        "token_seconds": times["predicted_per_token_ms"] / 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--clients", type=int, default=1)
    options = parser.parse_args()
    server = started(options)
    print(json.dumps({"address": getattr(server, "listening_address", "")}), flush=True)
    for line in sys.stdin:
        print(json.dumps(completed(server, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
