# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-bisect: reads a model, creates inputs, and reports the cause of wrong results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from relax_mlir.compilation.compiling import compile
from relax_mlir.frontends.module import Module
from relax_mlir.runtime.manifest import parse_signature
from relax_mlir.support.files import write_whole
from relax_mlir.support.plugins import load_plugin
from relax_mlir.tools.common.command_line import Arguments, known_shape, parse_shapes, write_text
from relax_mlir.tools.common.models import read_model
from relax_mlir.tools.opt.information import shows_information
from relax_mlir.tools.run.inputs import make_inputs, read_inputs

from ..run_each import tell, write_case
from ..testing.bisect import PROGRAM, Culprit, bisect
from ..testing.each import each
from .options import HELP_HEAD, OPTIONS, parse


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code. Raise RelaxError."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-bisect", HELP_HEAD, OPTIONS, has_mlir=True):
        return 0
    for name in arguments["load-plugin"] or ():
        load_plugin(name)
    module = read_model(arguments.files[0], trust=arguments["trust"])
    inputs = _inputs(module, arguments, stderr)
    chosen: dict[str, Any] = {
        "target": arguments["target"], "partition": arguments["partition"] or (), "tolerance": arguments["tolerance"],
    }  # fmt: skip
    if arguments["each"]:
        return tell(each(module, inputs, **chosen), arguments, stdout, "the model")
    culprit = bisect(module, inputs, **chosen, say=lambda text: None if arguments["q"] else _say(stderr, text))
    if culprit is None:
        text = "nothing is wrong: the whole program and each kernel and part give what the reference gives\n"
        write_text(stdout, text)
        return 0
    write_text(stdout, f"{culprit}\n")
    _write(culprit, arguments)
    return 2 if culprit.kind == PROGRAM else 1


def _inputs(module: Module, arguments: Arguments, stderr: TextIO) -> list[Any]:
    signature = parse_signature(compile(module).signature("main"))
    inputs = read_inputs(signature, arguments["input"] or ())
    shapes = parse_shapes(arguments["shape"], known_shape)
    values, notes = make_inputs(signature, inputs, shapes, arguments["seed"])
    for note in notes:
        stderr.write(f"relax-bisect: note: {note}\n")
    return list(values.values())


def _say(stderr: TextIO, text: str) -> None:
    stderr.write(f"trying: {text}\n")
    stderr.flush()


def _write(culprit: Culprit, arguments: Arguments) -> None:
    if arguments["o"] is not None and culprit.module is not None:
        write_whole(arguments["o"], f"{culprit.module}\n".encode("utf-8", "surrogateescape"))
    if arguments["inputs"] is not None:
        write_case(arguments["inputs"], culprit.inputs, culprit.expected)
