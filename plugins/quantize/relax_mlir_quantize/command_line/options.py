# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-quantize."""

from __future__ import annotations

import os
from collections.abc import Sequence

from relax_mlir.support.byte_sizes import byte_size
from relax_mlir.support.errors import OptionError
from relax_mlir.tools.common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one, plugin_option
from relax_mlir.tools.common.models import trust_option

_CALIBRATION, _CHOICE, _OUTPUT = "Calibration", "What is quantized", "Output"
_CORRECTIONS, _BUDGETS = "Corrections", "Budgets, which choose other types and layers that stay in floating point"

METHODS = ("minmax", "percentile", "mse", "entropy")
#: Endings of output files.
ENDINGS = (".onnx", ".mlir", ".mlirbc")

OPTIONS: dict[str, Option] = {
    "for": Option("text", _CHOICE, "codegen or target whose recipe is used, or a .json file of AIMET or litert-quantizer; default llvm. --list-recipes lists them", "recipe", "llvm"),
    "keep": Option("list", _CHOICE, "operator or node that stays in floating point, by name or pattern ('head.*'); repeatable", "name"),
    "layout": Option("text", _CHOICE, "layout that convolutions and pools are brought into, instead of the recipe's: NHWC, or NHWC:HWIO with kernels", "layout"),
    "function": Option("text", _CHOICE, "function of the module; default main", "name", "main"),
    "load-plugin": plugin_option(_CHOICE, "codegens, targets and operators"),
    "list-recipes": Option("flag", _CHOICE, "list the codegens and targets that have a recipe", default=False),
    "trust": trust_option(_CHOICE),
    "data": Option("text", _CALIBRATION, "samples: a .npz file with an array per input and a sample per row, or a folder of such arrays as input.npy, or of a .npz file per sample", "file"),
    "samples": Option("number", _CALIBRATION, "largest number of samples that are used; default 128", "n", 128),
    "calibrate": Option("text", _CALIBRATION, "how ranges are chosen from the samples; default mse", "|".join(METHODS), "mse", METHODS),
    "resume": Option("text", _CALIBRATION, "file for the state of the calibration, stored every few samples and after Ctrl-C; the same command continues with it", "file"),
    "smooth": Option("text", _CORRECTIONS, "how much of the range of large channels behind a norm moves into the weights, from 0 to 1, or none; default 0.5", "number|none", "0.5"),
    "no-equalize": Option("flag", _CORRECTIONS, "do not give channels between layers equal ranges of weights", default=False),
    "no-bias-correction": Option("flag", _CORRECTIONS, "do not subtract the mean error of rounded weights from biases", default=False),
    "no-clip-weights": Option("flag", _CORRECTIONS, "keep the whole range of weights of up to 4 bits", default=False),
    "snr": Option("decimal", _BUDGETS, "least signal-to-noise ratio of each result, in dB", "dB"),
    "drop": Option("decimal", _BUDGETS, "largest drop of the score of --evaluate, below the model in floating point", "number"),
    "evaluate": Option("text", _BUDGETS, "Python file with `def evaluate(program) -> float`, the score of a compiled program; for --drop", "file.py"),
    "bytes": Option("text", _BUDGETS, "most bytes of constants, such as 500000, 512K or 4M", "size"),
    "o": Option("text", _OUTPUT, "output file: .onnx, .mlir or .mlirbc", "file"),
    "table": Option("flag", _OUTPUT, "print the table of layers, and why nodes stay in floating point", default=False),
    "json": Option("text", _OUTPUT, "also write the report to this file", "file"),
    "html": Option("text", _OUTPUT, "also write the report to this file, as a page with pictures", "file"),
    "measure": Option("flag", _OUTPUT, "measure the errors by stage, for --table, --json and --html", default=False),
    "q": Option("flag", _OUTPUT, "print no progress and no summary", default=False),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-quantize: quantizes a model by the recipe of a codegen or a target",
    "",
    "usage: relax-quantize [options] <model> --data <samples> -o <file>",
    "",
    "  relax-quantize model.onnx --for=mynpu --data samples.npz -o quantized.onnx",
    "  relax-quantize model.onnx --data samples/ --keep='head.*' --table -o quantized.mlir",
    "",
    "The model is of any format that relax-compile reads. Output files are written whole or not at all.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the wrong argument."""
    if any(name.lstrip("-") == "list-recipes" for name in argv):
        from relax_mlir.tools.common.command_line import parse_arguments

        return parse_arguments(argv, OPTIONS)
    return parse_one(argv, OPTIONS, "one model", _check)


def _check(arguments: Arguments) -> None:
    if arguments["data"] is None:
        raise OptionError("--data is missing: samples show the ranges of the model's tensors")
    if arguments["samples"] == 0:
        raise OptionError("option --samples expects at least 1")
    strength(arguments)
    byte_limit(arguments)
    if (arguments["drop"] is None) != (arguments["evaluate"] is None):
        given, other = ("drop", "evaluate") if arguments["evaluate"] is None else ("evaluate", "drop")
        raise OptionError(f"--{given} needs --{other}: the largest drop of the score that a Python file computes")
    if arguments["measure"] and not any(arguments[name] for name in ("table", "json", "html")):
        raise OptionError("--measure needs --table, --json or --html, which show the errors")
    if (output := arguments["o"]) is None:
        raise OptionError(f"-o is missing: expected a file that ends with {', '.join(ENDINGS)}")
    if os.path.splitext(output)[1] not in ENDINGS:
        raise OptionError(f"-o '{output}': expected a file that ends with {', '.join(ENDINGS)}")


def strength(arguments: Arguments) -> float | None:
    """Return the value of --smooth. Raise OptionError."""
    if (text := arguments["smooth"]) == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise OptionError(f"option --smooth expects a number from 0 to 1, or none, got '{text}'")
    return number


def byte_limit(arguments: Arguments) -> int | None:
    """Return the value of --bytes. Raise OptionError."""
    text = arguments["bytes"]
    size = None if text is None else byte_size(text)
    if text is not None and size is None:
        raise OptionError(f"option --bytes expects a size such as 500000, 512K or 4M, got '{text}'")
    return size
