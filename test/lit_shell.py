# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small shell of the in-process lit format: pipes, redirections, `&&`, `not`, tools as functions.

Like a real shell it gives each command its files as the file descriptors 0, 1 and 2, so that output of C++ code is
captured in the right order. Unlike a real shell it runs the commands of a pipe one by one.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple, NoReturn

import lit_builtins
from lit.ShCommands import Command, GlobItem, Pipeline, Seq
from lit.ShUtil import ShParser

# Maximal length of a failing command's input in the message.
_SHOWN_INPUT = 8_000

# Timeout of a command in a process of its own.
_TIMEOUT_S = 600

_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
_OPEN_MODES = {"<": "rb", ">": "wb", ">>": "ab", "&>": "wb"}


class Line(NamedTuple):
    """RUN line: its location, its text, its parsed form."""

    place: str
    text: str
    tree: Any


def parse_line(place: str, text: str, tools: Container[str]) -> Line | None:
    """Parse a line. Return None if it is empty, malformed or uses a feature that this shell lacks."""
    if "%{readfile:" in text:  # lit's own shell reads the file when the line runs
        return None
    try:
        tree = ShParser(text).parse()
    except ValueError:
        return None
    return Line(place, text, tree) if _understands(tree, tools) else None


def _understands(node: Any, tools: Container[str]) -> bool:
    if isinstance(node, Seq):
        return node.op != "&" and _understands(node.lhs, tools) and _understands(node.rhs, tools)
    return all(_understands_command(command, tools) for command in node.commands)


def _understands_command(command: Command, tools: Container[str]) -> bool:
    if not all(_understands_redirect(*redirect) for redirect in command.redirects):
        return False
    variables, words = _after_env(_after_not(command.args)[1])
    name, *arguments = words or [""]
    if isinstance(name, GlobItem) or (variables and name not in tools):
        return False
    return name in tools or lit_builtins.understands(name, [str(argument) for argument in arguments])


def _understands_redirect(operator: tuple, target: Any) -> bool:
    if not isinstance(target, str):
        return False
    if operator[0] == ">&":
        return target in ("1", "2")
    return operator[0] in _OPEN_MODES and operator[1:] in ((), (0,), (1,), (2,))


def _after_not(args: list) -> tuple[bool, list]:
    """Return whether the exit status is inverted, and the command without `not`."""
    inverted = False
    while args and args[0] == "not":
        inverted, args = not inverted, args[1:]
    return inverted, args


def _after_env(args: list) -> tuple[dict[str, str], list]:
    """Return the variables that `env NAME=VALUE...` sets, and the command behind them."""
    variables: dict[str, str] = {}
    if args[:1] != ["env"]:
        return variables, args
    args = args[1:]
    while args and isinstance(args[0], str) and (assignment := _ASSIGNMENT.fullmatch(args[0])):
        variables[assignment[1]] = assignment[2]
        args = args[1:]
    return variables, args if variables else ["env", *args]


class Shell:
    """Shell for parsed lines. The exit status of a pipe is that of its last failing command."""

    def __init__(self, tools: Mapping[str, Callable[..., int]]):
        self.commands = {**lit_builtins.BUILTINS, **tools}

    def run(self, node: Any) -> int:
        if isinstance(node, Pipeline):
            return self._run_pipeline(node.commands)
        status = self.run(node.lhs)
        if (node.op == "&&" and status) or (node.op == "||" and not status):
            return status
        return self.run(node.rhs)

    def _run_pipeline(self, commands: list[Command]) -> int:
        result = 0
        with contextlib.ExitStack() as files:
            stdin: BinaryIO = files.enter_context(open(os.devnull, "rb"))
            for command in commands:
                is_last = command is commands[-1]
                pipe = None if is_last else files.enter_context(tempfile.TemporaryFile())
                status = self._run_command(command, stdin.fileno(), 1 if pipe is None else pipe.fileno())
                if status:
                    print(f"# error: '{' '.join(map(str, command.args))}' exited with {status}", flush=True)
                    _show_input(stdin)
                    result = status
                if pipe is not None:
                    pipe.seek(0)
                    stdin = pipe
        return result

    def _run_command(self, command: Command, stdin: int, stdout: int) -> int:
        inverted, args = _after_not(command.args)
        variables, words = _after_env(args)
        name, *arguments = _expand_globs(words)
        with contextlib.ExitStack() as files:
            descriptors = {0: stdin, 1: stdout, 2: 2}
            for operator, target in command.redirects:
                _redirect(operator, target, descriptors, files)
            with standard_streams(descriptors):
                streams = sys.stdin, sys.stdout, sys.stderr
                status = _call(functools.partial(self.commands[name], arguments, *streams), variables)
        return int(status == 0) if inverted else status


