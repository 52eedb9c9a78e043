# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""/v1/embeddings: fields and errors, requests beside answers, broken connections, failures, whole servers."""

from __future__ import annotations

import base64
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from numpy import ndarray
from served_process import server
from served_text import TOKENIZER, SummingEngine, Texts, texts, wait_for
from test_serve_loop import send_raw
from tiny_models import CONTEXT, WIDTH, tiny, write_folder

openai = pytest.importorskip("openai", reason="the package openai is not installed")


@pytest.fixture(scope="module")
def served() -> Iterator[Texts]:
    with texts(hidden=SummingEngine()) as made:
        yield made


def state(text: str | list[int]) -> ndarray:
    """Return the hidden state of SummingEngine behind a text."""
    tokens = TOKENIZER.encode(text) if isinstance(text, str) else text
    return numpy.array([sum(tokens), len(tokens), tokens[-1]], numpy.float64)


def unit(vector: ndarray) -> ndarray:
    return vector / numpy.linalg.norm(vector)


def embeddings(answer: dict[str, object]) -> list[ndarray]:
    """Return the embeddings of an answer."""
    data = answer["data"]
    assert isinstance(data, list)
    assert [each["index"] for each in data] == list(range(len(data)))
    assert {each["object"] for each in data} == {"embedding"}
    return [numpy.array(each["embedding"]) for each in data]


LONG = "a long text of more tokens than a chunk, and than a page" * 3


@pytest.mark.parametrize(
    "given, items",
    [
        ("abc", ["abc"]),
        (["abc", LONG, "a"], ["abc", LONG, "a"]),
        ([5, 6, 7], [[5, 6, 7]]),
        ([[5, 6, 7], [9]], [[5, 6, 7], [9]]),
        (["abc", [5]], ["abc", [5]]),
        ([3] * 200, [[3] * 200]),  # as many tokens as the context
    ],
)
def test_forms_of_inputs(served: Texts, given: object, items: list[str | list[int]]) -> None:
    answer = served.post("embeddings", input=given).json()
    assert answer["object"] == "list" and answer["model"] == "tiny"
    for found, item in zip(embeddings(answer), items, strict=True):
        numpy.testing.assert_allclose(found, unit(state(item)), rtol=1e-6)
    count = sum(int(state(item)[1]) for item in items)
    assert answer["usage"] == {"prompt_tokens": count, "total_tokens": count}


def test_encodings_and_dimensions(served: Texts) -> None:
    (plain,) = embeddings(served.post("embeddings", input="abc", encoding_format="float", user="me").json())
    coded = served.post("embeddings", input="abc", encoding_format="base64").json()["data"][0]["embedding"]
    assert numpy.frombuffer(base64.b64decode(coded), "<f4").tolist() == plain.tolist()
    (cut,) = embeddings(served.post("embeddings", input="abc", dimensions=2).json())
    numpy.testing.assert_allclose(cut, unit(state("abc")[:2]), rtol=1e-6)


def test_the_mean() -> None:
    with texts(hidden=SummingEngine(), pooling="mean") as served:
        (found,) = embeddings(served.post("embeddings", input=LONG).json())
    tokens = TOKENIZER.encode(LONG)
    states = [state(tokens[: count + 1]) for count in range(len(tokens))]
    numpy.testing.assert_allclose(found, unit(numpy.mean(states, axis=0)), rtol=1e-6)


