# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-reduce."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.support.errors import OptionError
from relax_mlir.tools.common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option

_OUTPUT, _FAILURE, _LIMITS, _MODULE = "Output", "The failure", "Limits", "Module"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _OUTPUT, "output for the smallest module: a file, written whole or not at all, or standard output ('-', the default)", "file", "-"),
    "v": Option("flag", _OUTPUT, "report each smaller module that still fails", default=False),
    "test": Option("text", _FAILURE, "command that fails, run by a shell; %s is the file to try. A module still fails if the command ends with the same nonzero exit code, or by the same signal, as for the input", "command"),
    "message": Option("text", _FAILURE, "the command must also print this text; without it, any failure with that exit code counts", "text"),
    "script": Option("text", _FAILURE, "alternative to --test: a program that takes the file to try as its argument, and exits with 0 if the module still fails", "file"),
    "timeout": Option("decimal", _LIMITS, "time limit of the command in seconds; default 30. The command is killed then, which counts as the failure if the input also causes it", "seconds", 30.0),
    "time-limit": Option("decimal", _LIMITS, "stop after this number of seconds with the smallest module so far; by default the search ends when no step shrinks the module", "seconds"),
    "allow-unregistered-dialect": Option("flag", _MODULE, "accept operations, types and attributes of undefined dialects", default=False),
    "load-plugin": plugin_option(_MODULE, "dialects"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-reduce: shrinks a module as long as a command still fails",
    "",
    "usage: relax-reduce [options] <module.mlir> --test=<command>        (-: a module from standard input)",
    "",
    "  relax-reduce m.mlir --test='relax-opt %s --relax-inline' --message='error: ...' -o small.mlir",
    "  relax-reduce m.mlir --script=./still-wrong.sh -o small.mlir --time-limit=60",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the wrong argument."""
    return parse_one(argv, OPTIONS, "one module, as module.mlir", _check)


def _check(arguments: Arguments) -> None:
    if (arguments["test"] is None) == (arguments["script"] is None):
        raise OptionError("what fails? give one of --test=<command> and --script=<file>")
    if arguments["test"] is not None and "%s" not in arguments["test"]:
        raise OptionError("option --test: the command has no %s, which stands for the file to try")
    if arguments["script"] is not None and arguments["message"] is not None:
        raise OptionError("--message belongs to --test: a script decides by itself")
    if arguments["timeout"] == 0:
        raise OptionError("option --timeout expects more than 0")
