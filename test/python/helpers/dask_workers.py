# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dask scheduler and workers in processes of this machine, some of which lack packages or have another version."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

#: Lines of a worker's start that hide packages from it and from its processes.
WITHOUT_COMPILER = "import sys; sys.modules.update(dict.fromkeys(['mlir', 'torch_mlir', 'llvmlite']))"
WITHOUT_PACKAGE = "import sys; sys.modules['relax_mlir'] = None"
OTHER_VERSION = "import relax_mlir.support.version as version; version.VERSION = '0.0.9'"


class DaskCluster:
    """Scheduler and workers in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[str]] = []
        scheduler = self._start("scheduler", ("--host", "127.0.0.1", "--port", "0", "--no-dashboard"), "")
        log = scheduler.stderr
        assert log is not None
        line = next(line for line in log if "tcp://" in line)
        self.address = "tcp://" + line.rpartition("tcp://")[2].strip()
        # A full pipe would stop the scheduler.
        threading.Thread(target=log.read, daemon=True).start()

    def _start(self, kind: str, arguments: Sequence[str], startup: str) -> subprocess.Popen[str]:
        environment = dict(os.environ)
        if startup:
            place = self._folder / f"start{len(self._processes)}"
            place.mkdir()
            (place / "sitecustomize.py").write_text(startup)
            environment["PYTHONPATH"] = os.pathsep.join([str(place), environment.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self._processes.append(process)
        return process

    def add_worker(self, name: str = "", *, tag: str = "", startup: str = "") -> subprocess.Popen[str]:
        """Start a worker with a name and a tag. `startup` is a program that its processes begin with."""
        named = ["--name", name] if name else []
        tagged = ["--resources", f"{tag}=1"] if tag else []
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "240"]
        worker = self._start("worker", [self.address, *options, *named, *tagged], startup)
        assert worker.stderr is not None
        threading.Thread(target=worker.stderr.read, daemon=True).start()
        return worker

    def wait_for(self, count: int) -> None:
        """Wait until the scheduler knows a number of workers."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=240)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()


def spent(seconds: float) -> tuple[float, float]:
    """Sleep. Return the start and the end."""
    start = time.monotonic()
    time.sleep(seconds)
    return start, time.monotonic()
