#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a kernel of each kind on a GPU under NVIDIA's compute-sanitizer.

The checks find accesses out of bounds, races in shared memory, uninitialized reads, and barriers that some threads
miss.

    python tools/dev/gpu_checks.py               all checks; a missing tool is reported
    python tools/dev/gpu_checks.py racecheck     one of them
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from relax_mlir.targets.cuda.objects.wheels import sanitizer_path

_CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
_ROOT = Path(__file__).parents[2]
_CASES = (str(_ROOT / "bench" / "gpu.py"), "--small", "--must", "--turns", "1", "--peers", "none")
#: The tool's exit status after a finding.
_FOUND = 86
_MOST_SECONDS = 3600


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", metavar="check", help=f"of {', '.join(_CHECKS)}; else all")
    checks = parser.parse_args(given).checks or _CHECKS
    unknown = [each for each in checks if each not in _CHECKS]
    if unknown:
        parser.error(f"there is no check {unknown[0]!r}: {', '.join(_CHECKS)}")
    tool = shutil.which("compute-sanitizer") or sanitizer_path()
    if tool is None:
        print("kernels are not checked: compute-sanitizer is not installed (pip install nvidia-cuda-sanitizer-api)")
        return 0
    status = 0
    with ThreadPoolExecutor() as pool:  # each waits for a process
        for failed, text in pool.map(partial(_run, str(tool)), checks):
            print(text, flush=True)
            status = max(status, failed)
    return status


def _run(tool: str, check: str) -> tuple[int, str]:
    """Return 1 if the check fails, and the text to print."""
    command = [tool, "--tool", check, "--error-exitcode", str(_FOUND), sys.executable, *_CASES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_MOST_SECONDS)
    outcome = {0: "nothing found", _FOUND: "found something"}.get(done.returncode, f"fails with {done.returncode}")
    found = [done.stdout + done.stderr] if done.returncode else []
    return int(bool(found)), "\n".join([f"{check}: {outcome}", *found])


if __name__ == "__main__":
    sys.exit(main())
