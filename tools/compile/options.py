# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-compile."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ...compilation.keywords import option_texts
from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_arguments
from ..common.models import is_model, trust_option

_TEXTS = option_texts()
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
    "o": Option("text", _GENERAL, "output file, or with a final / the folder for source files (--target c); by default model.rxa or model.o in the current folder for model.onnx, and standard output for text", "file"),
    "emit": Option("text", _GENERAL, "kind of output: the imported module (relax), the input of the codegens of --partition (partition-input), kernels after the stage fuse (tir), schedules of kernels, as Python (schedules), the LLVM dialect (llvm), LLVM IR without gpu modules (ll), assembly (asm, needs llvmlite), an object file (obj), source files in the folder -o (source, for --target c), or a program to load and run (artifact, the default)", "|".join((*TEXTS, *FILES, SOURCE)), "artifact", (*TEXTS, *FILES, SOURCE)),
    "stop": Option("text", _GENERAL, "write the module after this stage as text, for editing and for --start", "stage"),
    "start": Option("text", _GENERAL, "start at this stage, with a module that --stop wrote after the previous stage", "stage"),
    "target": Option("text", _GENERAL, "target of the code: llvm for this machine; or, for example, llvm{cpu=haswell}, llvm{triple=aarch64-linux-gnu}", "target", "llvm"),
    "O": Option("level", _GENERAL, f"{_TEXTS['opt_level']}; default -O2", "0..3", 2),
    "shape": Option("list", _MODEL, "shape that overrides the model's shape of an input, x:1,3,224,224; ? or a name is a dynamic size; xs:[(2,3),(?,3)] for the tensors of a sequence, x:- for an absent optional input; repeatable", "input:sizes"),
    "most-nodes": Option("number", _MODEL, "maximum number of nodes of a model after expansion of functions and unrolling of loops; default 100000", "count", 100_000),
    "most-growth": Option("number", _MODEL, "maximum growth of constants during import, in MiB; default 1024", "MiB", 1024),
    "bind": Option("list", _MODEL, "value or range of a symbolic size, n:8 or n:1..64; memory is planned for the largest size, and calls with other sizes fail; repeatable", "name:size"),
    "mesh": Option("text", _MODEL, "divide the program among the ranks of this mesh, dp=2,tp=4; by default that of the model, if it has one", "axes"),
    "specs": Option("list", _MODEL, "axes of the mesh for the dimensions of an argument or result, w1:_,tp, or a JSON file, {\"w1\": [null, \"tp\"]}; repeatable", "name:axes|file.json"),
    "sums": Option("text", _MODEL, "sums of floats in a divided program: in one rank, with the bits of one process (same, the default), or of each rank's part (split)", "same|split", None, ("same", "split")),
    "network": Option("text", _WATCH, "estimate the times of collectives for --report by this file of relax-run --measure-network", "file.json"),
    "trust": trust_option(_MODEL),
    "schedules": Option("text", _MODEL, "file with schedules that override the target's, for some or all kernels, as --emit=schedules writes", "file.py"),
    "donate": Option("list", _MODEL, f"{_TEXTS['donate']}; repeatable", "name"),
    "precision": Option("text", _MODEL, _TEXTS["precision"], "bf16|f16|f32", "f32", ("bf16", "f16", "f32")),
    "numerics": Option("text", _MODEL, _TEXTS["numerics"], "same|fast", None, ("same", "fast")),
    "sign": Option("text", _GENERAL, "sign the program with this private Ed25519 key, a PEM file; the signature is written next to it, to <file>.sig", "key.pem"),
    "observe": Option("flag", _GENERAL, _TEXTS["observe"], default=False),
    "check": Option("flag", _MODEL, "list unsupported nodes without compiling; the exit code is 1 if there are any", default=False),
    "list-operators": Option("text", _MODEL, "list the supported operators of a front end (onnx, torch, stablehlo, tosa, or one of a plug-in, such as tflite), with source location; of ONNX also the first version; --list-onnx-operators is --list-operators=onnx", "front-end"),
    "partition": Option("list", _PARTS, "external codegens, in order of priority, that compile the parts of the model with their patterns: mynpu{cores=4},dnnl; prints a table of the parts", "codegens"),
    "partition-plan": Option("text", _PARTS, "assignment of operators to codegens: by the order of codegens and patterns (priority, the default), by cost (cost), or by a registered planner", "plan", "priority"),
    "strict-partition": Option("flag", _PARTS, _TEXTS["strict_partition"], default=False),
    "partition-elsewhere": Option("flag", _PARTS, _TEXTS["partition_elsewhere"], default=False),
    "explain-partition": Option("flag", _PARTS, "print, for each operator that stays with the target, the nearest pattern and the reason for the mismatch", default=False),
    "tuned": Option("text", _MODEL, "folder of tuned kernels (relax-tune), with plans that override the target's where they fit this machine", "folder"),
    "no-tuned": Option("flag", _MODEL, "do not use the tuned kernels that come with the target", default=False),
    "explain-schedules": Option("flag", _WATCH, "print the schedule rule and the tensor intrinsics of each kernel, and the reasons why your rules and intrinsics are unused", default=False),
    "list-codegens": Option("flag", _PARTS, "list the external codegens, with their patterns", default=False),
    "jobs": Option("number", _SPEED, _TEXTS["jobs"], "n"),
    "cache-dir": Option("text", _SPEED, "folder of the cache for programs and kernels; default: $RELAX_MLIR_CACHE, else relax-mlir in the user's cache folder", "folder"),
    "no-cache": Option("flag", _SPEED, "do not read or write the cache", default=False),
    "cache-info": Option("flag", _SPEED, "print the content and the folder of the cache, without compiling", default=False),
    "clear-cache": Option("flag", _SPEED, "empty the cache, without compiling", default=False),
    "save-ir-dir": Option("text", _WATCH, "write the module after each stage to this folder, without large constants", "folder"),
    "report": Option("text", _WATCH, "write an HTML file that shows the graph from nodes to kernels, memory and times", "file.html"),
    "compare": Option("text", _WATCH, "with --report: compare with an earlier report", "old.html"),
    "report-shape": Option("list", _WATCH, "dynamic sizes of an input for the times in the report", "input:sizes"),
    "v": Option("flag", _WATCH, "print the time of each stage, the current kernels of a long compilation, and the machine that is assumed", default=False),
    "load-plugin": Option("list", _WATCH, "import this Python module or file first, to register operators, converters and targets; repeatable", "module"),
    **COMMON_OPTIONS,
}  # fmt: skip

