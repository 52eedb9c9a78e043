# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-quantize: reads a model, quantizes a function, and writes files atomically."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from relax_mlir.support.plugins import load_plugin
from relax_mlir.support.suggest import counted
from relax_mlir.tools.common.command_line import Arguments, plugin_warnings, write_text
from relax_mlir.tools.opt.information import shows_information

from .options import HELP_HEAD, OPTIONS, byte_limit, parse, strength
from .score_file import load_evaluate

if TYPE_CHECKING:
    from relax_mlir.frontends.module import Module

    from ..quantize import Quantized


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code. Raise RelaxError."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-quantize", HELP_HEAD, OPTIONS, has_mlir=True):
        return 0
    for name in arguments["load-plugin"] or ():
        load_plugin(name)
    if arguments["list-recipes"]:
        from ..recipes.recipe_registry import names_with_recipe

        write_text(stdout, "".join(f"{name}\n" for name in names_with_recipe()))
        stderr.write(plugin_warnings("relax-quantize"))
        return 0
    return _run(arguments, stdout, stderr)


def _run(arguments: Arguments, stdout: TextIO, stderr: TextIO) -> int:
    from relax_mlir.support.files import refuse_overwriting, refuse_unwritable, write_all

    source, output = arguments.files[0], arguments["o"]
    written = {"-o": output} | {f"--{name}": arguments[name] for name in ("json", "html", "resume")}
    for path in written.values():
        refuse_unwritable(path)
    refuse_overwriting(written, [source, arguments["data"], *filter(None, [arguments["evaluate"]])])
    quantized = _quantize(source, arguments, stderr)
    files = {output: _encode(quantized.module, output, arguments["function"])}
    if arguments["json"] is not None:
        files[arguments["json"]] = (json.dumps(quantized.report.to_dict(), indent=1) + "\n").encode()
    if arguments["html"] is not None:
        files[arguments["html"]] = quantized.report.html().encode()
    write_all(files)
    _tell(quantized, arguments, stdout, stderr)
    return 0


def _quantize(source: str, arguments: Arguments, stderr: TextIO) -> Quantized:
    from relax_mlir.tools.common.models import read_model
    from relax_mlir.tools.compile.progress import Progress

    from ..quantize import quantize
    from ..recipes.recipe_files import ENDING, read_recipe

    progress = Progress(stderr)
    if arguments["q"]:
        progress = Progress(open(os.devnull, "w"))  # noqa: SIM115  # open as long as the process
    progress.count = 3 if arguments["measure"] else 2
    evaluate = None if arguments["evaluate"] is None else load_evaluate(arguments["evaluate"])
    with progress.step("import"):
        module = read_model(source, trust=arguments["trust"])
    with progress.step("quantize"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        for_ = read_recipe(arguments["for"]) if arguments["for"].endswith(ENDING) else arguments["for"]
        quantized = quantize(
            module,
            arguments["data"],
            for_,
            function=arguments["function"],
            layout=arguments["layout"],
            calibrate=arguments["calibrate"],
            samples=arguments["samples"],
            keep=arguments["keep"] or (),
            smooth=strength(arguments),
            equalize=not arguments["no-equalize"],
            clip_weights=not arguments["no-clip-weights"],
            bias_correction=not arguments["no-bias-correction"],
            resume=arguments["resume"],
            progress=lambda done, count: progress.piece("samples", done, count),
            snr=arguments["snr"],
            drop=arguments["drop"],
            evaluate=evaluate,
            bytes=byte_limit(arguments),
            tell=lambda text: progress.note(f"relax-quantize: {text}"),
        )
    if arguments["measure"]:
        with progress.step("measure"):
            quantized.report.measure(progress=lambda done, count: progress.piece("samples", done, count))
    for each in caught:
        stderr.write(f"relax-quantize: warning: {each.message}\n")
    return quantized


def _encode(module: Module, path: str, function: str) -> bytes:
    """Return the file's bytes in the format of its ending."""
    if (ending := os.path.splitext(path)[1]) == ".mlirbc":
        return module.bytecode()
    if ending == ".mlir":
        text = module.print(debug_info=True, assume_verified=True).rstrip("\n") + "\n"
        return text.encode("utf-8", "surrogateescape")
    from relax_mlir import to_onnx

    return bytes(to_onnx(module, function=function).SerializeToString())


def _tell(quantized: Quantized, arguments: Arguments, stdout: TextIO, stderr: TextIO) -> None:
    report = quantized.report
    if arguments["table"]:
        reasons = [f"{line}\n" for line in report.reasons()]
        write_text(stdout, report.table() + ("\nin floating point:\n" if reasons else "") + "".join(reasons))
    if not arguments["q"]:
        layers, kept = counted(len(report.rows), "layer"), counted(len(report.kept), "node")
        text = f"{layers} quantized, {kept} in floating point"
        stderr.write(f"relax-quantize: note: {text}\n")