@pytest.mark.parametrize(
    "body, param, message",
    [
        ({}, "input", "the field input is missing"),
        ({"input": ""}, "input", "input has no tokens"),
        ({"input": []}, "input", "input has no tokens"),
        ({"input": ["a", ""]}, "input", "input has no tokens"),
        ({"input": {"text": "a"}}, "input", "expected a text, a list of tokens, or a list of these"),
        ({"input": [1.5]}, "input", "expected a text, a list of tokens, or a list of these"),
        ({"input": [-1]}, "input", "expected a text, a list of tokens, or a list of these"),
        ({"input": [[1], None]}, "input", "expected a text, a list of tokens, or a list of these"),
        ({"input": [100000]}, "input", "input has the token 100000, expected less than"),
        ({"input": "a" * 201}, "input", "input has 201 tokens, expected at most 200, the context of 'tiny'"),
        ({"input": ["a"] * 2049}, "input", "input has 2049 texts, expected at most 2048"),
        ({"input": "a", "encoding_format": "f16"}, "encoding_format", "expected one of float, base64"),
        ({"input": "a", "dimensions": 4}, "dimensions", "dimensions is 4, expected an integer from 1 to 3"),
        ({"input": "a", "dimensions": 0}, "dimensions", "expected an integer from 1 to 3"),
        ({"input": "a", "dimensions": "2"}, "dimensions", "expected an integer"),
        ({"input": "a", "truncate_prompt_tokens": 1}, "truncate_prompt_tokens", "is not supported"),
    ],
)
def test_bad_requests(served: Texts, body: dict[str, object], param: str, message: str) -> None:
    answer = served.post("embeddings", **body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert message in error["message"] and error["param"] == param and error["type"] == "invalid_request_error"


def test_other_models_and_methods(served: Texts) -> None:
    assert served.client.get("/v1/embeddings").status_code == 405
    answer = served.client.post("/v1/embeddings", json={"model": "huge", "input": "a"})
    assert answer.status_code == 404 and answer.json()["error"]["code"] == "model_not_found"


def test_texts_share_calls(served: Texts) -> None:
    engine = SummingEngine()
    with texts(hidden=engine, chunk=50) as made:
        embeddings(made.post("embeddings", input=["abcdefghij"] * 20).json())
        assert engine.calls == [50, 50, 50, 50]
        assert 'relax_embedded_tokens_total{model="tiny"} 200' in made.client.get("/metrics").text
        assert made.metrics.ends["stop"] == 1


def test_embeddings_and_answers_take_turns() -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=4) as served:
        served.engine.seconds = hidden.seconds = 0.002

        def embed(number: int) -> None:
            given = [f"text {number} " * 4, "abc", LONG]
            for found, item in zip(embeddings(served.post("embeddings", input=given).json()), given, strict=True):
                numpy.testing.assert_allclose(found, unit(state(item)), rtol=1e-6)

        def answer(number: int) -> None:
            text = f"answer {number} " * 4
            assert served.complete(text)["text"] == text

        with ThreadPoolExecutor(8) as pool:
            work = [pool.submit(each, number) for number in range(6) for each in (embed, answer)]
            wait_for(lambda: len(hidden.calls) > 5)
            # The event loop is free.
            assert served.client.get("/health").status_code == 200
            for each in work:
                each.result(60)
        # An answer did not wait for the end of all embeddings.
        assert served.scheduler.statistics.steps > 20 and len(hidden.calls) > 20
        served.check_empty()


def test_a_long_embedding_does_not_stop_answers() -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=1) as served, ThreadPoolExecutor(1) as pool:
        hidden.seconds = 0.02
        work = pool.submit(served.post, "embeddings", input=["a" * 190] * 3)
        wait_for(lambda: hidden.calls)
        assert served.complete("short")["text"] == "short"
        assert not work.done() and served.loop.active == 1
        hidden.seconds = 0.0
        assert work.result(30).status_code == 200


def test_a_broken_connection_cancels_embeddings() -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=1) as served:
        hidden.seconds = 0.01
        connection = send_raw(served, path="embeddings", input=["a" * 100] * 20)
        wait_for(lambda: len(hidden.calls) > 2)
        connection.close()
        wait_for(lambda: served.metrics.ends["cancelled"] == 1)
        assert len(hidden.calls) < 1000
        hidden.seconds = 0.0
        assert served.post("embeddings", input="abc").status_code == 200
        served.check_empty()


def test_a_failure_ends_only_the_embeddings_of_the_call() -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=1) as served, ThreadPoolExecutor(3) as pool:
        hidden.seconds = 0.02
        first = pool.submit(served.post, "embeddings", input="a" * 150)
        wait_for(lambda: hidden.calls)
        second = pool.submit(served.post, "embeddings", input="abc")
        answer = pool.submit(served.complete, "an answer")
        wait_for(lambda: served.loop.active >= 2)
        hidden.error = FloatingPointError("no numbers left")
        found = first.result(20)
        hidden.error, hidden.seconds = None, 0.0
        assert found.status_code == 500
        error = found.json()["error"]
        assert error["code"] == "engine_failed" and "FloatingPointError: no numbers left" in error["message"]
        assert second.result(20).status_code in (200, 500)  # its step may have failed, too
        assert answer.result(20)["text"] == "an answer"
        assert served.client.get("/health").status_code == 200
        assert served.post("embeddings", input="abc").status_code == 200


def test_numbers_that_are_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = SummingEngine()
    monkeypatch.setattr(hidden, "step", lambda step: numpy.full((step.selected.size, 3), numpy.nan, "f4"))
    with texts(hidden=hidden) as served:
        answer = served.post("embeddings", input="abc")
        assert answer.status_code == 500 and "not finite" in answer.json()["error"]["message"]


