# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on devices: the tokens of the CPU, and pages that stay on the device from call to call.

Programs for cuda run on the emulator of GPUs, others where their drivers are. With RELAX_MLIR_DEVICES=1 tests fail
instead of being skipped (`suite.py devices`).
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from gpu_emulator.driver import EmulatedCuda
from relax_mlir import relax
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.runtime.devices.copies import Copies
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_llm import Model, Request, SamplingParameters, Scheduler, chat_tool
from served_process import server
from test_model import TOKENS, step
from tiny_models import VOCABULARY, tiny, wide, write_gguf

#: Targets for which pages stay on the device. For webgpu a call copies all arguments.
DEVICES = ("opencl", "vulkan")


@cache
def why_none(target: str) -> str:
    """Return the reason why no program of a target can run, or an empty text."""
    module = rx.Module()
    with module.function("main", [rx.tensor((1,))]) as f:
        f.returns(relax.exp(*f))
    try:
        rx.compile(module, target)["main"]
    except DeviceError as error:
        return str(error)
    return ""


def skip_without(target: str) -> None:
    if why_none(target):
        (pytest.fail if os.environ.get("RELAX_MLIR_DEVICES") == "1" else pytest.skip)(why_none(target))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tiny("llama"), tmp_path_factory.mktemp("llm") / "tiny.gguf", "Q8_0")


@pytest.fixture(scope="module")
def expected(path: Path) -> Model:
    return rx.llm.load(path, cache=False)


@pytest.fixture(scope="module", params=DEVICES)
def real(request: pytest.FixtureRequest, path: Path) -> Model:
    """Return a model on a device with a driver."""
    return loaded(path, request.param)


@cache
def loaded(path: Path, target: str) -> Model:
    skip_without(target)
    return rx.llm.load(path, target=target, cache=False)


@pytest.fixture(scope="module", params=["cuda", *DEVICES])
def model(request: pytest.FixtureRequest, path: Path) -> Iterator[Model]:
    """Yield a model on a device, or on the emulator of GPUs."""
    if request.param != "cuda":
        yield loaded(path, request.param)
        return
    device = EmulatedCuda()
    with use_library(device):
        yield rx.llm.load(path, target="cuda", cache=False)
    device.check()


