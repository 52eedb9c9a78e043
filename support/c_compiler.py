# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Use of the system's C compiler: search, version, compilation and error messages."""

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

#: Flags for linkable objects: position-independent code, one object per source file.
_ALWAYS = ("-std=c99", "-fPIC", "-c")
USUAL_FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-stack-protector")
#: Environment variables that C compilers read.
_HEARD = ("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")
_MOST_SECONDS = 600
_MOST_LINES = 12


def find_compiler(asked: str | None = None) -> list[str]:
    """Return the compiler command: `asked`, $CC, or cc. Raise RelaxError if the program is not found."""
    given = asked or os.environ.get("CC", "")
    command = shlex.split(given) or ["cc"]
    if (found := shutil.which(command[0])) is None:
        where = "option cc" if asked else "$CC" if given else "cc"
        raise RelaxError(f"this machine has no compiler of C: '{command[0]}' ({where}) is not found")
    return [found, *command[1:]]


def compiler_version(command: Sequence[str]) -> str:
    """Return the command, its `--version` text and relevant environment variables.

    Raise RelaxError if the command fails.
    """
    version = _run([*command, "--version"], None)
    return "\n".join([*command, version, *(os.environ.get(name, "") for name in _HEARD)])


def compile_objects(files: Mapping[str, str], command: Sequence[str], flags: Sequence[str]) -> list[bytes]:
    """Compile each .c file to an object, in order. Raise RelaxError with the compiler's message on failure."""
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
    """Compile the files except main.c to a shared library and load it into this process.

    `mode` is RTLD_GLOBAL if libraries that are loaded later call functions of this library. Raise RelaxError with the
    compiler's message on failure.
    """
    with temporary_folder("relax-c-") as folder:
        for name, file in files.items():
            (folder / name).write_bytes(file if isinstance(file, bytes) else file.encode())
        sources = [name for name in files if name.endswith((".c", ".S")) and name != "main.c"]
        _run([*command, "-std=c99", "-fPIC", "-shared", *flags, "-o", "program.so", *sources, "-lm"], folder)
        return ctypes.CDLL(str(folder / "program.so"), mode)


def _run(command: Sequence[str], folder: Path | None) -> str:
    """Run a command and return its standard output. Raise RelaxError if the command fails or times out."""
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
