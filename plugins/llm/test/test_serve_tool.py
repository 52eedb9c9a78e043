# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command relax-serve: options, errors, and whole servers in processes of their own."""

from __future__ import annotations

import io
import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_llm.sampling import with_logprobs
from relax_mlir_llm.serve.tool import parse_delay, run
from served_process import server
from served_text import wait_for
from test_lora import write_adapter
from tiny_models import tiny, write_folder

SMALL = ("--pages", "32", "--page", "8", "--prefill-chunk", "16", "--max-seqs", "4", "--threads", "1")


def failure(*arguments: object) -> str:
    """Return the message of a call that fails."""
    stream = io.StringIO()
    assert run([str(each) for each in arguments], stream) == 1
    text = stream.getvalue()
    assert text.startswith("relax-serve: error: ") and text.count("\n") == 1 and "Traceback" not in text
    return text


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--port", "70000"), "--port is 70000, expected a port from 0 to 65535"),
        (("--host", "no.such.host.invalid"), "cannot listen at no.such.host.invalid port 0"),
        (("--max-seqs", "0"), "--max-seqs is 0, expected at least 1"),
        (("--grace", "-1"), "--grace is -1.0, expected at least 0"),
        (("--grace", "nan"), "--grace is nan, expected at least 0"),
        (("--max-prompt", "0"), "--max-prompt is 0, expected at least 1"),
        (("--head-timeout", "nan"), "--head-timeout is nan, expected seconds above 0 and below a day"),
        (("--body-timeout", "0"), "--body-timeout is 0.0, expected seconds above 0"),
        (("--max-delay", "2"), "--max-delay is '2', expected a time such as 2ms or 0.5s"),
        (("--pooling", "mean"), "--pooling is mean, which needs --embeddings"),
        ((), "does not exist: pass a GGUF file"),
        (("--lora", "a"), "--lora is 'a', expected name=path"),
        (("--lora", "a=b", "--lora", "a=c"), "the name 'a' is used twice"),
    ],
)
def test_wrong_options(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in failure(tmp_path / "none", "--port", "0", *arguments)


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        message = failure(tmp_path / "none.gguf", "--port", port)
    assert f"cannot listen at 127.0.0.1 port {port}: " in message and "choose another --port" in message


def test_damaged_programs(tmp_path: Path) -> None:
    (tmp_path / "bad.rxa").write_bytes(b"nothing")
    assert "bad.rxa" in failure(tmp_path / "bad.rxa", "--port", "0")
    assert "none.rxa" in failure(tmp_path / "none.rxa", "--port", "0")


@pytest.mark.parametrize("text, seconds", [("2ms", 0.002), ("0.5s", 0.5), ("0ms", 0.0)])
def test_delays(text: str, seconds: float) -> None:
    assert parse_delay(text) == seconds


@pytest.mark.parametrize("text", ["", "ms", "1.2.3s", "-1s", "1m"])
def test_wrong_delays(text: str) -> None:
    with pytest.raises(rx.RelaxError, match="expected a time"):
        parse_delay(text)


def test_a_program_is_served_until_a_signal(tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 2))}) as f:
        (x,) = f
        f.returns(relax.add(x, x))
    rx.compile(module).save(tmp_path / "double.rxa")
    with server(tmp_path / "double.rxa", "--max-batch", "4", "--max-delay", "1ms") as (process, client):
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}
        answer = client.post("/v2/models/double/infer", json=body).json()
        assert answer["outputs"][0]["data"] == [2.0, 4.0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_idle_connections_do_not_use_up_the_descriptors(tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2,))}) as f:
        f.returns(*f)
    rx.compile(module).save(tmp_path / "same.rxa")
    few = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))"
    with server(tmp_path / "same.rxa", before=few) as (process, client), ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=10))
        assert client.get("/health").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_a_model_without_texts_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    rx.llm.load(write_folder(tiny("llama"), tmp_path / "model"), cache=False).save(folder)
    (folder / "tokenizer.json").unlink()  # as of a module that was loaded without a tokenizer
    assert "has no texts: pass tokens, or load the module with `tokenizer`" in failure(folder)


@pytest.mark.slow
def test_a_language_model_is_served_with_an_adapter(tmp_path: Path) -> None:
    write_adapter(tmp_path / "adapter")
    folder = write_folder(tiny("llama"), tmp_path / "model")
    options = (*SMALL, "--name", "tiny", "--lora", f"changed={tmp_path / 'adapter'}", "--draft", "ngram")
    with server(folder, *options) as (process, client):
        models = client.get("/v1/models").json()["data"]
        assert [(each["id"], each["parent"]) for each in models] == [("tiny", None), ("changed", "tiny")]

        def complete(model: str, number: int) -> dict[str, object]:
            body = {"model": model, "prompt": f"hello {number}", "temperature": 0, "max_tokens": 12, "ignore_eos": True}
            return client.post("/v1/completions", json=body).json()

        alone = {(name, n): complete(name, n)["choices"] for name in ("tiny", "changed") for n in range(4)}
        assert alone["tiny", 0] != alone["changed", 0]
        with ThreadPoolExecutor(8) as pool:
            shared = {key: pool.submit(complete, *key) for key in alone}
        # Answers do not depend on other requests, the prefix cache or drafts.
        assert {key: each.result()["choices"] for key, each in shared.items()} == alone
        tokens = [5, 60, 7, 60, 260, 9]
        scored = {"model": "tiny", "prompt": tokens, "echo": True, "logprobs": 0, "max_tokens": 1}
        answer = client.post("/v1/completions", json=scored).json()
        rows = rx.llm.load(folder, page_size=8, cache=False).logits(tokens)
        expected = [with_logprobs(token, row, 0).logprob for token, row in zip(tokens[1:], rows, strict=False)]
        assert answer["choices"][0]["logprobs"]["token_logprobs"][:-1] == [None, *expected]
        messages = [{"role": "user", "content": "hello"}]
        chat = client.post("/v1/chat/completions", json={"model": "tiny", "messages": messages, "max_tokens": 4})
        assert chat.status_code == 200
        refused = client.post(
            "/v1/chat/completions", json={"model": "tiny", "messages": [{"role": "tool", "content": ""}]}
        )
        assert refused.status_code == 400 and "chat template" in refused.json()["error"]["message"]
        schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}
        form = {"guided_json": {**schema, "additionalProperties": False}, "max_tokens": 50}
        answer = client.post("/v1/completions", json={"model": "tiny", "prompt": "hello", **form}).json()
        assert json.loads(answer["choices"][0]["text"]) in ({"a": True}, {"a": False})
        wait_for(lambda: 'relax_pages_used{model="tiny"} 0' in client.get("/metrics").text)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for option in ("--host", "--port", "--max-seqs", "--pages", "--page ", "--prefill-chunk", "--kv", "--draft",
                   "--activations", "--lora", "--api-key", "--name", "--threads", "--grace", "--max-batch",
                   "--max-delay", "--embeddings", "--pooling", "--max-prompt", "--max-grammar",
                   "--head-timeout", "--body-timeout", "--max-connections"):  # fmt: skip
        assert option in text
