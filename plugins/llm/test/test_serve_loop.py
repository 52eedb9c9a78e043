# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests over time: many at once, broken connections, failures of the engine, full queues, and the end."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import numpy
import pytest
from relax_mlir_llm.scheduler import Scheduler
from served_text import SayingEngine, Texts, texts, wait_for


def small_engine() -> SayingEngine:
    """Return an engine with pages for a few answers only: sequences are preempted."""
    return SayingEngine(page_count=48, page_size=4, context=180)


def test_sixteen_clients_get_their_own_answers() -> None:
    with texts(small_engine(), max_sequences=8, prefill_chunk=8, max_batched_tokens=32) as served:

        def ask(number: int) -> None:
            text = f"answer {number} " * 3
            if number % 2:
                assert served.complete(text)["text"] == text
                return
            events = served.stream("completions", prompt=f"say:{text}⏎", max_tokens=100)
            assert "".join(event["choices"][0]["text"] for event in events) == text

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(ask, range(48)))
        assert served.scheduler.statistics.steps < 48 * 40  # answers shared steps


def send_raw(served: Texts, path: str = "completions", **body: object) -> socket.socket:
    """Send a request by hand, and return the open connection."""
    address = urlsplit(served.url)
    limit = {"max_tokens": 150} if path == "completions" else {}
    content = json.dumps({"model": "tiny", **limit, **body}).encode()
    connection = socket.create_connection((str(address.hostname), int(address.port or 0)))
    head = f"POST /v1/{path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(content)}\r\n\r\n"
    connection.sendall(head.encode() + content)
    return connection


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_broken_connection_cancels_its_request(is_stream: bool) -> None:
    with texts(SayingEngine(page_count=200, context=400)) as served:
        served.engine.seconds = 0.02
        connection = send_raw(served, prompt=f"say:{'a' * 140}⏎", stream=is_stream, n=2)
        wait_for(lambda: served.scheduler.statistics.tokens > 2)
        other = threading.Thread(target=served.complete, args=("other",))
        other.start()
        connection.close()
        wait_for(lambda: served.metrics.ends["cancelled"] == 2)
        other.join(20)
        assert served.metrics.ends["stop"] == 1
        served.check_empty()
        assert served.scheduler.statistics.tokens < 200  # both answers would have 280


def test_a_client_that_leaves_before_the_first_token() -> None:
    with texts(max_sequences=1) as served:
        served.engine.seconds = 0.05
        first = send_raw(served, prompt=f"say:{'a' * 60}⏎")
        wait_for(lambda: served.scheduler.statistics.running == 1)
        second = send_raw(served, prompt="say:b⏎", stream=True)  # waits for the first one
        wait_for(lambda: served.loop.active == 2)
        second.close()
        wait_for(lambda: served.loop.active == 1)
        first.close()
        served.check_empty()
        assert served.metrics.ends["cancelled"] == 2


def test_random_broken_connections_lose_no_page() -> None:
    random = numpy.random.default_rng(7)
    with texts(small_engine(), max_sequences=6, prefill_chunk=8, max_batched_tokens=16, draft="ngram") as served:
        served.engine.seconds = 0.001

        def ask(number: int) -> None:
            kept = int(random.integers(0, 12))
            body = {"prompt": f"say:{'abc ' * 20}⏎", "max_tokens": 90, "stream": bool(number % 3)}
            connection = send_raw(served, **body)
            connection.settimeout(10)
            for _ in range(kept):
                if not connection.recv(32):
                    break
            connection.close()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(40)))
        served.check_empty()
        assert served.complete("after")["text"] == "after"


