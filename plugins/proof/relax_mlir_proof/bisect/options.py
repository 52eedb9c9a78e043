# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-bisect."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.support.errors import OptionError
from relax_mlir.tools.common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option
from relax_mlir.tools.common.models import trust_option

_MODEL, _OUTPUT = "Model", "Output"

OPTIONS: dict[str, Option] = {
    "target": Option("text", _MODEL, "target, with its options; default llvm", "target", "llvm"),
    "partition": Option("names", _MODEL, "codegens that compile parts of the model", "codegen"),
    "input": Option("list", _MODEL, "input, as <name>=<file.npy>, or a file of all inputs (.npz); default: random", "input"),
    "shape": Option("list", _MODEL, "sizes of a random input, as <name>=2x3", "sizes"),
    "seed": Option("number", _MODEL, "seed for random inputs", "n", 0),
    "load-plugin": plugin_option(_MODEL, "codegens, targets and operators"),
    "trust": trust_option(_MODEL),
    "tolerance": Option("decimal", _MODEL, "tolerance of a value, relative to its largest number; default 1e-4 for f32", "x"),
    "each": Option("flag", _OUTPUT, "print the results of each kernel and part with the reference's, without a further search", default=False),
    "o": Option("text", _OUTPUT, "write the culprit's module to this file, as a reproducer", "file"),
    "inputs": Option("text", _OUTPUT, "write its inputs and expected results to this file (.npz)", "file"),
    "report": Option("text", _OUTPUT, "with --each: write a page with the values and their errors", "file.html"),
    "q": Option("flag", _OUTPUT, "print no progress", default=False),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-bisect: finds the part, the pass or the kernel that makes a model's result wrong",
    "",
    "usage: relax-bisect [options] <model>        (.onnx, .pt2, .mlir)",
    "",
    "  relax-bisect model.onnx --partition=mynpu -o culprit.mlir --inputs=culprit.npz",
    "  relax-bisect model.onnx --partition=mynpu --each",
    "  relax-bisect model.mlir --target='llvm{cpu=haswell}' --input=x=x.npy",
    "",
    "Results are compared with the reference's (rx.reference). The exit code is 1 if something is wrong, and 2 if the",
    "whole program is wrong, but no part, pass or kernel alone.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the wrong argument."""
    arguments = parse_one(argv, OPTIONS, "one model")
    if not arguments.asks and arguments["report"] is not None and not arguments["each"]:
        raise OptionError("--report is for the values of kernels and parts: it needs --each")
    return arguments
