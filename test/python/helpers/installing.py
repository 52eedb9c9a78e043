# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the tests that install the package: pyproject.toml, the wheel, commands in a clean environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[3]
PYPROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PACKAGE_DIR: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]


def run(*command: str | Path, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command without the environment of this process, or of the make above it."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAKE", "MFLAGS"))
    }
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == status, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def build_wheel(source: Path, out: Path) -> Path:
    """Build the wheel from a copy in the folder `source`: setuptools writes into the source folder and reuses
    build/."""
    for name in ("pyproject.toml", *PROJECT["license-files"], PROJECT["readme"]):
        shutil.copy(REPOSITORY / name, source / name)
    for folder in set(PACKAGE_DIR.values()):
        shutil.copytree(REPOSITORY / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    # Everything that a build needs is in the [test] extra, so nothing is downloaded.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out)]
    run(sys.executable, "-m", "pip", "wheel", *options, str(source), cwd=source)
    (built,) = out.iterdir()
    return built


def requirement_name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match, f"not a requirement: {requirement}"
    return normalized(match.group())


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
