# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes of this project and of llama.cpp that complete prompts, one JSON line per command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_HERE = Path(__file__).resolve().parent
OURS, THEIRS, NATIVE = "relax-mlir", "llama.cpp", "llama.cpp for this CPU"


class Worker:
    """Process with a loaded model."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        #: Address of the process's HTTP server, or nothing.
        self.address: str = self._answer()["address"]

    @property
    def pid(self) -> int:
        return self._process.pid

    def complete(self, prompt: str | Sequence[int], tokens: int) -> dict[str, Any]:
        """Return the greedy answer, and seconds: of the call, of the prompt, and of each further token."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"prompt": prompt, "tokens": tokens}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def peak_memory(self) -> int:
        """Return the most bytes in memory since the process started (Linux)."""
        text = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        (line,) = (each for each in text.splitlines() if each.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer
        raise RuntimeError(f"the worker ended with exit code {self._process.wait()}")

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


def own(model: Path, threads: int, context: int = 2048, activations: str = "f32") -> Worker:
    command = _command(sys.executable, "own_worker.py", model, threads)
    return Worker([*command, f"--context={context}", f"--activations={activations}"])


def llama_cpp(python: Path, model: Path, threads: int, context: int = 2048, clients: int = 1) -> Worker:
    command = _command(str(python), "llama_cpp_worker.py", model, threads)
    return Worker([*command, f"--context={context}", f"--clients={clients}"])


def native_llama_cpp(python: Path, model: Path, threads: int, context: int = 2048) -> Worker:
    return Worker([*_command(str(python), "native_worker.py", model, threads), f"--context={context}"])


def _command(python: str, script: str, model: Path, threads: int) -> list[str]:
    return [python, str(_HERE / script), str(model), f"--threads={threads}"]
