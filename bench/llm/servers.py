# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Servers as processes: relax-serve, vLLM's, and llama.cpp's in the process of its worker."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
from workers import OURS, THEIRS, llama_cpp

__all__ = ["OURS", "THEIRS", "VLLM", "Server", "llama_cpp_server", "own_server", "vllm_server"]

VLLM = "vLLM"

#: Threads of each server, and seconds until a server must answer.
_THREADS, _PATIENCE = 2, 300


class Server(NamedTuple):
    """Running server."""

    address: str
    pid: int
    log: Path | None = None

    def memory(self) -> int:
        """Return the bytes that the process has in memory (Linux)."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        (line,) = (each for each in text.splitlines() if each.startswith("VmRSS"))
        return int(line.split()[1]) * 1024

    def errors(self) -> int:
        """Return the number of lines in the log that tell an error."""
        text = self.log.read_text(encoding="utf-8") if self.log is not None else ""
        return sum("Traceback" in line or "ERROR" in line or "error:" in line for line in text.splitlines())


@contextmanager
def own_server(model: Path, *options: str) -> Iterator[Server]:
    """Start relax-serve on a free port, and stop it at the end."""
    tool = Path(sys.executable).parent / "relax-serve"
    with _process([str(tool), str(model), f"--threads={_THREADS}", *options], {}) as server:
        yield server


@contextmanager
def vllm_server(python: Path, folder: Path, clients: int) -> Iterator[Server]:
    """Start vLLM's server on a folder of safetensors, with a slot for each client, and stop it at the end."""
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", f"--model={folder}"]
    chosen = {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": str(_THREADS),
        "VLLM_CPU_OMP_THREADS_BIND": f"0-{_THREADS - 1}",
        "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
    limits = [f"--max-num-seqs={clients}", "--max-model-len=1024"]
    with _process([*command, *limits], chosen) as server:
        yield server


@contextmanager
def _process(command: Sequence[str], variables: Mapping[str, str]) -> Iterator[Server]:
    """Run a command with a free port and more variables, wait until its server answers, and stop it at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as written:
            process = subprocess.Popen(
                [*command, f"--port={port}"],
                stdout=written,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process, log)
            yield Server(address, process.pid, log)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {log.read_text(encoding='utf-8')[-500:]}")
        try:
            if httpx.get(f"{address}/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"{address} does not answer after {_PATIENCE} s")


@contextmanager
def llama_cpp_server(python: Path, model: Path, clients: int) -> Iterator[Server]:
    """Start llama.cpp's server with a slot for each client."""
    with llama_cpp(python, model, _THREADS, context=1024, clients=clients) as worker:
        yield Server(worker.address, worker.pid)
