# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...frontends.front_end import MODULE_SUFFIXES, find_front_end, model_suffixes
from ...runtime.threads import checked_threads
from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_arguments, refuse_together
from ..common.models import trust_option

#: Values of --compare other than a model's file, and the suffix of programs.
REFERENCE, PROGRAM = "reference", ".rxa"
#: Options for loading a program's file.
_OF_PROGRAMS = ("verify-key", "sha256", "device", "graphs")
#: File name that looks like the shape of an input.
_SHAPE = re.compile(r"[^:/\\]+:[\d,]*")
_REPEATED = "--shape is given once for each input: --shape {}"
_INPUT, _OUTPUT, _TIME, _COMPARE = "Inputs", "Outputs", "Times", "Comparison"

OPTIONS: dict[str, Option] = {
    "function": Option("text", _INPUT, "function to call; default main", "name", "main"),
    "input": Option("list", _INPUT, "input from a file, x=x.npy, or several inputs by name from an .npz file; a scalar also as n=5; repeatable", "name=file.npy|file.npz"),
    "random": Option("number", _INPUT, "seed for missing inputs: normal floats, integers 0 to 9 (fewer for small types); default 0", "seed", 0),
    "shape": Option("list", _INPUT, "shape of a missing input, x:1,3,224,224; undetermined symbolic sizes are 1; once for each input: --shape x:1,4 --shape y:4", "input:sizes"),
    "output": Option("text", _OUTPUT, "write the outputs to this .npz file (.npy for a single output)", "file"),
    "output-dir": Option("text", _OUTPUT, "write each output to <name>.npy in this folder", "folder"),
    "verify-key": Option("text", _INPUT, "reject the program unless program.rxa.sig is a signature by this public Ed25519 key, a PEM file", "key.pub.pem"),
    "sha256": Option("text", _INPUT, "reject the program unless this is its SHA-256", "hex"),
    "load-plugin": Option("list", _INPUT, "import this Python module or file first, to register codegens and runtimes for parts of the program; repeatable", "module"),
    "ranks": Option("text", _INPUT, "number of ranks of a sharded program, an engine (threads, mpi, torch), or both, as mpi:4; default: those of the program, as threads, or processes of mpiexec, srun or torchrun", "n|engine"),
    "measure-network": Option("text", _TIME, "measure the exchanges of --ranks, without a program: seconds for each one and for each byte; with a file for rx.shard(network=)", "file.json", bare="-"),
    "reference": Option("flag", _INPUT, "run a model, model.onnx or module.mlir, operation by operation in numpy, as rx.reference: slow and exact", default=False),
    "trust": trust_option(_INPUT),
    "poison": Option("flag", _COMPARE, "call the program again with results and temporaries filled with NaN and other patterns, and list outputs that are unwritten or depend on the patterns, and modified inputs; the exit code is 1 if there are any", default=False),
    "print": Option("flag", _OUTPUT, "print the outputs' elements", default=False),
    "benchmark": Option("flag", _TIME, "call the function repeatedly and print the time of a call", default=False),
    "device": Option("text", _INPUT, "device of the program, such as cuda:1; default: the first device", "device"),
    "list-devices": Option("flag", _INPUT, "list the devices of each kind with their properties, or the reason why there are none", default=False),
    "graphs": Option("flag", _INPUT, "record functions of static sizes at the first call and launch them as a whole (CUDA graphs, Vulkan command buffers); by default only functions with an estimated gain"),
    "no-graphs": Option("flag", _INPUT, "launch kernels one by one, without graphs", default=False),
    "threads": Option("text", _TIME, "maximum number of threads of a call; default: $RELAX_NUM_THREADS, else the cores of the process", "n"),
    "profile": Option("flag", _TIME, "print the time of each kernel, with the model's nodes in it", default=False),
    "profile-json": Option("text", _TIME, "write the profile to this file, as JSON", "file"),
    "trace": Option("text", _TIME, "write start and end of kernels, parts, their steps, ranges of threads, launches and copies to this file: JSON for Perfetto (ui.perfetto.dev) and Chrome", "t.json"),
    "repeat": Option("number", _TIME, "number of timed calls; default 100, 20 with --profile, 1 with --trace", "n"),
    "warmup": Option("number", _TIME, "number of calls before timed calls; default 10, 3 with --profile and --trace", "n"),
    "compare": Option("text", _COMPARE, "compare with this model on the same inputs: ONNX by onnxruntime, .pt2 by torch, a module by the reference, other models by the interpreter that their front end names (TFLite by LiteRT); `reference` interprets the program's model, which relax-compile --observe stores; with --each also another program; the exit code is 1 if the outputs differ", "model.onnx|model.pt2|module.mlir|reference|b.rxa"),
    "tolerance": Option("decimal", _COMPARE, "absolute and relative tolerance t of outputs: |a - b| <= t + t * |b|; default 1e-4; with --each relative to a value's largest number, and 1e-4 for f32", "t"),
    "each": Option("flag", _COMPARE, "compare the values of each kernel and part, by the model's nodes, and print the first wrong value; for programs of relax-compile --observe", default=False),
    "inputs": Option("text", _COMPARE, "with --each: write the inputs and expected results of the first wrong kernel or part to this file (.npz)", "file"),
    "report": Option("text", _COMPARE, "with --each: write a page with the values and their errors", "file.html"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-run: runs a program that relax-compile wrote",
    "",
    "usage: relax-run [options] <program.rxa>",
    "",
    "  relax-run model.rxa --input x=x.npy --output out.npz",
    "  relax-run model.rxa --shape x:1,3,224,224 --benchmark --repeat 1000 --threads 4",
    "  relax-run model.rxa --shape x:1,3,224,224 --profile",
    "  relax-run model.rxa --trace t.json",
    "  relax-run model.rxa --compare model.onnx",
    "  relax-run model.rxa --compare model.onnx --tolerance=0.01",
    "  relax-run model.rxa --compare reference --each --inputs=culprit.npz",
    "  relax-run model.onnx --reference",
    "  relax-run --list-devices",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the invalid argument."""
    arguments = parse_arguments(argv, OPTIONS)
    if arguments.asks or arguments["list-devices"] or arguments["measure-network"]:
        return arguments
    if len(arguments.files) != 1:
        raise OptionError(
            f"expected one program, as program.rxa, got {', '.join(arguments.files) or 'none'}",
            notes=[_REPEATED.format(file) for file in arguments.files if _SHAPE.fullmatch(file)][:1],
        )
    is_model = _is_model(arguments.files[0])
    if arguments["reference"] and not is_model:
        known = ", ".join((*model_suffixes(), *MODULE_SUFFIXES))
        raise OptionError(f"--reference runs a model ({known}), got {arguments.files[0]}")
    if arguments["trust"] and not (arguments["reference"] or (arguments["compare"] or "").endswith(".pt2")):
        raise OptionError("--trust is for .pt2 files, which only --reference and --compare read")
    for name in _OF_PROGRAMS if arguments["reference"] else ():
        refuse_together(arguments, "reference", name)
    if is_model and not arguments["reference"]:
        model, observe = arguments.files[0], " --observe" if arguments["each"] else ""
        raise OptionError(
            f"{model} is a model, no program: relax-compile {model}{observe} makes one of it"
            + (f"; relax-bisect {model} --each does both" if observe else ", --reference runs it as it is")
        )
    refuse_together(arguments, "output", "output-dir")
    if arguments["output"] is not None and not arguments["output"].endswith((".npz", ".npy")):
        raise OptionError(f"option --output expects a name that ends with .npz or .npy, got '{arguments['output']}'")
    refuse_together(arguments, "graphs", "no-graphs")
    _check_each(arguments)
    if arguments["repeat"] == 0:
        raise OptionError("option --repeat expects at least 1")
    if arguments["threads"] is not None:
        checked_threads(arguments["threads"], "option --threads=")
    return arguments


def _is_model(path: str) -> bool:
    return path.lower().endswith(MODULE_SUFFIXES) or find_front_end(path) is not None


def _check_each(arguments: Arguments) -> None:
    other = arguments["compare"]
    if arguments["each"]:
        if other is None:
            raise OptionError("--each needs something to compare with: --compare=reference, b.rxa or model.onnx")
        for name in "output output-dir print benchmark profile profile-json trace poison reference".split():
            refuse_together(arguments, "each", name)
        return
    for name in ("inputs", "report"):
        if arguments[name] is not None:
            raise OptionError(f"--{name} is for the values of kernels and parts: it needs --each")
    if other is not None and other.endswith(PROGRAM):
        raise OptionError(f"--compare={other} compares the values of kernels and parts: it needs --each")
