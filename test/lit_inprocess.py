# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lit format that runs RUN lines without starting a Python per command, and the switch to real processes.

A test runs in a fork of lit's worker, which has the tools' modules loaded. A fork takes a millisecond where a start
takes a hundred, and a crash or an endless loop ends that test only. If lit_shell.py does not understand a line (unknown
commands), its test runs as real processes; `--param processes=1` does this for all tests.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import importlib
import os
import pkgutil
import re
import select
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import lit.formats
import lit.Test
import lit.TestRunner
import lit.util
from lit_shell import Line, Shell, parse_line

# Maximal output of a failing test's commands.
_SHOWN_OUTPUT = 20_000


class Tool(NamedTuple):
    """Command of RUN lines: as a function `run(argv, stdin, stdout, stderr) -> int`, and as a process."""

    function: str  # "module:function"; argv lacks the program's name, the streams are text with a .buffer
    command: str  # put in place of the name when the line runs as real processes


def configure(
    config: Any,
    lit_config: Any,
    tools: Mapping[str, Tool],
    preload: Sequence[str] = (),
    timeout_s: float = 600,
) -> None:
    """Set the format and the substitutions of a lit configuration. `preload` names what `_load` loads before tests."""
    substitutions = [(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", tools[name].command) for name in tools]
    config.substitutions.extend(substitutions)
    if lit.util.pythonize_bool(lit_config.params.get("processes", "0")) or not hasattr(os, "fork"):
        config.test_format = lit.formats.ShTest()
        return
    functions = {name: tool.function for name, tool in tools.items()}
    config.test_format = InProcessFormat(functions, preload, [name for name, _ in substitutions], timeout_s)


class InProcessFormat(lit.formats.FileBasedTest):
    """Format that runs `tool %s | FileCheck %s` and the like by calling the tools' functions."""

    def __init__(
        self,
        functions: Mapping[str, str],
        preload: Sequence[str],
        process_substitutions: Sequence[str],
        timeout_s: float,
    ):
        # Plain data only: lit pickles the format.
        self.functions = dict(functions)
        self.preload = tuple(preload)
        self.process_substitutions = frozenset(process_substitutions)
        self.timeout_s = timeout_s

    def execute(self, test: Any, lit_config: Any) -> lit.Test.Result:
        if test.config.unsupported:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "Test is unsupported")
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):
            return script
        if lit_config.noExecute:
            return lit.Test.Result(lit.Test.PASS)
        lines = self._lines(test, script)
        if lines is None or test.allowed_retries:
            return lit.TestRunner.executeShTest(test, lit_config, useExternalSh=False)
        commands = {name: _function(path) for name, path in self.functions.items()}
        _load(self.preload)
        timeout_s = test.config.maxIndividualTestTime or self.timeout_s
        return run_in_fork(lambda: run_script(lines, Shell(commands), test), timeout_s)

    def _lines(self, test: Any, script: list) -> list[Line] | None:
        """Return the RUN lines after substitution and parsing, or None if one of them needs real processes."""
        folder, base = lit.TestRunner.getTempPaths(test)
        substitutions = [
            (pattern, text)
            for pattern, text in lit.TestRunner.getDefaultSubstitutions(test, folder, base)
            if pattern not in self.process_substitutions
        ]
        conditions = {feature: True for feature in test.config.available_features}
        limit = test.config.recursiveExpansionLimit
        texts = lit.TestRunner.applySubstitutions(script, substitutions, conditions, recursion_limit=limit)
        lines = [parse_line(*_place_and_command(text), self.functions) for text in texts]
        understood = [line for line in lines if line is not None]
        return understood if len(understood) == len(lines) else None


def _place_and_command(text: str) -> tuple[str, str]:
    """Split lit's form of a line: `%dbg(RUN: at line 3) command`."""
    match = re.fullmatch(lit.TestRunner.kPdbgRegex, text)
    return (match[1], match[2].strip()) if match else ("RUN", text)


@functools.cache
def _load(names: tuple[str, ...]) -> None:
    """Import modules and packages (`package.*` with all modules in them), and call functions (`module:function`)."""
    for name in names:
        if ":" in name:
            _function(name)()
        elif name.endswith(".*"):
            package = importlib.import_module(name[:-2])
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)
        else:
            importlib.import_module(name)
    gc.freeze()  # forks do not search the shared objects for garbage


def _function(path: str) -> Callable[..., int]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def run_script(lines: Sequence[Line], shell: Shell, test: Any) -> int:
    """Run lines in the fork, with the test's log as standard output and error. Return the exit status."""
    folder = Path(lit.TestRunner.getTempPaths(test)[0])
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder.parent)  # where lit's own shell runs
    os.environ.clear()
    os.environ.update(test.config.environment)
    for line in lines:
        print(f"# {line.place}\n$ {line.text}", flush=True)
        status = shell.run(line.tree)
        if status:
            print(f"# error: exit status {status}", flush=True)
            return 1
    return 0


def run_in_fork(body: Callable[[], int], timeout_s: float) -> lit.Test.Result:
    """Call `body` in a child process. The test passes if `body` returns 0."""
    with tempfile.TemporaryFile() as log:
        done, done_in_child = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _become_test(body, log.fileno())
        os.close(done_in_child)
        try:
            # The child has the other end of the pipe: its end, for any reason, is an end of file.
            in_time = bool(select.select([done], [], [], timeout_s)[0])
        finally:
            os.close(done)
            if not in_time:
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        log.seek(0)
        output = log.read(_SHOWN_OUTPUT).decode(errors="replace")
    if not in_time:
        return lit.Test.Result(lit.Test.TIMEOUT, f"{output}\n# error: no result after {timeout_s} s")
    if code < 0:
        return lit.Test.Result(lit.Test.FAIL, f"{output}\n# error: crashed with {signal.Signals(-code).name}")
    return lit.Test.Result(lit.Test.FAIL if code else lit.Test.PASS, output)


def _become_test(body: Callable[[], int], log: int) -> NoReturn:
    """Run the test in the child, and never return into lit's worker, of which it is a copy."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        faulthandler.enable(os.dup(2))  # a copy: while a command runs, descriptor 2 is the command's
        status = body()
    except BaseException:  # also SystemExit: a tool returns its status, so any exception that leaves it is a bug
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def python_tool(module: str, script: str) -> str:
    """Return the command of one of this environment's tools: its script if it is installed, else the module."""
    path = Path(sys.executable).with_name(script)
    return shlex.quote(str(path)) if path.exists() else f"{shlex.quote(sys.executable)} -m {module}"
