# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-check."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.support.errors import OptionError
from relax_mlir.tools.common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option

_CASES, _OUTPUT, _LIMITS = "Cases", "Output", "Limits"

OPTIONS: dict[str, Option] = {
    "only": Option("names", _CASES, "run only these cases: an operator, a pattern, a model, or a pattern of names, 'relax.nn.conv2d*strided*'", "name"),
    "groups": Option("names", _CASES, "run only these groups: composites (a codegen's patterns), recipes (layers that rx.quantize makes), operators, models, graphs (random graphs)", "group"),
    "target": Option("text", _CASES, "target for the rest of a program; default llvm. 'relax-check c --target=c' checks the target c, not the codegen c", "target"),
    "share": Option("decimal", _CASES, "share of the cases to run, 0.1 for a tenth; default: all", "x", 1.0),
    "draw": Option("number", _CASES, "seed for the choice of the share", "n", 0),
    "seed": Option("number", _CASES, "seed for elements and random graphs", "n", 0),
    "case": Option("names", _CASES, "run the cases in these folders, which --keep wrote; you can edit their files", "folder"),
    "list": Option("flag", _CASES, "list the names of cases without running them", default=False),
    "load-plugin": plugin_option(_CASES, "codegens, targets and operators"),
    "tolerance": Option("decimal", _CASES, "tolerance beyond rounding, relative to the largest number of a result, for hardware with less precision", "x"),
    "same-bits": Option("flag", _CASES, "compare bits instead of the reference: repeated calls, threads, code for other CPUs, batches; a codegen has to declare same_bits. Use the target 'llvm{numerics=same}' for a check without exceptions", default=False),
    "schedules": Option("number", _CASES, "with --same-bits, compare this many random schedules of each kernel as well; --seed draws them. Those that change the order of a sum have to be refused", "n", 0),
    "allow-unchecked": Option("flag", _OUTPUT, "do not fail if a pattern of the codegen took none of its cases", default=False),
    "time": Option("flag", _OUTPUT, "measure calls with the codegen and without it", default=False),
    "keep": Option("text", _OUTPUT, "write each failing case to a subfolder: case.mlir, inputs.npz, expected.npz, and the command that runs it", "folder"),
    "json": Option("text", _OUTPUT, "also write all verdicts to this file", "file"),
    "html": Option("text", _OUTPUT, "also write a page with the support table, for publication", "file"),
    "baseline": Option("text", _OUTPUT, "file that --json wrote; only regressions are errors", "file"),
    "q": Option("flag", _OUTPUT, "print no progress", default=False),
    "limit": Option("decimal", _LIMITS, "time limit of a case in seconds; default 60, and eight times that with --same-bits. A case over the limit is killed, with the verdict hang", "seconds", 60.0),
    "time-limit": Option("decimal", _LIMITS, "start no case after this number of seconds", "seconds"),
    "scheduler": Option("text", _LIMITS, "address of a Dask scheduler, tcp://host:8786; its workers run the cases, as many at once as they have threads", "address"),
    "j": Option("number", _LIMITS, "number of concurrent cases; default: the number of CPUs", "n"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-check: checks a codegen or a target case by case, and reports wrong results",
    "",
    "usage: relax-check [options] <codegen or target>",
    "",
    "  relax-check mynpu --load-plugin=mynpu_codegen --json=today.json",
    "  relax-check mynpu --only='relax.nn.*' --baseline=yesterday.json",
    "  relax-check mynpu --keep=faults && relax-check mynpu --case=faults/relax.nn.relu_f32",
    "  relax-check 'llvm{cpu=haswell}' --groups=operators",
    "  relax-check 'llvm{numerics=same}' --same-bits --groups=models",
    "",
    "Each case runs in a separate process, and its results are compared with the reference (rx.reference).",
    "Layers of a recipe with out= are compared in bits with the integers that relax-requantize makes.",
    "Operators that a codegen does not take are no fault. A crash, a hang, a wrong result, or a result",
    "that changes from call to call is a fault, and the exit code is 1, as for a pattern that never ran.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the wrong argument."""
    return parse_one(argv, OPTIONS, "one codegen or target", _check)


def _check(arguments: Arguments) -> None:
    if arguments["limit"] == 0:
        raise OptionError("option --limit expects more than 0")
    if arguments["j"] == 0:
        raise OptionError("option -j expects at least 1")
    if arguments["schedules"] and not arguments["same-bits"]:
        raise OptionError("option --schedules needs --same-bits")
    if arguments["same-bits"]:
        for name in [text for text in ("time", "tolerance") if arguments[text]]:
            raise OptionError(f"options --same-bits and --{name} exclude each other: bits are compared without times")
