# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Health of relax-serve under hostile requests: long prompts, large grammars, broken chats, idle connections.

    python bench/llm/hostile.py [MODEL] [--minutes 20] [--clients 4]

Streams of normal completions run all the time. A process of its own asks /health 20 times per second, each time by a
new connection. The result has the times of /health, the largest pauses of the streams, the memory of the server, and
the statuses and the longest time of each kind of request. The exit status is 1 for a /health above 100 ms, a memory
that grows, or a status that is not expected.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import random
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from servers import Server, own_server
from smollm2 import find_model

_STREAMS, _IDLE, _IDLE_SECONDS, _PAUSE = 2, 1100, 15.0, 0.05
#: Connections that are opened together, and the pause between groups: 1,100 at once are 0.25 s of work for any request.
_GROUP, _GROUP_PAUSE = 50, 0.1
_MOST_SECONDS, _MOST_GROWTH = 0.1, 1.1
#: Pages of keys and values. Requests fill all of them in the first half: later memory grows for other reasons.
_PAGES = 1024
#: Samples of the memory, of which the first half is the warm-up.
_SAMPLES = 20


class Hostile(NamedTuple):
    """Kind of request: path, statuses that are expected, and a body for a text that is new in each request."""

    path: str
    statuses: Sequence[int]
    body: Callable[[str], dict[str, Any]]


def _chat(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 8, **fields}


def _nested(text: str) -> str:
    for _ in range(5):
        text = f"({text}{{100}})"
    return text


def _choices(text: str, count: int) -> list[str]:
    return [f"{text}{number}" for number in range(count)]


def _properties(text: str) -> dict[str, Any]:
    return {"type": "object", "properties": {f"{text}{number}": {"type": "string"} for number in range(5000)}}


_CHAT, _TEXT = "/v1/chat/completions", "/v1/completions"
_BROKEN_ROLES = [{"role": role, "content": "a"} for role in ("assistant", "assistant", "tool", "system")]
_KINDS = {
    "normal chat": Hostile(_CHAT, [200], lambda text: _chat(f"hello {text}")),
    "prompt of 100 kB": Hostile(_TEXT, [400], lambda text: {"prompt": f"{text} " * 14_000, "max_tokens": 1}),
    "prompt of 30 kB": Hostile(_TEXT, [200, 400], lambda text: {"prompt": f"{text} " * 4_300, "max_tokens": 1}),
    "chat of 10 MB": Hostile(_CHAT, [413], lambda text: _chat(f"{text} " * 1_400_000)),
    "chat of 4 MB": Hostile(_CHAT, [400], lambda text: _chat(f"{text} " * 590_000)),
    "4 MB without spaces": Hostile(_CHAT, [400], lambda text: _chat(text[0] * 4_000_000)),
    "190,000 tokens": Hostile(_TEXT, [400], lambda text: {"prompt": [len(text)] * 190_000}),
    "190,000 objects": Hostile(_CHAT, [400], lambda text: {"messages": [{}] * 190_000}),
    "50,000 names": Hostile(_CHAT, [400], lambda text: {"messages": [{text: 1}] * 50_000}),
    "800,000 values": Hostile(_TEXT, [413], lambda text: {"prompt": [1] * 800_000}),
    "nested repetition": Hostile(_CHAT, [400], lambda text: _chat(guided_regex=_nested(text))),
    "2,000 choices": Hostile(_CHAT, [200], lambda text: _chat(guided_choice=_choices(text, 2000))),
    "20,000 choices": Hostile(_CHAT, [200, 400], lambda text: _chat(guided_choice=_choices(text, 20_000))),
    "start: start": Hostile(_CHAT, [400], lambda text: _chat(guided_grammar="start: start")),
    "ambiguous grammar": Hostile(
        _CHAT, [200, 400], lambda text: _chat(guided_grammar=f'start: s\ns: s s | s s s | "{text}" |')
    ),
    '{"$ref": "#"}': Hostile(_CHAT, [400], lambda text: _chat(guided_json={"$ref": "#"})),
    "schema of 5,000 properties": Hostile(_CHAT, [200, 400], lambda text: _chat(guided_json=_properties(text))),
    "refused messages": Hostile(_CHAT, [200, 400], lambda text: {"messages": _BROKEN_ROLES, "max_tokens": 1}),
    "unknown variables": Hostile(_CHAT, [200, 400], lambda text: _chat(chat_template_kwargs={text: [[text]] * 1000})),
    "unknown fields": Hostile(_CHAT, [200], lambda text: _chat(**{f"{text}{n}": n for n in range(5000)})),
    "128 answers": Hostile(_TEXT, [200, 429], lambda text: {"prompt": text, "n": 128, "max_tokens": 2}),
    "tokens of 4 MB": Hostile("/tokenize", [400], lambda text: {"prompt": text * 690_000}),
}  # fmt: skip


class Record:
    """Statuses and longest times of requests by kind, and the largest pause of the streams."""

    def __init__(self) -> None:
        self.statuses: dict[str, Counter[object]] = {name: Counter() for name in _KINDS}
        self.longest = dict.fromkeys(_KINDS, 0.0)
        self.pauses: list[float] = []
        self.memory: list[int] = []

    def unexpected(self) -> list[str]:
        """Return the kinds with statuses that are not expected."""
        return [name for name, kind in _KINDS.items() if set(self.statuses[name]) - set(kind.statuses)]


