# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-check's options."""

from __future__ import annotations

from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option

_CASES, _OUTPUT, _LIMITS = "Cases", "Output", "Limits"

OPTIONS: dict[str, Option] = {
    "only": Option("names", _CASES, "run these cases only: an operator, a pattern, a model, or a pattern of names, 'relax.nn.conv2d*strided*'", "name"),
    "groups": Option("names", _CASES, "run these groups only: composites (a codegen's own patterns), operators, models, graphs (random ones)", "group"),
    "target": Option("text", _CASES, "what compiles the rest of a program; llvm is the default. 'relax-check c --target=c' checks the target of this name, and not the codegen", "target"),
    "share": Option("decimal", _CASES, "run this share of the cases, 0.1 for a tenth; all is the default", "x", 1.0),
    "draw": Option("number", _CASES, "another number draws another share", "n", 0),
    "seed": Option("number", _CASES, "another number gives other elements, and other random graphs", "n", 0),
    "case": Option("names", _CASES, "run the cases in these folders, which --keep wrote; their files may have been edited", "folder"),
    "list": Option("flag", _CASES, "list the cases' names and run none", default=False),
    "load-plugin": plugin_option(_CASES, "codegens, targets and operators"),
    "tolerance": Option("decimal", _CASES, "how far results may be from the reference's, relative to the largest number of a result, beyond what rounding explains: for hardware that computes with less", "x"),
    "time": Option("flag", _OUTPUT, "measure calls beside the target alone", default=False),
    "keep": Option("text", _OUTPUT, "write the case of each fault into a folder of its own below this one: case.mlir, inputs.npz, expected.npz; a command runs it again", "folder"),
    "json": Option("text", _OUTPUT, "write all verdicts to this file too", "file"),
    "html": Option("text", _OUTPUT, "write a page with the support table too, to be published", "file"),
    "baseline": Option("text", _OUTPUT, "a file that --json wrote: only what has got worse since is an error", "file"),
    "q": Option("flag", _OUTPUT, "print no progress", default=False),
    "limit": Option("decimal", _LIMITS, "how many seconds a case may take; 60 is the default. One that takes longer is killed: it hangs", "seconds", 60.0),
    "time-limit": Option("decimal", _LIMITS, "begin no case after this many seconds", "seconds"),
    "j": Option("number", _LIMITS, "how many cases run at once; as many as there are CPUs without it", "n"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-check: proves a codegen or a target right, case by case, or says what is wrong",
    "",
    "usage: relax-check [options] <codegen or target>",
    "",
    "  relax-check mynpu --load-plugin=mynpu_codegen --json=today.json",
    "  relax-check mynpu --only='relax.nn.*' --baseline=yesterday.json",
    "  relax-check mynpu --keep=faults && relax-check mynpu --case=faults/relax.nn.relu_f32",
    "  relax-check 'llvm{cpu=haswell}' --groups=operators",
    "",
    "Each case is compared with the reference (rx.reference), in a process of its own. What a codegen does",
    "not take is no fault; a crash, a hang, a wrong result, one that changes from call to call is, and",
    "the exit code is 1.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Raises RelaxError that names the argument at fault."""
    return parse_one(argv, OPTIONS, "one codegen or target", _check)


def _check(arguments: Arguments) -> None:
    if arguments["limit"] == 0:
        raise OptionError("option --limit expects more than 0")
    if arguments["j"] == 0:
        raise OptionError("option -j expects at least 1")
