# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of requests and connections: long prompts, slow clients, and more connections than the server allows."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread

import httpx
import pytest
from relax_mlir_llm.chat_template import ChatTemplate
from relax_mlir_llm.serve.connections import available_connections
from relax_mlir_llm.serve.http_app import State
from relax_mlir_llm.serve.limits import ServerLimits
from served_text import TOKENIZER, SayingEngine, Served, Texts, texts, wait_for
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

HEAD_SECONDS, BODY_SECONDS = 0.5, 1.5
LARGE = 1 << 26
BODY = b'{"model": "tiny", "prompt": "say:a\xe2\x8f\x8e", "max_tokens": 4}'
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    limits = ServerLimits(prompt=1000, head_seconds=HEAD_SECONDS, body_seconds=BODY_SECONDS, connections=20)
    with texts(limits=limits) as made:
        yield made


@contextmanager
def connected(served: Served) -> Iterator[socket.socket]:
    host, _, port = served.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as made:
        yield made


def answer_of(connection: socket.socket) -> tuple[bytes, float]:
    """Return what a server sends until it closes a connection, and the seconds until then."""
    start, found = time.monotonic(), b""
    with suppress(ConnectionResetError):  # the server closes without reading what the client has sent
        while part := connection.recv(1 << 16):
            found += part
    return found, time.monotonic() - start


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("completions", "prompt", "a" * 1001),
        ("completions", "prompt", ["a", "ä" * 501]),
        ("chat/completions", "messages", [{"role": "user", "content": "a" * 1001}]),
    ],
)
def test_a_long_prompt_is_refused_before_it_is_encoded(
    served: Texts, path: str, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    original = type(TOKENIZER).encode

    def encode(self: object, text: str, **options: object) -> list[int]:
        encoded.append(text)
        return original(TOKENIZER, text, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(TOKENIZER), "encode", encode)
    answer = served.post(path, **{name: value})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["param"], error["code"]) == (name, "context_length_exceeded")
    assert (
        "bytes, expected at most 1,000 for the 200 tokens of the context of 'tiny' (--max-prompt)" in error["message"]
    )
    assert all(len(text) < 100 for text in encoded)


def test_long_chats_are_refused_before_their_template(served: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("the template got a long chat")

    monkeypatch.setattr(ChatTemplate, "render", refuse)
    messages = [{"role": "user", "content": "a" * 501}, {"role": "assistant", "content": "b" * 500}]
    answer = served.post("chat/completions", messages=messages)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("messages has 1,001 bytes, expected at most 1,000")


def test_the_default_limit_follows_from_the_context() -> None:
    assert ServerLimits().prompt_bytes(100) == 64 << 10
    assert ServerLimits().prompt_bytes(100_000) == 1_600_000
    assert ServerLimits(prompt=5).prompt_bytes(100_000) == 5


def test_other_threads_run_while_a_long_text_is_encoded() -> None:
    text = "hello " * 60_000
    worst, is_over = 0.0, Event()

    def watch() -> None:
        nonlocal worst
        while not is_over.is_set():
            start = time.monotonic()
            time.sleep(0.002)
            worst = max(worst, time.monotonic() - start)

    watcher = Thread(target=watch)
    watcher.start()
    start = time.monotonic()
    tokens = TOKENIZER.backend.encode_batch_fast([text], add_special_tokens=False)[0].ids
    seconds = time.monotonic() - start
    worst = 0.0
    assert TOKENIZER.encode(text) == tokens
    is_over.set()
    watcher.join()
    assert worst < max(seconds / 2, 0.1)
    assert TOKENIZER.encode(text[:60]) == TOKENIZER.backend.encode(text[:60], add_special_tokens=False).ids


@pytest.mark.parametrize("begin", [b"", b"GET /heal", HEAD[:30]])
def test_a_head_that_does_not_end(served: Texts, begin: bytes) -> None:
    with connected(served) as client:
        client.sendall(begin)
        found, seconds = answer_of(client)
    assert found.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert found.endswith(b"the head of the request took longer than 0.5 seconds (--head-timeout)\n")
    assert HEAD_SECONDS * 0.8 < seconds < 5


def test_a_head_of_drops_has_no_longer_time(served: Texts) -> None:
    with connected(served) as client:
        start = time.monotonic()
        with pytest.raises(ConnectionError):
            for _ in range(100):
                client.sendall(b"G")
                time.sleep(0.05)
        assert time.monotonic() - start < 4


def test_a_body_that_does_not_end(served: Texts) -> None:
    with connected(served) as client:
        client.sendall(HEAD % len(BODY) + BODY[:-5])
        found, seconds = answer_of(client)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert b"the body of the request took longer than 1.5 seconds (--body-timeout)" in found
    assert BODY_SECONDS * 0.8 < seconds < 5
    wait_for(lambda: served.state.active == 0)


def test_a_second_request_has_its_own_time(served: Texts) -> None:
    with connected(served) as client:
        for _ in range(3):
            client.sendall(HEAD % len(BODY) + BODY[:10])
            time.sleep(HEAD_SECONDS * 0.6)
            client.sendall(BODY[10:])
            found = b""
            while not found.endswith(b"}}"):
                found += client.recv(1 << 16)
            assert found.startswith(b"HTTP/1.1 200 OK")
        client.sendall(b"GET /he")
        found, _ = answer_of(client)
    assert found.startswith(b"HTTP/1.1 408 ")


def test_idle_connections_give_way(served: Texts) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(served)) for _ in range(60)]
        for each in idle:
            each.sendall(b"GET /he")
        assert httpx.get(f"{served.url}/health", timeout=5).status_code == 200
        found, _ = answer_of(idle[0])
        assert found.startswith(b"HTTP/1.1 503 Service Unavailable") and b"the server has 20 connections" in found


def test_busy_connections_do_not_give_way() -> None:
    engine = SayingEngine()
    engine.seconds = 0.05
    with texts(engine, limits=ServerLimits(connections=2)) as served, ExitStack() as stack:
        busy = [stack.enter_context(connected(served)) for _ in range(2)]
        for each in busy:
            each.sendall(HEAD % len(BODY) + BODY)
        wait_for(lambda: served.state.active == 2)
        with connected(served) as client:
            found, _ = answer_of(client)
        assert b"the server has 2 connections, its --max-connections" in found
        assert all(each.recv(1 << 16).startswith(b"HTTP/1.1 200 OK") for each in busy)


def test_the_limit_of_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1024, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, values: limits.append(values))
    assert available_connections(500) == 500 and len(limits) == 1
    assert available_connections(1000) == 1000 and limits[-1] == (1256, 4096)
    assert available_connections(10_000) == 4096 - 256 and limits[-1] == (4096, 4096)


def test_kept_connections_give_way_without_an_answer() -> None:
    with texts(limits=ServerLimits(connections=3)) as served, ExitStack() as stack:
        kept = stack.enter_context(connected(served))
        kept.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_for(lambda: kept.recv(1 << 16, socket.MSG_PEEK).endswith(b"}"))
        assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
        for _ in range(3):
            stack.enter_context(connected(served))
        assert answer_of(kept)[0] == b""


def test_an_unread_answer() -> None:
    async def large(request: Request) -> Response:
        return PlainTextResponse("x" * LARGE)

    app = Starlette(routes=[Route("/", large)])
    served = Served(app, State(), 1.0, ServerLimits(body_seconds=0.5))
    with served.running(), connected(served) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(1.5)
        assert len(answer_of(client)[0]) < LARGE
        assert len(httpx.get(served.url).content) == LARGE