def _ask_health(address: str, results: Connection) -> None:
    """Time /health until the parent sends something. Send the times."""
    host, times = address.removeprefix("http://"), []
    while not results.poll(_PAUSE):
        start = time.perf_counter()
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - start if answer.status == 200 else 60.0)
        connection.close()
    results.send(times)


async def _hostile(address: str, seed: int, end: float, record: Record, names: Sequence[str]) -> None:
    draw = random.Random(seed)
    # A connection that waits for its next request may give way to one of the idle connections.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
        while time.monotonic() < end:
            name = draw.choice(names)
            kind = _KINDS[name]
            content = json.dumps(kind.body("".join(draw.choices("bcdfghjkl", k=6))))
            start = time.perf_counter()
            try:
                status: object = (await client.post(kind.path, content=content)).status_code
            except httpx.TransportError as error:
                status = type(error).__name__
            record.statuses[name][status] += 1
            record.longest[name] = max(record.longest[name], time.perf_counter() - start)


async def _stream(address: str, end: float, record: Record) -> None:
    body = {"prompt": "Once upon a time", "max_tokens": 1500, "ignore_eos": True, "stream": True}
    async with httpx.AsyncClient(base_url=address, timeout=300) as client:
        while time.monotonic() < end:
            async with client.stream("POST", "/v1/completions", json=body) as response:
                last = time.perf_counter()
                async for _ in response.aiter_lines():
                    now = time.perf_counter()
                    record.pauses.append(now - last)
                    last = now
                    if time.monotonic() > end:
                        break


async def _idle(address: str, end: float) -> None:
    """Open more connections than the server has, and send nothing."""
    host, _, port = address.removeprefix("http://").partition(":")
    while time.monotonic() < end:
        made: list[Any] = []
        for _ in range(_IDLE // _GROUP):
            opened = (asyncio.open_connection(host, int(port)) for _ in range(_GROUP))
            made += await asyncio.gather(*opened, return_exceptions=True)
            await asyncio.sleep(_GROUP_PAUSE)
        await asyncio.sleep(_IDLE_SECONDS)
        for number, each in enumerate(made):
            if not isinstance(each, BaseException):
                each[1].transport.abort()
            if number % _GROUP == 0:
                await asyncio.sleep(_GROUP_PAUSE)
        await asyncio.sleep(_IDLE_SECONDS)


async def _run(server: Server, options: argparse.Namespace) -> Record:
    record, end = Record(), time.monotonic() + 60 * options.minutes

    async def watch() -> None:
        for _ in range(_SAMPLES):
            await asyncio.sleep(60 * options.minutes / _SAMPLES)
            record.memory.append(server.memory())

    await asyncio.gather(
        watch(),
        _idle(server.address, end),
        *(_stream(server.address, end, record) for _ in range(_STREAMS)),
        *(_hostile(server.address, seed, end, record, options.only) for seed in range(options.clients)),
    )
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--only", nargs="*", choices=list(_KINDS), default=list(_KINDS), help="kinds of requests")
    parser.add_argument("--clients", type=int, default=4, help="hostile requests at a time")
    options = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 2 * _IDLE), hard), hard))
    with own_server(options.model or find_model(), f"--pages={_PAGES}") as server:
        context = multiprocessing.get_context("spawn")
        own, other = context.Pipe()
        asking = context.Process(target=_ask_health, args=(server.address, other), daemon=True)
        asking.start()
        record = asyncio.run(_run(server, options))
        own.send(None)
        times = own.recv()
        errors = server.errors()
    for name in options.only:
        counts = record.statuses[name]
        told = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items(), key=str))
        print(f"{name:28} {told or 'none':32} longest {record.longest[name]:.2f} s")
    half = _SAMPLES // 2
    growth = statistics.median(record.memory[half + half // 2 :]) / statistics.median(record.memory[half // 2 : half])
    shown = ", ".join(f"{each / 2**20:.0f}" for each in record.memory)
    print(
        f"/health: {len(times)} times, median {1e3 * statistics.median(times):.1f} ms, 99th percentile "
        f"{1e3 * _percentile(times, 0.99):.1f} ms, largest {1e3 * max(times):.1f} ms, "
        f"{sum(each > _MOST_SECONDS for each in times)} above {1e3 * _MOST_SECONDS:.0f} ms\n"
        f"streams: {len(record.pauses)} parts, 99th percentile of the pauses {_percentile(record.pauses, 0.99):.2f} s, "
        f"largest {max(record.pauses):.2f} s\n"
        f"MB of memory: {shown}\nerrors in the log: {errors}; unexpected statuses: {record.unexpected() or 'none'}",
        flush=True,
    )
    is_fine = max(times) <= _MOST_SECONDS and growth <= _MOST_GROWTH and not errors and not record.unexpected()
    return 0 if is_fine else 1


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


if __name__ == "__main__":
    sys.exit(main())