class Copied:
    """Bytes of each copy to the device and from the device."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.up: list[int] = []
        self.down: list[int] = []
        upload, download = Copies.upload, Copies.download

        def counted_upload(copies: Copies, host: rx.runtime.Tensor) -> rx.runtime.Tensor:
            self.up.append(rx.runtime.to_numpy(host).nbytes)
            return upload(copies, host)

        def counted_download(copies: Copies, host: rx.runtime.Tensor, device: rx.runtime.Tensor) -> None:
            self.down.append(rx.runtime.to_numpy(host).nbytes)
            download(copies, host, device)

        monkeypatch.setattr(Copies, "upload", counted_upload)
        monkeypatch.setattr(Copies, "download", counted_download)


def close(found: numpy.ndarray, expected: numpy.ndarray) -> None:
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_step_copies_its_own_arrays_and_logits_only(
    model: Model, expected: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, copied = model.engine(4), Copied(monkeypatch)
    first, second = step(TOKENS[:3], 0, [2]), step(TOKENS[3:4], 3, [2])
    found = [engine.step(each) for each in (first, second)]
    close(numpy.concatenate(found), expected.logits(TOKENS[:4]))
    # The function without adapters takes the other arrays.
    assert copied.up == [array.nbytes for each in (first, second) for array in each[:-1]]
    assert copied.down == [3 * VOCABULARY * 4, VOCABULARY * 4]


def test_pages_grow_and_are_copied_on_the_device(
    model: Model, expected: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = model.engine(2)
    engine.step(step(TOKENS[:3], 0, [1]))
    copied = Copied(monkeypatch)
    engine.grow(5)
    engine.grow(3)
    assert engine.page_count == 5
    arrays = model.description.pages.arrays().values()
    # New pages are filled with zeros. The old ones are copied on the device.
    assert copied.up == [5 * int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize for shape, dtype in arrays]
    copied.up.clear()
    engine.copy_page(1, 4)
    assert not copied.up and not copied.down
    engine.step(step(TOKENS[30:31], 3, [1]))  # overwrites a place of the original page only
    close(engine.step(step(TOKENS[3:4], 3, [4])), expected.logits(TOKENS[:4])[3:])


def test_pages_that_do_not_exist(model: Model) -> None:
    engine = model.engine(2)
    with pytest.raises(IndexError, match="to has 2 rows, expected rows 2 to 3"):
        engine.copy_page(0, 2)


def test_more_pages_than_there_is_memory(model: Model, expected: Model) -> None:
    for each in (model, expected):
        text = rf"^{each.program.device} has no room for \d+ pages of keys and values: .*; use fewer pages, a shorter"
        with pytest.raises(rx.OptionError, match=text):
            each.engine(1 << 44)


@pytest.mark.parametrize("target", [*DEVICES, "webgpu"])
@pytest.mark.parametrize(
    ("architecture", "weights", "kv"), [("llama", "Q4_1", "f16"), ("qwen3", "Q4_K", "f32"), ("gemma3", "Q4_0", "i8")]
)
def test_greedy_tokens_of_weights_and_pages_of_few_bits(
    target: str, architecture: str, weights: str, kv: str, tmp_path: Path
) -> None:
    skip_without(target)
    made = wide(architecture) if weights == "Q4_K" else tiny(architecture)
    path = write_gguf(made, tmp_path / "tiny.gguf", weights)
    here, there = (rx.llm.load(path, target=each, kv=kv, cache=False) for each in ("llvm", target))
    found, wanted = there.logits(TOKENS), here.logits(TOKENS)
    numpy.testing.assert_allclose(found, wanted, rtol=1e-3, atol=2e-3 if kv == "f16" else 2e-4)
    answers = [each.generate(TOKENS[:9], 12) for each in (here, there)]
    assert "".join(answers[0]) == "".join(answers[1]) and answers[0].tokens == answers[1].tokens
    assert answers[0].tokens


def answers_of(model: Model, prompts: list[list[int]]) -> list[list[int]]:
    """Return the answers of a scheduler with few pages, which sequences share, copy, lose and compute again."""
    scheduler = Scheduler(model.engine(5), max_sequences=3, prefill_chunk=8, draft="ngram")
    requests = [Request(each, SamplingParameters(8, 0.0, ignore_eos=True)) for each in prompts]
    for each in requests:
        scheduler.add(each)
    found: dict[object, list[int]] = {each.id: [] for each in requests}
    while not scheduler.is_idle:
        for output in scheduler.step():
            found[output.request.id] += [each.token for each in output.tokens]
    return [found[each.id] for each in requests]


def test_a_scheduler_shares_and_copies_pages(real: Model, expected: Model) -> None:
    prompts = [TOKENS[:20], TOKENS[:20], [*TOKENS[:16], *TOKENS[30:36]], TOKENS[5:12]]
    assert answers_of(real, prompts) == answers_of(expected, prompts)


def test_the_tools(real: Model, expected: Model, tmp_path: Path) -> None:
    """Start relax-chat and relax-serve with a saved model of a device."""
    folder, target = tmp_path / "tiny.rxl", real.description.target
    real.save(folder)
    wanted = "".join(expected.chat([{"role": "user", "content": "hello"}], 6))
    out, errors = io.StringIO(), io.StringIO()
    arguments = [str(folder), "--target", target, "--prompt", "hello", "--max-tokens", "6"]
    assert chat_tool.run(arguments, io.StringIO(), out, errors) == 0, errors.getvalue()
    assert out.getvalue() == f"{wanted}\n"
    body = {"model": "tiny", "prompt": TOKENS[:9], "max_tokens": 6, "temperature": 0}
    with server(folder, "--target", target, "--pages", "16", "--name", "tiny") as (_, client):
        answer = client.post("/v1/completions", json=body)
        assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["text"] == "".join(expected.generate(TOKENS[:9], 6))
