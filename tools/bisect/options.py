# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-bisect's options."""

from __future__ import annotations

from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option
from ..common.models import trust_option

_MODEL, _OUTPUT = "Model", "Output"

OPTIONS: dict[str, Option] = {
    "target": Option("text", _MODEL, "the target, with its options; llvm is the default", "target", "llvm"),
    "partition": Option("names", _MODEL, "the codegens that take parts of it", "codegen"),
    "input": Option("list", _MODEL, "an input, as <name>=<file.npy>, or a file of all of them (.npz); random without it", "input"),
    "shape": Option("list", _MODEL, "the sizes of a random input, as <name>=2x3", "sizes"),
    "seed": Option("number", _MODEL, "another number gives other random inputs", "n", 0),
    "load-plugin": plugin_option(_MODEL, "codegens, targets and operators"),
    "trust": trust_option(_MODEL),
    "tolerance": Option("decimal", _MODEL, "how far a value may be from the reference's, relative to its largest number; 1e-4 for f32 without it", "x"),
    "each": Option("flag", _OUTPUT, "print what each kernel and part gives beside the reference, and look no further", default=False),
    "o": Option("text", _OUTPUT, "write the culprit's module to this file, to be run by itself", "file"),
    "inputs": Option("text", _OUTPUT, "write its inputs, and what it should give, to this file (.npz)", "file"),
    "report": Option("text", _OUTPUT, "with --each: write a page with the values, coloured by what is wrong", "file.html"),
    "q": Option("flag", _OUTPUT, "do not tell what is being tried", default=False),
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
    "What is right is what the reference gives (rx.reference). The exit code is 1 where something is wrong.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Raises RelaxError that names the argument at fault."""
    arguments = parse_one(argv, OPTIONS, "one model")
    if not arguments.asks and arguments["report"] is not None and not arguments["each"]:
        raise OptionError("--report is for the values of kernels and parts: it needs --each")
    return arguments
