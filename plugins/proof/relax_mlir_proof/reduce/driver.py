# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-reduce: reads a module, reduces it, and writes the smallest one, also when interrupted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TextIO

from relax_mlir import Module
from relax_mlir.dialects.parsing import BYTECODE_MAGIC, decode_source
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.files import write_whole
from relax_mlir.support.plugins import load_plugin
from relax_mlir.tools.common.command_line import Arguments, write_text
from relax_mlir.tools.common.guard import announce, kept_on_death
from relax_mlir.tools.opt.information import shows_information

from .failure import Failure
from .options import HELP_HEAD, OPTIONS, parse
from .search import OutOfTime, Search, module_text, operation_count


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code. Raise RelaxError."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-reduce", HELP_HEAD, OPTIONS, has_mlir=True):
        return 0
    return Driver(stdin, stdout, stderr).run(arguments)


class Driver:
    """One run of the tool on given streams."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self._is_verbose = False

    def run(self, arguments: Arguments) -> int:
        self._is_verbose = arguments["v"]
        for name in arguments["load-plugin"] or ():
            load_plugin(name)
        text = self._read(arguments.files[0], arguments["allow-unregistered-dialect"])
        with Failure(arguments) as failure:
            failure.learn(text)
            return self._reduce(text, failure, arguments)

    def _reduce(self, text: str, failure: Failure, arguments: Arguments) -> int:
        path, limit = arguments["o"], arguments["time-limit"]
        ended = ""
        data = text.encode("utf-8", "surrogateescape")
        # for the case that MLIR ends this process
        keeping = nullcontext() if path == "-" else kept_on_death(path, data, "output file")
        with keeping as kept:
            search = Search(
                failure,
                allow_unregistered=arguments["allow-unregistered-dialect"],
                deadline=None if limit is None else time.monotonic() + limit,
                found=lambda edit, smaller: self._found(edit, smaller, kept),
            )
            try:
                search.run(text)
            except OutOfTime:
                ended = ", and the time is up"
            except KeyboardInterrupt:
                ended = ", and it was interrupted"
        if path == "-":
            write_text(self.stdout, search.best)
        else:
            write_whole(path, search.best.encode("utf-8", "surrogateescape"))
        before, after = (operation_count(name, arguments["allow-unregistered-dialect"]) for name in (text, search.best))
        runs = f"{failure.runs} runs of the command"
        self.stderr.write(f"relax-reduce: note: {before} operations have become {after} in {runs}{ended}\n")
        return 1 if "interrupted" in ended else 0

    def _found(self, edit: str, text: str, kept: str | None) -> None:
        if kept is not None:
            write_whole(kept, text.encode("utf-8", "surrogateescape"))
        if self._is_verbose:
            self.stderr.write(f"{text.count(chr(10))} lines, by {edit}\n")
            self.stderr.flush()

    def _read(self, path: str, allow_unregistered: bool) -> str:
        """Return the module as this tool prints it, because candidates have this form."""
        try:
            if path == "-":
                data = self.stdin.buffer.read()
            else:
                with open(path, "rb") as file:
                    data = file.read()
        except OSError as error:
            raise RelaxError(f"cannot read {path}: {error.strerror}") from None
        name = "<stdin>" if path == "-" else path
        announce(f"reading {name}")
        source = data if data.startswith(BYTECODE_MAGIC) else decode_source(data, name)
        return module_text(Module.parse(source, name, allow_unregistered=allow_unregistered))
