# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...runtime.threads import checked_threads
from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_arguments, refuse_together
from ..common.models import MODEL_SUFFIXES, MODULE_SUFFIXES, trust_option

#: Values of --compare other than a model's file, and the suffix of programs.
REFERENCE, PROGRAM = "reference", ".rxa"
_MODELS = (*MODEL_SUFFIXES, *MODULE_SUFFIXES)
#: Options for loading a program's file.
_OF_PROGRAMS = ("verify-key", "sha256", "device", "graphs")
#: File name that looks like the shape of an input.
_SHAPE = re.compile(r"[^:/\\]+:[\d,]*")
_REPEATED = "--shape is given once for each input: --shape {}"
_INPUT, _OUTPUT, _TIME, _COMPARE = "Inputs", "Outputs", "Times", "Comparison"

OPTIONS: dict[str, Option] = {
    "function": Option("text", _INPUT, "the function to call; main is the default", "name", "main"),
    "input": Option("list", _INPUT, "an input from a file, as x=x.npy, or several by their names from an .npz file; a scalar also as n=5; may be given several times", "name=file.npy|file.npz"),
    "random": Option("number", _INPUT, "the seed for inputs that are not given: floats are normal, integers 0 to 9 (fewer for small types); 0 is the default", "seed", 0),
    "shape": Option("list", _INPUT, "the shape of an input that is not given, as x:1,3,224,224; a size with a name that nothing determines is 1; given once for each input: --shape x:1,4 --shape y:4", "input:sizes"),
    "output": Option("text", _OUTPUT, "write the outputs to this .npz file (.npy where there is one output)", "file"),
    "output-dir": Option("text", _OUTPUT, "write each output to <name>.npy in this folder", "folder"),
    "verify-key": Option("text", _INPUT, "refuse the program unless the signature next to it, program.rxa.sig, is by this public Ed25519 key, a PEM file", "key.pub.pem"),
    "sha256": Option("text", _INPUT, "refuse the program unless this is its SHA-256", "hex"),
    "load-plugin": Option("list", _INPUT, "import this Python module or file first; the codegens and runtimes that it registers run their parts of the program; may be given several times", "module"),
    "reference": Option("flag", _INPUT, "run a model, model.onnx or module.mlir, operation by operation in numpy, as rx.reference does: slow and right", default=False),
    "trust": trust_option(_INPUT),
    "poison": Option("flag", _COMPARE, "call the program again with results and temporaries that are filled with NaN, and other patterns, before: name the outputs that are not written, or show what was there, and the inputs that change; the exit code is 1 if there are any", default=False),
    "print": Option("flag", _OUTPUT, "print the outputs' elements", default=False),
    "benchmark": Option("flag", _TIME, "call the function again and again and tell how long a call takes", default=False),
    "device": Option("text", _INPUT, "where a program for such devices runs, as cuda:1; the first one is the default", "device"),
    "list-devices": Option("flag", _INPUT, "list the devices of all kinds that programs run on here, with what they have, and why there are none of a kind", default=False),
    "graphs": Option("flag", _INPUT, "launch functions of known sizes as one each (a CUDA graph, commands that Vulkan keeps), recorded at the first call; as a rule those that are faster so by an estimate are, once they have been called"),
    "no-graphs": Option("flag", _INPUT, "launch kernels one by one, no graphs", default=False),
    "threads": Option("text", _TIME, "how many threads a call may use; as a rule the cores that the process may use, or what the environment's RELAX_NUM_THREADS says", "n"),
    "profile": Option("flag", _TIME, "tell the time of each kernel, with the model's nodes that it computes", default=False),
    "profile-json": Option("text", _TIME, "write the same figures to this file, as JSON", "file"),
    "trace": Option("text", _TIME, "write when each kernel, part and step of a part, range of a thread, launch and copy began and ended to this file, JSON that Perfetto (ui.perfetto.dev) and Chrome show", "t.json"),
    "repeat": Option("number", _TIME, "how many calls are timed; 100 is the default, 20 with --profile, 1 with --trace", "n"),
    "warmup": Option("number", _TIME, "how many calls come before them; 10 is the default, 3 with --profile and --trace", "n"),
    "compare": Option("text", _COMPARE, "run this model on the same inputs, ONNX with onnxruntime, TFLite with LiteRT, .pt2 with torch, a module by the reference; or interpret the model that the program was made of by the reference, where relax-compile --observe has kept it; the exit code is 1 if the outputs differ; with --each also another program", "model.onnx|model.tflite|model.pt2|module.mlir|reference|b.rxa"),
    "tolerance": Option("decimal", _COMPARE, "how far outputs may differ, absolutely and relatively: |a - b| <= t + t * |b|; 1e-4 is the default; with --each relative to a value's largest number, and 1e-4 for f32", "t"),
    "each": Option("flag", _COMPARE, "compare the value of each kernel and part, by the model's nodes, and name the first wrong one; for programs of relax-compile --observe", default=False),
    "inputs": Option("text", _COMPARE, "with --each: write the first wrong one's inputs, and what it should give, to this file (.npz)", "file"),
    "report": Option("text", _COMPARE, "with --each: write a page with the values, coloured by what is wrong", "file.html"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-run: runs a program that relax-compile has made",
    "",
    "usage: relax-run [options] <program.rxa>",
    "",
    "  relax-run model.rxa --input x=x.npy --output out.npz",
    "  relax-run model.rxa --shape x:1,3,224,224 --benchmark --repeat 1000 --threads 4",
    "  relax-run model.rxa --shape x:1,3,224,224 --profile",
    "  relax-run model.rxa --trace t.json",
    "  relax-run model.rxa --compare model.onnx",
    "  relax-run model.rxa --compare model.tflite --tolerance=0.01",
    "  relax-run model.rxa --compare reference --each --inputs=culprit.npz",
    "  relax-run model.onnx --reference",
    "  relax-run --list-devices",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the invalid argument."""
    arguments = parse_arguments(argv, OPTIONS)
    if arguments.asks or arguments["list-devices"]:
        return arguments
    if len(arguments.files) != 1:
        raise OptionError(
            f"expected one program, as program.rxa, got {', '.join(arguments.files) or 'none'}",
            notes=[_REPEATED.format(each) for each in arguments.files if _SHAPE.fullmatch(each)][:1],
        )
    is_model = arguments.files[0].lower().endswith(_MODELS)
    if arguments["reference"] and not is_model:
        raise OptionError(f"--reference runs a model ({', '.join(_MODELS)}), got {arguments.files[0]}")
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


def _check_each(arguments: Arguments) -> None:
    other = arguments["compare"]
    if arguments["each"]:
        if other is None:
            raise OptionError("--each needs something to compare with: --compare=reference, b.rxa or model.onnx")
        for name in (
            "output",
            "output-dir",
            "print",
            "benchmark",
            "profile",
            "profile-json",
            "trace",
            "poison",
            "reference",
        ):
            refuse_together(arguments, "each", name)
        return
    for name in ("inputs", "report"):
        if arguments[name] is not None:
            raise OptionError(f"--{name} is for the values of kernels and parts: it needs --each")
    if other is not None and other.endswith(PROGRAM):
        raise OptionError(f"--compare={other} compares the values of kernels and parts: it needs --each")
