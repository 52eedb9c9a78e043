# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-new-codegen."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one

_PACKAGE, _UNIT = "Package", "Unit of a quantized codegen"
#: Options of the unit, by the label of the part that they choose. Each of them implies --quantized.
CHOICES = {
    "activations": ("i8", "u8"),
    "layout": ("NCHW", "NHWC"),
    "requantize": ("float", "q31", "q15", "power_of_two"),
}

OPTIONS: dict[str, Option] = {
    "o": Option("text", _PACKAGE, "new or empty folder for the package; default ./<name>", "folder"),
    "quantized": Option("flag", _PACKAGE, "write a codegen for layers of bytes instead of f32 layers", default=False),
    "process": Option("flag", _PACKAGE, "run the unit in a separate process, like a board behind a socket: write its server and the program's connection", default=False),
    "target": Option("flag", _PACKAGE, "also write a target with a rule, for operators outside of the parts", default=False),
    "operator": Option("flag", _PACKAGE, "also write a dialect with an operator: its row, reference, rule and pattern", default=False),
    "activations": Option("text", _UNIT, "integers between layers, signed or unsigned; default i8. This and the next options imply --quantized", "i8|u8", choices=CHOICES["activations"]),
    "layout": Option("text", _UNIT, "layout of images, with kernels OIHW or HWIO; default NCHW", "NCHW|NHWC", choices=CHOICES["layout"]),
    "requantize": Option("text", _UNIT, "how sums become bytes: times a number of f32, times an integer of 32 or 16 bits and shifted, or shifted; default float", "float|q31|q15|power_of_two", choices=CHOICES["requantize"]),
    "native": Option("flag", _UNIT, "write the unit in C: parts are constant data and C functions, which programs run without Python, also in C++ and on microcontrollers", default=False),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-new-codegen: writes an installable package of a codegen, with its runtime, tests and pages",
    "",
    "usage: relax-new-codegen [options] <name>",
    "",
    "  relax-new-codegen mynpu",
    "  cd mynpu && pip install -e '.[test]' && make test",
    "  relax-new-codegen mynpu && make -C mynpu fresh        (tested in an environment of its own)",
    "  relax-new-codegen mychip --activations=u8 --layout=NHWC --requantize=q15 --native",
    "",
    "It takes dense layers at once, --quantized linear layers and convolutions of bytes, and numpy stands for the hardware,",
    "with --process behind a socket, with --native C: replace that, then the patterns.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the wrong argument."""
    return parse_one(argv, OPTIONS, "the codegen's name", _check)


def _check(arguments: Arguments) -> None:
    name = arguments.files[0]
    if not (name.isascii() and name.isidentifier() and name == name.lower()) or keyword.iskeyword(name):
        raise OptionError(f"a codegen's name must be a Python identifier in lower case, such as mynpu, got '{name}'")
    if arguments["native"] and arguments["process"]:
        raise OptionError("--native and --process exclude each other: C code runs in the program's own process")
