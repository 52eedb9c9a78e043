# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-compile."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_arguments
from ..common.models import MODEL_SUFFIXES, trust_option

_GENERAL, _MODEL, _PARTS, _SPEED, _WATCH = "Output", "Model", "External codegens", "Speed", "Watching"

#: Format of --emit: the module before codegens get parts of it, as text.
INPUT = "partition-input"
#: Formats of --emit: text, which may go to standard output, and binary files with their suffixes.
TEXTS, FILES = ("relax", INPUT, "tir", "schedules", "llvm", "ll", "asm"), {"obj": ".o", "artifact": ".rxa"}
#: Format of --emit: a folder of source files, also requested by `-o folder/`.
SOURCE = "source"
#: Format of --emit for the option --stop.
STAGE = "stage"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _GENERAL, "the file to write, or with / at its end the folder for source files (--target c); without it, a program or an object file of model.onnx is model.rxa or model.o in the current folder, and text goes to standard output", "file"),
    "emit": Option("text", _GENERAL, "what to make: the imported module (relax), the module as the codegens of --partition get it (partition-input), what becomes kernels, after the stage fuse (tir), how the loops of each kernel run, as Python (schedules), the LLVM dialect (llvm), LLVM IR (ll; what gpu modules hold is not in it), assembly (asm, needs llvmlite), an object file (obj), source files in the folder -o (source, for --target c), or a program to load and run (artifact, the default)", "|".join((*TEXTS, *FILES, SOURCE)), "artifact", (*TEXTS, *FILES, SOURCE)),
    "stop": Option("text", _GENERAL, "write the module as it is after this stage, as text that can be looked at, edited, kept, and goes on with --start", "stage"),
    "start": Option("text", _GENERAL, "go on from this stage, with a module that --stop has written after the one before", "stage"),
    "target": Option("text", _GENERAL, "what to make code for: llvm is this machine, llvm{cpu=haswell} and llvm{triple=aarch64-linux-gnu} are others", "target", "llvm"),
    "O": Option("level", _GENERAL, "how much is done to the graph, and how hard LLVM optimizes: -O0 to -O3, -O2 is the default", "0..3", 2),
    "shape": Option("list", _MODEL, "the shape of an input in place of the model's, as x:1,3,224,224; ? or a name is a dynamic size; xs:[(2,3),(?,3)] for the tensors of a sequence, x:- for an optional that is left out; may be given for several inputs", "input:sizes"),
    "most-nodes": Option("number", _MODEL, "refuse a model that becomes more nodes than this as its functions are expanded and its loops unrolled; 100000 is the default", "count", 100_000),
    "most-growth": Option("number", _MODEL, "refuse a model whose constants grow by more mebibytes than this while it is imported; 1024 is the default", "MiB", 1024),
    "bind": Option("list", _MODEL, "what a size with a name is, n:8, or what range it is from, n:1..64: memory is planned for the largest then, and calls with others are refused; may be given for several sizes", "name:size"),
    "trust": trust_option(_MODEL),
    "schedules": Option("text", _MODEL, "how the loops of kernels run, in place of what the target chooses: a file as --emit=schedules writes it, with some kernels of it or all", "file.py"),
    "donate": Option("list", _MODEL, "an argument, or a pattern of names like past*, that grows in place: a call writes new rows behind those that it has, into a buffer with room, and copies none; may be given several times", "name"),
    "precision": Option("text", _MODEL, "what products of f32 are computed in, and what can follow them: bf16, f16, or f32 as they are, the default; sums are of f32, and inputs and outputs keep their types", "bf16|f16|f32", "f32", ("bf16", "f16", "f32")),
    "sign": Option("text", _GENERAL, "sign the program with this private Ed25519 key, a PEM file; the signature is written next to it, to <file>.sig", "key.pem"),
    "observe": Option("flag", _GENERAL, "keep in the program what relax-run --each looks at: functions that give the values of its kernels and parts, and what these should be; it is larger then, and its main stays as it is", default=False),
    "check": Option("flag", _MODEL, "compile nothing, list the nodes that cannot be imported; the exit code is 1 if there are any", default=False),
    "list-onnx-operators": Option("flag", _MODEL, "list the ONNX operators that can be imported, the version since which, and where that is written", default=False),
    "list-torch-operators": Option("flag", _MODEL, "list the operators of torch that can be imported, by overload, or by operator for all of its overloads, and where that is written", default=False),
    "list-tflite-operators": Option("flag", _MODEL, "list the operators of TFLite that can be imported, and where that is written", default=False),
    "list-stablehlo-operators": Option("flag", _MODEL, "list the operations of StableHLO and chlo that can be imported, and where that is written", default=False),
    "list-tosa-operators": Option("flag", _MODEL, "list the operators of TOSA that can be imported, and where that is written", default=False),
    "partition": Option("list", _PARTS, "give the parts of the model that these external codegens have patterns for to them, earlier ones first: mynpu{cores=4},dnnl; a table says what went where", "codegens"),
    "partition-plan": Option("text", _PARTS, "what goes where: by the order of codegens and their patterns (priority, the default), by what it costs (cost), or by a planner of one's own", "plan", "priority"),
    "strict-partition": Option("flag", _PARTS, "a codegen that declines a part, or fails, is an error; without it the part is the target's", default=False),
    "partition-elsewhere": Option("flag", _PARTS, "the program runs on another machine: what this one lacks to run a part is not reported, and no error with --strict-partition", default=False),
    "explain-partition": Option("flag", _PARTS, "tell of each operator that stays the pattern that came nearest, and why it does not match", default=False),
    "explain-schedules": Option("flag", _WATCH, "tell of each kernel the rule that schedules it, and the tensor intrinsics; of rules and intrinsics of your own that are not used, the reason", default=False),
    "list-codegens": Option("flag", _PARTS, "list the external codegens that there are, with their patterns", default=False),
    "jobs": Option("number", _SPEED, "how many processes may compile kernels at once; as many as there are CPUs is the default", "n"),
    "cache-dir": Option("text", _SPEED, "where programs and kernels are kept; the default is $RELAX_MLIR_CACHE, else relax-mlir in the user's cache folder", "folder"),
    "no-cache": Option("flag", _SPEED, "compile all anew, and keep nothing", default=False),
    "cache-info": Option("flag", _SPEED, "compile nothing, tell what is kept where", default=False),
    "clear-cache": Option("flag", _SPEED, "compile nothing, remove what is kept", default=False),
    "save-ir-dir": Option("text", _WATCH, "write the module after each stage to this folder, large constants left out", "folder"),
    "report": Option("text", _WATCH, "write a page that shows the graph from nodes to kernels, memory, times: one HTML file", "file.html"),
    "compare": Option("text", _WATCH, "with --report: show next to it what an earlier report says", "old.html"),
    "report-shape": Option("list", _WATCH, "the sizes of an input for the times in the report, where they are dynamic", "input:sizes"),
    "v": Option("flag", _WATCH, "tell of each stage how long it took when it ends, and which kernels are being compiled when one takes long", default=False),
    "load-plugin": Option("list", _WATCH, "import this Python module or file first; the operators, converters of ONNX nodes and targets that it registers are known then; may be given several times", "module"),
    **COMMON_OPTIONS,
}  # fmt: skip

