# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Start of relax-compile before MLIR is loaded: the program may be cached already."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TextIO

from ...runtime.cpu import refused_features
from ...support.collector import uncollected
from ...support.disk_cache import DiskCache
from ..common.command_line import Arguments, write_text
from .model_programs import model_program
from .options import parse


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run relax-compile and return the exit code. Raise RelaxError for the user's errors."""
    begun = time.perf_counter()
    arguments = parse(argv)
    if arguments["clear-cache"] or arguments["cache-info"]:
        write_text(stdout, _clear(arguments) if arguments["clear-cache"] else _info(arguments))
        return 0
    code = _compile(arguments, begun, stdin, stdout, stderr)
    if code == 0 and arguments.files and not arguments["check"]:
        stderr.write(_note_on_machine(arguments["target"]))
    if arguments.is_output_chosen:
        stderr.write(f"relax-compile: note: written to {arguments['o']}; -o names another file\n")
    return code


def _compile(arguments: Arguments, begun: float, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    cache, program = None, None
    if arguments.files and not arguments["no-cache"]:
        cache = DiskCache(arguments["cache-dir"])
        program = model_program(arguments, cache)
    if program is not None and program.fetch():
        if arguments["v"]:
            stderr.write(f"{arguments['o']}: from the cache, {time.perf_counter() - begun:.3f} seconds\n")
        return 0
    with uncollected():  # many imports, and the process ends soon
        from .driver import CompileDriver

        return CompileDriver(stdin, stdout, stderr).run(arguments, cache, program)


def _note_on_machine(target: str) -> str:
    """Return a note on the assumed number of cores, or on features that this system refuses, or ""."""
    if "cpu=" not in target and "triple=" not in target:
        listed = ", ".join(sorted(refused_features())) if target.startswith("llvm") else ""
        return f"relax-compile: note: the code is without {listed}: the system refuses them\n" if listed else ""
    from ...targets.core.machine import ORDINARY_CORES
    from ...targets.core.registry import parse_target

    options = dict(parse_target(target).options)
    if "cores" in options or not options.keys() & {"cpu", "triple"}:
        return ""
    return f"relax-compile: note: the code is for {ORDINARY_CORES} cores: cores= is not given\n"


def _info(arguments: Arguments) -> str:
    cache = DiskCache(arguments["cache-dir"])
    if not cache.folder:
        return f"{cache.problem}\n"
    sizes = cache.sizes()
    total = sum(size for _, size in sizes.values())
    rows = [f"{kind:<10}{count:>8}{size / 1e6:>12.1f} MB" for kind, (count, size) in sizes.items()]
    head = f"{cache.folder}: {total / 1e6:.1f} MB of at most {cache.limit / 1e6:.0f} MB"
    return "\n".join([head, *rows]) + "\n"


def _clear(arguments: Arguments) -> str:
    cache = DiskCache(arguments["cache-dir"])
    total = sum(size for _, size in cache.sizes().values())
    cache.clear()
    return f"{cache.folder}: {total / 1e6:.1f} MB removed\n"
