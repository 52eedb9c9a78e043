# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-reduce's options."""

from __future__ import annotations

from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option

_OUTPUT, _FAILURE, _LIMITS, _MODULE = "Output", "The failure", "Limits", "Module"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _OUTPUT, "where the smallest module goes: a file, written whole or not at all, or standard output ('-', the default)", "file", "-"),
    "v": Option("flag", _OUTPUT, "tell of each smaller module that still fails", default=False),
    "test": Option("text", _FAILURE, "the command that fails, which a shell runs; %s stands for the file to try. A module still fails if the command ends with the same exit code, or by the same signal, as for the input, and not with 0", "command"),
    "message": Option("text", _FAILURE, "the command must also print this text; without it, any failure with that exit code counts", "text"),
    "script": Option("text", _FAILURE, "in place of --test: a program that gets the file to try as its argument, and ends with 0 if the module shows what is looked for", "file"),
    "timeout": Option("decimal", _LIMITS, "how many seconds the command may take; 30 is the default. One that takes longer is killed; that is a failure as others if it happens for the input", "seconds", 30.0),
    "time-limit": Option("decimal", _LIMITS, "stop after this many seconds with the smallest module so far; without it the end is where nothing can be made smaller", "seconds"),
    "allow-unregistered-dialect": Option("flag", _MODULE, "accept operations, types and attributes of undefined dialects", default=False),
    "load-plugin": plugin_option(_MODULE, "dialects"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-reduce: makes a module smaller as long as a command still fails",
    "",
    "usage: relax-reduce [options] <module.mlir> --test=<command>        (-: a module from standard input)",
    "",
    "  relax-reduce m.mlir --test='relax-opt %s --relax-inline' --message='error: ...' -o small.mlir",
    "  relax-reduce m.mlir --script=./still-wrong.sh -o small.mlir --time-limit=60",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Raises RelaxError that names the argument at fault."""
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
