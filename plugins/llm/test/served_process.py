# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command relax-serve in a process of its own."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx


@contextmanager
def server(
    *arguments: object, before: str = "", verify: ssl.SSLContext | bool = True
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run relax-serve in a process, after some code. Yield it, and a client of it."""
    start = f"{before}\nfrom relax_mlir_llm.serve import main; main()"
    command = [sys.executable, "-c", start, *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if " at http" in line)
        with httpx.Client(base_url=line.split()[-1], timeout=60, verify=verify) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