#: Options that need no input file.
_ALONE = (
    "cache-info",
    "clear-cache",
    "list-onnx-operators",
    "list-torch-operators",
    "list-tflite-operators",
    "list-stablehlo-operators",
    "list-tosa-operators",
    "list-codegens",
)

HELP_HEAD = (
    "relax-compile: compiles a model of ONNX, torch, TFLite, StableHLO or TOSA, or a module of relax",
    "",
    "usage: relax-compile [options] <model.onnx | .pt2 | .tflite | module.mlir>  (-: a module from stdin)",
    "",
    "  relax-compile model.onnx",
    "  relax-compile model.onnx -o model.rxa --shape x:?,3,224,224",
    "  relax-compile model.onnx --target c -o folder/",
    "  relax-compile model.onnx --check",
    "  relax-compile model.pt2            (torch.export.save writes such a file)",
    "  relax-compile module.mlir --emit=llvm --target='llvm{cpu=haswell}'",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the invalid argument."""
    arguments = parse_arguments(argv, OPTIONS)
    if arguments.asks or any(arguments[name] for name in _ALONE):
        return arguments
    if len(arguments.files) != 1:
        given = ", ".join(arguments.files) or "none"
        raise OptionError(f"expected one input file, model.onnx, model.pt2, model.tflite or module.mlir, got {given}")
    if arguments["jobs"] == 0:
        raise OptionError("option --jobs expects at least 1")
    if arguments["cache-dir"] == "":
        raise OptionError("option --cache-dir expects a folder")
    if arguments["schedules"] == "":
        raise OptionError("option --schedules expects a file")
    if arguments["O"] > 3:
        raise OptionError(f"option -O expects 0 to 3, got {arguments['O']}")
    _check_stages(arguments)
    _check_sources(arguments)
    _check_partition(arguments)
    is_file = arguments["emit"] in FILES and not arguments["check"]
    if is_file and (arguments["o"] == "-" or (arguments["o"] is None and arguments.files[0] == "-")):
        raise OptionError(f"--emit={arguments['emit']} needs a file to write: -o <file>")
    program = FILES["artifact"]
    if arguments.files[0].endswith(program):
        raise OptionError(f"{arguments.files[0]} is a compiled program: relax-run runs it")
    if is_file and arguments["o"] is None:
        # Default name, as in compilers: the input's name in the current folder.
        stem = os.path.splitext(os.path.basename(arguments.files[0]))[0]
        arguments.values["o"] = stem + FILES[arguments["emit"]]
        arguments.is_output_chosen = True
    if arguments["sign"] is not None and (arguments["emit"] != "artifact" or arguments["check"]):
        raise OptionError("--sign is for programs: it needs --emit=artifact, the default")
    _check_observe(arguments)
    _check_report(arguments, is_file)
    return arguments


def _check_observe(arguments: Arguments) -> None:
    if not arguments["observe"]:
        return
    if arguments["emit"] != "artifact" or arguments["check"]:
        raise OptionError("--observe is for programs: it needs --emit=artifact, the default")
    if arguments["start"] is not None:
        raise OptionError("--observe keeps what a whole compilation begins with, and --start begins within one")


def _check_stages(arguments: Arguments) -> None:
    emit = arguments["emit"]
    if arguments["stop"] is not None:
        if emit != OPTIONS["emit"].default:
            raise OptionError(f"--stop writes the module after a stage, --emit={emit} something else: give one of them")
        arguments.values["emit"] = STAGE
    if arguments["start"] is None:
        return
    if arguments["precision"] != OPTIONS["precision"].default:
        raise OptionError("--precision is for whole compilations: give it together with --stop")
    if emit == "relax":
        raise OptionError("--emit=relax is the module before all stages: there is none to start from")
    if arguments.files[0].lower().endswith(MODEL_SUFFIXES):
        raise OptionError(
            f"--start is for modules that --stop has written: {arguments.files[0]} begins at the beginning"
        )


def _check_sources(arguments: Arguments) -> None:
    folder = arguments["o"] or ""
    if folder.endswith("/") and arguments["emit"] == OPTIONS["emit"].default:
        arguments.values["emit"] = SOURCE
    if arguments["emit"] == SOURCE and not arguments["check"]:
        if folder in ("", "-"):
            raise OptionError("--emit=source needs a folder to write to: -o <folder>/")
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise OptionError(f"--emit=source needs a folder to write to: '{folder}' is none")


def _check_partition(arguments: Arguments) -> None:
    if not arguments["partition"]:
        if arguments["emit"] == INPUT:
            raise OptionError(f"--emit={INPUT} is what codegens get: --partition=<codegens> names some")
        for name in ("partition-plan", "strict-partition", "partition-elsewhere", "explain-partition"):
            if arguments[name] != OPTIONS[name].default:
                raise OptionError(f"--{name} is for external codegens: --partition=<codegens> names some")


def _check_report(arguments: Arguments, is_file: bool) -> None:
    path = arguments["report"]
    if path is None:
        for name, what in (("report-shape", "the times in a report"), ("compare", "two reports")):
            if arguments[name]:
                raise OptionError(f"--{name} is for {what}: --report=<file.html> makes one")
        return
    if not is_file:
        asked = "--check" if arguments["check"] else "--stop" if arguments["stop"] else f"--emit={arguments['emit']}"
        raise OptionError(f"--report shows a whole compilation, and {asked} ends before there is code")
    if arguments["start"] is not None:
        raise OptionError("--report shows a whole compilation, and --start begins within one")
    if path in ("", "-"):
        raise OptionError("--report needs a file to write: --report=<file.html>")
    if os.path.realpath(path) == os.path.realpath(arguments["o"]):
        raise OptionError(f"-o and --report name the same file, '{path}'")