def test_a_full_queue_refuses_embeddings() -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=1, loop_options={"most_requests": 1}) as served, ThreadPoolExecutor(1) as pool:
        hidden.seconds = 0.02
        work = pool.submit(served.post, "embeddings", input="a" * 150)
        wait_for(lambda: hidden.calls)
        for path, body in (("embeddings", {"input": "a"}), ("completions", {"prompt": "say:a⏎"})):
            answer = served.post(path, **body)
            assert answer.status_code == 429 and "has 1 of at most 1 requests" in answer.json()["error"]["message"]
        hidden.seconds = 0.0
        assert work.result(20).status_code == 200


def test_the_end_of_the_server_ends_embeddings() -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=1, grace=0.1) as served, ThreadPoolExecutor(1) as pool:
        served.server.before_shutdown = served.loop.close  # type: ignore[method-assign]
        hidden.seconds = 0.05
        work = pool.submit(served.post, "embeddings", input="a" * 190)
        wait_for(lambda: hidden.calls)
        served.server.begin_stop()
        answer = work.result(20)
        assert answer.status_code == 503 and "the server has stopped" in answer.json()["error"]["message"]


def test_a_broken_scheduler_ends_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = SummingEngine()
    with texts(hidden=hidden, chunk=1) as served, ThreadPoolExecutor(1) as pool:
        hidden.seconds = 0.01
        work = pool.submit(served.post, "embeddings", input="a" * 190)
        wait_for(lambda: hidden.calls)

        def fail(*_: object) -> list[object]:
            raise ValueError("out of order")

        monkeypatch.setattr(served.scheduler, "step", fail)
        assert served.post("completions", prompt="a").status_code == 500
        answer = work.result(20)
        assert answer.status_code == 503 and "restart the server" in answer.json()["error"]["message"]
        assert served.post("embeddings", input="a").status_code == 503


def test_the_client_of_openai(served: Texts) -> None:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        # The client asks for base64 by itself, and decodes it.
        found = client.embeddings.create(model="tiny", input=["abc", LONG])
        for each, text in zip(found.data, ("abc", LONG), strict=True):
            numpy.testing.assert_allclose(each.embedding, unit(state(text)), rtol=1e-6)
        assert found.usage.total_tokens == int(state("abc")[1] + state(LONG)[1])
        found = client.embeddings.create(model="tiny", input=[[4, 5], [6]], encoding_format="float", dimensions=1)
        assert [each.embedding for each in found.data] == [[1.0], [1.0]]
        with pytest.raises(openai.BadRequestError, match="dimensions is 9") as refused:
            client.embeddings.create(model="tiny", input="a", dimensions=9)
        assert refused.value.param == "dimensions"


@pytest.mark.slow
def test_a_whole_server(tmp_path: Path) -> None:
    made = write_folder(tiny("llama"), tmp_path / "model")
    model = rx.llm.load(made, page_size=8, cache=False, embeddings=True)
    model.save(tmp_path / "saved")
    items = ["hello world", "x" * (CONTEXT - 1), "hello"]
    options = ("--page", "8", "--pages", "32", "--prefill-chunk", "16", "--max-seqs", "4", "--threads", "1")
    with (
        server(tmp_path / "saved", *options, "--name", "tiny", "--embeddings", "--pooling", "mean") as (
            process,
            client,
        ),
        openai.OpenAI(base_url=f"{client.base_url}/v1", api_key="none", max_retries=0) as theirs,
        ThreadPoolExecutor(6) as pool,
    ):
        body = {"prompt": "hello", "temperature": 0, "max_tokens": 30, "ignore_eos": True}
        alone = client.post("/v1/completions", json=body).json()["choices"]
        answers = [pool.submit(client.post, "/v1/completions", json=body) for _ in range(4)]
        found = [pool.submit(theirs.embeddings.create, model="tiny", input=items) for _ in range(4)]
        vectors = [[each.embedding for each in one.result(60).data] for one in found]
        assert all(each.result(60).json()["choices"] == alone for each in answers)
        expected = model.embed(items, pooling="mean")
        assert expected.shape == (3, WIDTH)
        for each in vectors:  # the same bits beside answers, by base64
            numpy.testing.assert_array_equal(numpy.array(each, "f4"), expected)
        too_long = client.post("/v1/embeddings", json={"input": "x" * (CONTEXT + 1)})
        assert too_long.status_code == 400 and too_long.json()["error"]["code"] == "context_length_exceeded"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None and process.stderr.read() == ""