def _call(command: Callable[[], int], variables: Mapping[str, str]) -> int:
    """Return a command's exit status. With variables of its own it runs in a fork: later commands must not see them,
    nor the modules that PYTHONPATH lets it import."""
    if not variables:
        return command()
    child = os.fork()
    if child == 0:
        _become_command(command, variables)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        os.kill(os.getpid(), -code)  # a crash ends the test, like the crash of a command without variables
    return code


def _become_command(command: Callable[[], int], variables: Mapping[str, str]) -> NoReturn:
    """Run a command and end this process. An exception that leaves the command is a bug in it: SIGABRT reports it."""
    try:
        signal.alarm(_TIMEOUT_S)  # lit_inprocess ends only the test that waits for this process
        gc.freeze()  # this process must not destroy objects of the test's process
        os.environ.update(variables)
        sys.path[:0] = [folder for folder in variables.get("PYTHONPATH", "").split(os.pathsep) if folder]
        status = command()
        sys.stdout.flush()
        os._exit(status)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os.abort()


def _expand_globs(args: list) -> list[str]:
    words: list[str] = []
    for arg in args:
        words.extend(arg.resolve(os.getcwd()) if isinstance(arg, GlobItem) else [arg])
    return words


def _redirect(operator: tuple, target: str, descriptors: dict[int, int], files: contextlib.ExitStack) -> None:
    kind = operator[0]
    number = operator[1] if len(operator) > 1 else int(kind != "<")
    if kind == ">&":
        descriptors[number] = descriptors[int(target)]
        return
    file: Any = files.enter_context(open(target, _OPEN_MODES[kind]))  # noqa: SIM115
    descriptors[number] = file.fileno()
    if kind == "&>":
        descriptors[2] = file.fileno()


@contextlib.contextmanager
def standard_streams(descriptors: Mapping[int, int]) -> Iterator[None]:
    """Make these files the standard input, output and error, for C++ code and for Python's `sys`."""
    python_streams = sys.stdin, sys.stdout, sys.stderr
    saved = {number: os.dup(number) for number in descriptors}
    # Duplicated first: a later number's file may be an earlier number itself (`2>&1`).
    sources = {number: os.dup(source) for number, source in descriptors.items()}
    for number, source in sources.items():
        os.dup2(source, number)
        os.close(source)
    try:
        sys.stdin = _text_stream(0, "rb")
        sys.stdout, sys.stderr = _text_stream(1, "wb"), _text_stream(2, "wb")
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = python_streams
        for number, copy in saved.items():
            os.dup2(copy, number)
            os.close(copy)


def _text_stream(descriptor: int, mode: str) -> io.TextIOWrapper:
    """Open a text stream without a buffer, like the output of C++ code to the same descriptor."""
    raw: Any = open(descriptor, mode, buffering=-1 if mode == "rb" else 0, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="", write_through=True)


def _show_input(stdin: BinaryIO) -> None:
    """Show the input of a failing FileCheck."""
    if not stdin.seekable():
        return
    stdin.seek(0)
    text = stdin.read(_SHOWN_INPUT).decode(errors="replace")
    if text:
        print(f"# its input:\n{text}\n# end of the input", flush=True)
