# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversations with saved models by examples/cpp/chat.cpp, with the tokens and texts of `Model.generate`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import relax_mlir as rx
import tvm_ffi_orcjit
from relax_mlir_llm.model import Model
from tiny_models import VOCABULARY, tiny, write_gguf

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "cpp"
LOADER = str(tvm_ffi_orcjit._lib_path)
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
#: Positions, of which many at a time are worth several threads.
CONTEXT = 512
PROMPTS = ([2, 5, 7, 9, 100, 30, 31], [12], [200, 201, 202])

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.skipif(shutil.which("make") is None, reason="there is no make"),
    pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not installed"),
]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cpp")
    options = [f"OUT={folder}", f"PYTHON={sys.executable}", f"CXX={COMPILER}"]
    command = ["make", "-C", str(EXAMPLE), *options, f"{folder}/chat"]
    flags = {"CXXFLAGS": "-O0 -Wall -Werror"}
    done = subprocess.run(command, env={**os.environ, **flags}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "chat"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Path]:
    return make_model("llama", tmp_path_factory.mktemp("model"))


def make_model(architecture: str, folder: Path, kv: str = "f32") -> tuple[Model, Path]:
    """Return a model, and the folder where it is saved."""
    found = tiny(architecture)
    found = replace(found, metadata={**found.metadata, "context_length": CONTEXT})
    model = rx.llm.load(write_gguf(found, folder / "model.gguf"), kv=kv, cache=False)
    model.save(folder / "saved")
    return model, folder / "saved"


def run(*command: str | Path, prompts: Sequence[Sequence[object]] = ()) -> tuple[int, bytes, str]:
    text = "".join(f"{' '.join(map(str, each))}\n" for each in prompts)
    done = subprocess.run(list(map(str, command)), input=text.encode(), capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def answers(model: Model, prompts: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """Return the tokens of the answers in a conversation."""
    (end,) = model.tokenizer.ends
    said: list[int] = []
    found = []
    for prompt in prompts:
        generated = model.generate([*said, *prompt], most)
        list(generated)
        has_ended = len(generated.tokens) < most
        said += [*prompt, *generated.tokens, *([end] if has_ended else [])]
        found.append(generated.tokens)
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_conversation(chat: Path, saved: tuple[Model, Path], threads: int) -> None:
    check_conversation(chat, *saved, threads)


def test_conversation_with_windows_and_pages_of_i8(chat: Path, tmp_path: Path) -> None:
    check_conversation(chat, *make_model("gemma3", tmp_path, kv="i8"), threads=1)


def check_conversation(chat: Path, model: Model, folder: Path, threads: int) -> None:
    expected = answers(model, PROMPTS, 12)
    assert any(len(each) > 1 for each in expected)
    status, out, errors = run(chat, "--ids", LOADER, folder, "12", str(threads), prompts=PROMPTS)
    assert status == 0, errors
    assert [list(map(int, line.split())) for line in out.decode().splitlines()] == expected
    assert errors.count(" tokens/s\n") == len(PROMPTS)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list threads in /proc")
@pytest.mark.parametrize("threads", [1, 3])
def test_threads(chat: Path, saved: tuple[Model, Path], threads: int) -> None:
    command = [chat, "--ids", LOADER, saved[1], "2", str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{' 2' * (CONTEXT - 9)}\n".encode())
        process.stdin.flush()
        assert len(process.stdout.readline().split()) == 2
        assert len(os.listdir(f"/proc/{process.pid}/task")) == threads
        process.stdin.close()
        assert process.wait() == 0


def test_text(chat: Path, saved: tuple[Model, Path]) -> None:
    """Print the bytes of tokens; marks such as </s> have none. Lines without a number are no prompts."""
    model, folder = saved
    special, bytes_of = model.tokenizer.special, model.tokenizer.token_bytes
    expected = [
        b"".join(bytes_of(token) for token in tokens if token not in special)
        for tokens in answers(model, PROMPTS[:2], 12)
    ]
    status, out, errors = run(chat, LOADER, folder, "12", "1", prompts=[PROMPTS[0], [], PROMPTS[1]])
    assert (status, out) == (0, b"".join(each + b"\n" for each in expected)), errors


def test_end_of_the_context(chat: Path, saved: tuple[Model, Path]) -> None:
    model, folder = saved
    prompt = [number % 200 + 2 for number in range(CONTEXT - 3)]
    (expected,) = answers(model, [prompt], 100)
    status, out, errors = run(chat, "--ids", LOADER, folder, "100", "1", prompts=[prompt])
    assert status == 0, errors
    assert list(map(int, out.split())) == expected and len(expected) <= 4


@pytest.mark.parametrize(
    ("options", "prompt", "text"),
    [
        (("5", "1"), [VOCABULARY], f"the prompt has the token {VOCABULARY}, expected 0 to {VOCABULARY - 1}"),
        (("5", "1"), [-1], "'-1': expected a number from 0"),
        (("5", "1"), ["7x"], "'7x': expected a number from 0"),
        (("5", "1"), [2] * (CONTEXT + 1), f"the model has a context of {CONTEXT} tokens"),
        (("0", "1"), [2], "'0': expected a number from 1"),
        (("5", "999"), [2], "999 threads: expected a number from 1 to 256"),
    ],
)
def test_bad_input(
    chat: Path, saved: tuple[Model, Path], options: tuple[str, str], prompt: list[object], text: str
) -> None:
    status, out, errors = run(chat, LOADER, saved[1], *options, prompts=[prompt])
    assert (status, out) == (1, b"")
    assert errors.startswith("chat: ") and errors.endswith(f"{text}\n")


def test_folder_without_a_file(chat: Path, saved: tuple[Model, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(saved[1], tmp_path / "copy")
    (folder / "tokens.hex").unlink()
    status, _, errors = run(chat, LOADER, folder, "5", "1", prompts=PROMPTS)
    assert (status, errors) == (1, f"chat: {folder}/tokens.hex: cannot be read\n")
    (folder / "model.json").write_text("{")
    status, _, errors = run(chat, LOADER, folder, "5", "1", prompts=PROMPTS)
    assert (status, errors) == (1, f"chat: {folder}/model.json: damaged: save the model again\n")
    assert run(chat)[0] == 2