def test_a_failure_of_the_engine_ends_its_requests_only() -> None:
    with texts(max_sequences=2) as served:
        served.engine.seconds = 0.01
        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(served.post, "completions", prompt=f"say:{'x' * 90}⏎", max_tokens=95)]
            stream = pool.submit(served.stream, "completions", prompt=f"say:{'y' * 90}⏎", max_tokens=95)
            wait_for(lambda: served.scheduler.statistics.running == 2)
            waiting = pool.submit(served.post, "completions", prompt="say:later⏎")
            wait_for(lambda: served.loop.active == 3)
            served.engine.error = FloatingPointError("no numbers left")
            answer = running[0].result(20)
            served.engine.error = None
            assert answer.status_code == 500
            error = answer.json()["error"]
            assert error["type"] == "server_error" and "no numbers left" in error["message"]
            assert "no numbers left" in stream.result(20)[-1]["error"]["message"]
            found = waiting.result(20)
        # The request that waited may have been admitted while the engine still failed.
        assert found.status_code in (200, 500)
        assert served.complete("again")["text"] == "again"
        assert served.client.get("/health").status_code == 200
        served.check_empty()


def test_a_scheduler_that_always_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Scheduler) -> list[object]:
        raise ValueError("out of order")

    with texts() as served:
        monkeypatch.setattr(Scheduler, "step", fail)
        assert served.post("completions", prompt="a").status_code == 500
        wait_for(lambda: not served.loop.is_alive)
        assert served.client.get("/health").json() == {"status": "failed"}
        answer = served.post("completions", prompt="a")
        assert answer.status_code == 503 and "restart the server" in answer.json()["error"]["message"]


def test_a_full_queue_is_refused() -> None:
    with texts(loop_options={"most_requests": 3}) as served:
        answer = served.post("completions", prompt="say:a⏎", n=4)
        assert answer.status_code == 429 and answer.headers["retry-after"] == "1"
        error = answer.json()["error"]
        assert error["code"] == "queue_full" and "has 0 of at most 3 requests" in error["message"]
        assert served.post("completions", prompt="say:a⏎", n=3, stream=False).status_code == 200
        assert served.client.post("/v1/completions", json={**OVER, "stream": True}).status_code == 429


OVER = {"model": "tiny", "prompt": "say:a⏎", "n": 4}


def test_the_key_is_needed_under_v1_only() -> None:
    with texts(key="secret") as served:
        assert served.client.get("/health").status_code == 200
        assert served.client.get("/metrics").status_code == 200
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "secret"}):
            answer = served.client.get("/v1/models", headers=headers)
            assert answer.status_code == 401 and answer.json()["error"]["code"] == "invalid_api_key"
        assert served.client.get("/v1/models", headers={"Authorization": "Bearer secret"}).status_code == 200


def test_a_graceful_stop_lets_running_requests_end() -> None:
    with texts() as served:
        served.engine.seconds = 0.02
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(served.complete, "a long answer of forty characters, yes!!")
            wait_for(lambda: served.scheduler.statistics.running == 1)
            served.server.begin_stop()
            answer = served.post("completions", prompt="say:a⏎")
            assert answer.status_code == 503 and answer.json()["error"]["code"] == "stopping"
            assert served.client.get("/health").status_code == 503
            assert running.result(20)["text"] == "a long answer of forty characters, yes!!"
        served.thread.join(20)
        assert not served.thread.is_alive()
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{served.url}/health")


@pytest.mark.parametrize("is_twice", [False, True])
def test_the_end_of_the_grace_period_ends_requests(is_twice: bool) -> None:
    with texts(grace=60.0 if is_twice else 0.1) as served:
        served.engine.seconds = 0.05
        served.server.before_shutdown = served.loop.close  # type: ignore[method-assign]
        with ThreadPoolExecutor(2) as pool:
            whole = pool.submit(served.post, "completions", prompt=f"say:{'a' * 90}⏎", max_tokens=95)
            stream = pool.submit(served.stream, "completions", prompt=f"say:{'b' * 90}⏎", max_tokens=95)
            wait_for(lambda: served.scheduler.statistics.tokens > 4)
            served.server.begin_stop()
            if is_twice:
                served.server.begin_stop()
            answer = whole.result(20)
            assert answer.status_code == 503 and "the server has stopped" in answer.json()["error"]["message"]
            assert "the server has stopped" in stream.result(20)[-1]["error"]["message"]
        served.check_empty()
