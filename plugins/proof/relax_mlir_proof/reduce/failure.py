# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interestingness test: runs a command to check for the failure. The command may crash, hang, or print without end."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from typing import IO

from relax_mlir.support.errors import OptionError
from relax_mlir.support.temporary import no_room, scratch_file, temporary_folder
from relax_mlir.tools.common.command_line import Arguments

_MOST_OUTPUT = 4 << 20
_EMPTY = "module {\n}\n"
_TIMED_OUT = "takes longer than --timeout"


class Failure:
    """Runs the command on modules. As a context manager it owns a temporary folder."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._message: str | None = arguments["message"]
        self._opened = contextlib.ExitStack()
        self._folder = self._opened.enter_context(temporary_folder("relax-reduce-"))
        self._expected = ""
        #: Number of runs of the command.
        self.runs = 0

    def __enter__(self) -> Failure:
        return self

    def __exit__(self, *exception: object) -> None:
        self._opened.close()

    def learn(self, text: str) -> None:
        """Record the failure of a module as the wanted one. Raise RelaxError if there is none."""
        how, printed = self._run(text)
        last = f"; it printed: {printed.strip().splitlines()[-1][:200]}" if printed.strip() else ""
        if self._arguments["script"] is not None and how != "0":
            raise OptionError(f"--script: for the input it ends with {how}, not with 0{last}")
        if self._arguments["test"] is not None and how == "0":
            raise OptionError("--test: the command does not fail for the input")
        if how in ("126", "127") and self._arguments["test"] is not None:
            raise OptionError(f"--test: the shell cannot run the command{last}")
        self._expected = how
        if self._message is not None and self._message not in printed:
            raise OptionError(f"--message: the command does not print '{self._message}' for the input{last}")
        if text != _EMPTY and self.is_in(_EMPTY):
            hint = "" if self._arguments["script"] is not None else ": --message distinguishes failures"
            raise OptionError(f"an empty module fails in the same way, so there is nothing to look for{hint}")

    def is_in(self, text: str) -> bool:
        """Check whether a module fails like the first one."""
        how, printed = self._run(text)
        return how == self._expected and (self._message is None or self._message in printed)

    def _run(self, text: str) -> tuple[str, str]:
        """Return the way in which the command ended, and its output."""
        self.runs += 1
        path = self._folder / "module.mlir"
        try:
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise no_room(error) from None
        with scratch_file() as output:
            how = self._end_of(str(path), output)
            output.seek(0)
            return how, output.read(_MOST_OUTPUT).decode("utf-8", "replace")

    def _end_of(self, path: str, output: IO[bytes]) -> str:
        try:
            # A session of its own makes it possible to end all child processes.
            process = subprocess.Popen(
                self._command(path),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise OptionError(f"--script: cannot run '{self._arguments['script']}': {error.strerror}") from None
        try:
            code = process.wait(self._arguments["timeout"])
        except subprocess.TimeoutExpired:
            return _TIMED_OUT
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return signal.Signals(-code).name if code < 0 else str(code)

    def _command(self, path: str) -> list[str]:
        if self._arguments["script"] is not None:
            return [os.path.abspath(self._arguments["script"]), path]
        return ["/bin/sh", "-c", self._arguments["test"].replace("%s", shlex.quote(path))]
