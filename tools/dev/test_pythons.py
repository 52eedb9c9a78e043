# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a small part of the tests on the oldest and the newest available Python: version-dependent parts, some programs.

Pythons are searched on PATH and among pyenv's. Each has an environment of its own in build/pythons.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CLASSIFIER = re.compile(r'"Programming Language :: Python :: 3\.(\d+)"')
#: Tests that failed on one Python only, or that depend on differences between CPythons: names of comprehensions,
#: reference counts, forks with threads, messages of Python's parser; and programs of a few operators.
TESTS = """
test/python/bindings/test_handles.py
test/python/frontends/script/ssa/test_ssa_errors.py
test/python/frontends/script/test_script_errors.py
test/python/runtime/test_threads.py
test/python/support/test_callbacks.py
test/python/targets/test_winograd.py
test/python/test_module.py
""".split()
TIMEOUT_S = 1200


def supported() -> list[int]:
    """Return the supported minor versions, the oldest first, from the classifiers."""
    return sorted(map(int, CLASSIFIER.findall((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))))


def found(minor: int) -> str | None:
    """Return the command of CPython 3.minor, or None."""
    candidates = [shutil.which(f"python3.{minor}")]
    if pyenv := shutil.which("pyenv"):
        versions = Path(_printed(pyenv, "root"), "versions")
        candidates += [str(each) for each in sorted(versions.glob(f"3.{minor}.*/bin/python"), reverse=True)]
    ask = "import sys; print(sys.version_info[1])"
    return next((each for each in candidates if each and _printed(each, "-c", ask) == str(minor)), None)


def _printed(*command: str) -> str:
    """Return the output of a command, or "" if it fails, like pyenv's command for a version that is not selected."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return "" if ended.returncode else ended.stdout.strip()


def environment_of(minor: int) -> Path:
    return REPOSITORY / "build" / "pythons" / f"3.{minor}"


def installed(minor: int, command: str) -> int:
    """Create the environment of a version if needed, and return make's exit status."""
    venv = environment_of(minor).relative_to(REPOSITORY)
    make = ["make", "--no-print-directory", f"PYTHON={command}", f"VENV={venv}", "env"]
    return subprocess.run(make, cwd=REPOSITORY, check=False).returncode


def tested(minor: int, command: str) -> int:
    """Run the tests, and return their exit status."""
    if installed(minor, command):
        return 1
    venv = environment_of(minor)
    print(f"Python 3.{minor}: {' '.join(TESTS)}", flush=True)
    run = [str(venv / "bin" / "python"), "-m", "pytest", "-n", os.environ.get("JOBS", "2"), *TESTS]
    environment = {**os.environ, "RELAX_MLIR_DRAW": os.environ.get("RELAX_MLIR_DRAW", "1")}
    return subprocess.run(run, cwd=REPOSITORY, env=environment, timeout=TIMEOUT_S, check=False).returncode


def main() -> int:
    at_hand = {minor: command for minor in supported() if minor != sys.version_info[1] and (command := found(minor))}
    chosen = sorted({*list(at_hand)[:1], *list(at_hand)[-1:]})
    if not chosen:
        listed = ", ".join(f"3.{minor}" for minor in supported())
        print(f"no other Python of {listed} is on PATH or in pyenv: the tests ran on 3.{sys.version_info[1]} alone")
        return 0
    run = installed if sys.argv[1:] == ["--install"] else tested
    return max([run(minor, at_hand[minor]) for minor in chosen])


if __name__ == "__main__":
    sys.exit(main())