#: Options that need no input file.
_ALONE = ("cache-info", "clear-cache", "list-operators", "list-codegens")

#: Long form of --list-operators.
_LIST = re.compile(r"^--?list-(\w+)-operators$")

HELP_HEAD = (
    "relax-compile: compiles a model of ONNX, torch, StableHLO, TOSA or a plug-in, or a module of relax",
    "",
    "usage: relax-compile [options] <model.onnx | .pt2 | module.mlir>  (-: a module from stdin)",
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
    arguments = parse_arguments([_LIST.sub(r"--list-operators=\1", text) for text in argv], OPTIONS)
    if arguments.asks or any(arguments[name] for name in _ALONE):
        return arguments
    if len(arguments.files) != 1:
        given = ", ".join(arguments.files) or "none"
        raise OptionError(f"expected one input file, model.onnx, model.pt2 or module.mlir, got {given}")
    if arguments["jobs"] == 0:
        raise OptionError("option --jobs expects at least 1")
    for name, what in (("cache-dir", "folder"), ("schedules", "file"), ("tuned", "folder")):
        if arguments[name] == "":
            raise OptionError(f"option --{name} expects a {what}")
    if arguments["tuned"] and arguments["no-tuned"]:
        raise OptionError("--no-tuned uses no tuned kernels, and --tuned those of a folder: give one of them")
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
    if is_model(arguments.files[0]):
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
