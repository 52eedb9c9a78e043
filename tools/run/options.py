# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-run's options."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.errors import RelaxError
from ..command_line import Arguments, Option, parse_arguments

_INPUT, _OUTPUT, _TIME, _COMPARE, _LIST = "Inputs", "Outputs", "Times", "Comparison", "Information"

OPTIONS: dict[str, Option] = {
    "function": Option("text", _INPUT, "the function to call; main is the default", "name", "main"),
    "input": Option("list", _INPUT, "an input from a file, as x=x.npy, or several by their names from an .npz file; a scalar also as n=5; may be given several times", "name=file.npy|file.npz"),
    "random": Option("number", _INPUT, "the seed for inputs that are not given: floats are normal, integers 0 to 9 (fewer for small types); 0 is the default", "seed", 0),
    "shape": Option("list", _INPUT, "the shape of an input that is not given, as x:1,3,224,224; a size with a name that nothing tells is 1", "input:sizes"),
    "output": Option("text", _OUTPUT, "write the outputs to this .npz file (.npy where there is one output)", "file"),
    "output-dir": Option("text", _OUTPUT, "write each output to <name>.npy in this folder", "folder"),
    "print": Option("flag", _OUTPUT, "print the outputs' elements", default=False),
    "benchmark": Option("flag", _TIME, "call the function again and again and tell how long a call takes", default=False),
    "repeat": Option("number", _TIME, "how many calls are timed; 100 is the default", "n", 100),
    "warmup": Option("number", _TIME, "how many calls come before them; 10 is the default", "n", 10),
    "compare": Option("text", _COMPARE, "run this ONNX model with onnxruntime on the same inputs; the exit code is 1 if the outputs differ", "model.onnx"),
    "tolerance": Option("decimal", _COMPARE, "how far outputs may differ, absolutely and relatively: |a - b| <= t + t * |b|; 1e-4 is the default", "t", 1e-4),
    "traceback": Option("flag", _LIST, "print Python's traceback with an error", default=False),
    "version": Option("flag", _LIST, "print the version", default=False),
    "help": Option("flag", _LIST, "print this help", default=False),
}  # fmt: skip

HELP_HEAD = (
    "relax-run: runs a program that relax-compile has made",
    "",
    "usage: relax-run [options] <program.rxa>",
    "",
    "  relax-run model.rxa --input x=x.npy --output out.npz",
    "  relax-run model.rxa --shape x:1,3,224,224 --benchmark --repeat 1000",
    "  relax-run model.rxa --compare model.onnx",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Raises RelaxError that names the argument at fault."""
    arguments = parse_arguments(argv, OPTIONS)
    if arguments["help"] or arguments["version"]:
        return arguments
    if len(arguments.files) != 1:
        raise RelaxError(f"expected one program, as program.rxa, got {', '.join(arguments.files) or 'none'}")
    if arguments["output"] is not None and arguments["output-dir"] is not None:
        raise RelaxError("--output and --output-dir exclude each other")
    if arguments["output"] is not None and not arguments["output"].endswith((".npz", ".npy")):
        raise RelaxError(f"option --output expects a name that ends with .npz or .npy, got '{arguments['output']}'")
    if arguments["repeat"] == 0:
        raise RelaxError("option --repeat expects at least 1")
    return arguments
