# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The system's compiler of C: found, asked, its words kept."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import RelaxError
from .temporary import temporary_folder

#: Objects for the loader: position-independent, each file of a program by itself.
_ALWAYS = ("-std=c99", "-fPIC", "-c")
USUAL_FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-stack-protector")
#: Variables that compilers of C read.
_HEARD = ("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")
_MOST_SECONDS = 600
_MOST_LINES = 12


def find_compiler(asked: str | None = None) -> list[str]:
    """The command: what was asked for, $CC, or cc. Raises RelaxError where there is none."""
    given = asked or os.environ.get("CC", "")
    command = shlex.split(given) or ["cc"]
    found = shutil.which(command[0])
    if found is None:
        where = "option cc" if asked else "$CC" if given else "cc"
        raise RelaxError(f"this machine has no compiler of C: '{command[0]}' ({where}) is not found")
    return [found, *command[1:]]


def compiler_version(command: Sequence[str]) -> str:
    """What it says of itself, with what is set in the environment. Raises RelaxError where it says nothing."""
    version = _run([*command, "--version"], None)
    return "\n".join([*command, version, *(os.environ.get(name, "") for name in _HEARD)])


def compile_objects(files: Mapping[str, str], command: Sequence[str], flags: Sequence[str]) -> list[bytes]:
    """An object for each .c file, in their order. Raises RelaxError with the compiler's own words."""
    with temporary_folder("relax-c-") as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        sources = [name for name in files if name.endswith(".c")]
        for source in sources:
            _run([*command, *_ALWAYS, *flags, "-o", f"{source}.o", source], folder)
        return [(folder / f"{source}.o").read_bytes() for source in sources]


def load_library(
    files: Mapping[str, str | bytes], command: Sequence[str], flags: Sequence[str], mode: int = ctypes.DEFAULT_MODE
) -> ctypes.CDLL:
    """The files, without a main, as one library in this process; `mode` is RTLD_GLOBAL for functions that libraries
    behind it call. Raises RelaxError with the compiler's own words."""
    with temporary_folder("relax-c-") as folder:
        for name, held in files.items():
            (folder / name).write_bytes(held if isinstance(held, bytes) else held.encode())
        sources = [name for name in files if name.endswith((".c", ".S")) and name != "main.c"]
        _run([*command, "-std=c99", "-fPIC", "-shared", *flags, "-o", "program.so", *sources, "-lm"], folder)
        return ctypes.CDLL(str(folder / "program.so"), mode)


def _run(command: Sequence[str], folder: Path | None) -> str:
    """What it prints."""
    shown = shlex.join(command)
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_MOST_SECONDS
        )
    except OSError as error:
        raise RelaxError(f"{command[0]} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise RelaxError(f"{shown} took more than {_MOST_SECONDS} seconds") from None
    if done.returncode:
        words = done.stderr.strip().splitlines()
        said = "\n".join(words[:_MOST_LINES]) or f"exit code {done.returncode}"
        raise RelaxError(f"{shown}: {said}")
    return done.stdout
