# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-new-codegen: fills in the templates, and writes all files or none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TextIO

from ...dialects.core.dialect import registered_dialects
from ...passes.graph.partition.codegen import all_codegens
from ...support.errors import OptionError
from ...support.version import VERSION
from ...targets.core.registry import all_targets
from ..common.command_line import write_text
from ..opt.information import shows_information
from .options import CHOICES, HELP_HEAD, OPTIONS, parse

_ENDING = ".in"
#: Optional parts of a package. Template lines that begin with `@operator@` belong to that part.
_PARTS = ("operator", "target", "quantized", "process", "native")
#: Parts used unless another one is requested: f32 layers, a unit of NumPy, in the program's own process.
_OTHERWISE = {"quantized": "real", "process": "local", "native": "numpy"}
#: Words of templates by the choice of an option.
_WORDS: dict[str, dict[str, str]] = {
    "i8": {"short": "i8", "dtype": "int8", "mlir": "i8", "least": "-128", "most": "127", "c_data": "int8_t"},
    "u8": {"short": "u8", "dtype": "uint8", "mlir": "ui8", "least": "0", "most": "255", "c_data": "uint8_t"},
    "NCHW": {"layout": "NCHW", "kernel_layout": "OIHW", "image_shape": "(3, 9, 8)"},
    "NHWC": {"layout": "NHWC", "kernel_layout": "HWIO", "image_shape": "(9, 8, 3)"},
    "float": {"form": "float", "rounding": "half_even", "powers": "", "c_multiplier": "float", "loss": "0.05"},
    "q31": {"form": "q31>>shift", "rounding": "half_away", "powers": "", "c_multiplier": "int32_t", "loss": "0.05"},
    "q15": {"form": "q15>>shift", "rounding": "half_away", "powers": "", "c_multiplier": "int16_t", "loss": "0.05"},
    "power_of_two": {
        "form": "power_of_two",
        "rounding": "half_away",
        "powers": " power_of_two",
        "c_multiplier": "int8_t",
        "loss": "0.1",
    },
}
#: Marks at the beginning of a template line.
_MARK = re.compile(f"@({'|'.join((*_PARTS, *_OTHERWISE.values(), *(word.lower() for word in _WORDS), 'fixed'))})@")
_MARKS = re.compile(f"(?:{_MARK.pattern})*")
#: Requantizations of integers only.
_FIXED = ("q31", "q15", "power_of_two")


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code. Raise RelaxError."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-new-codegen", HELP_HEAD, OPTIONS, has_mlir=True):
        return 0
    name = arguments.files[0]
    taken = {
        "codegen": [codegen.name for codegen in all_codegens()],
        "target": [target.name for target in all_targets()],
        "dialect": registered_dialects(),
    }
    for kind, names in taken.items():
        if name in names:
            raise OptionError(f"there is a {kind} '{name}' already: choose another name")
    folder = Path(arguments["o"] or name)
    parts = [part for part in _PARTS if arguments[part]]
    files = package(name, parts, [arguments[choice] for choice in CHOICES if arguments[choice]])
    _write(folder, files)
    write_text(stdout, f"{folder}: {len(files)} files\n" + _next_steps(folder))
    return 0


def package(name: str, parts: Sequence[str] = (), choices: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of a package by path. A choice of the unit, such as "u8", and the native part are quantized."""
    if choices or "native" in parts:
        parts = (*parts, "quantized")
    chosen = [next((each for each in choice if each in choices), choice[0]) for choice in CHOICES.values()]
    others = [other for part, other in _OTHERWISE.items() if part not in parts]
    parts = tuple(dict.fromkeys((*others, *parts)))
    labels = {*parts, *(each.lower() for each in chosen), *(["fixed"] if chosen[-1] in _FIXED else [])}
    camel = "".join(word.title() for word in name.split("_"))
    words = {"name": name, "Name": camel, "NAME": name.upper(), "version": VERSION}
    words["share"] = "0.1" if "quantized" in parts else "0.2"
    for each in chosen:
        words |= _WORDS[each]
    files: dict[str, str] = {}
    for part in ("codegen", *parts):
        for path, text in _templates(part):
            files[_fill_words(path, words)] = _fill_words(_choose(text, labels), words)
    return files


def _templates(part: str) -> Iterator[tuple[str, str]]:
    root = Path(__file__).parent / "templates" / part
    for file in sorted(root.rglob(f"*{_ENDING}")):
        yield str(file.relative_to(root)).removesuffix(_ENDING), file.read_text(encoding="utf-8")


def _choose(text: str, labels: Set[str]) -> str:
    """Keep lines without marks such as `@operator@`, and lines of which all marks are chosen."""
    lines = []
    for line in text.splitlines(keepends=True):
        marks = _MARKS.match(line)
        assert marks is not None
        if labels >= set(_MARK.findall(marks[0])):
            lines.append(line[marks.end() :])
    return "".join(lines)


def _fill_words(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _write(folder: Path, files: dict[str, str]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(f"'{folder}' is there already, and not an empty folder: -o names another one")
    # The files are written under a temporary name and renamed, so that they are complete or absent. An existing folder
    # stays: it may be the current one.
    place = folder.resolve()
    made = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        for path, text in files.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, encoding="utf-8")
        if not place.exists():
            made.rename(place)
            return
        for file in sorted(made.iterdir()):
            file.rename(place / file.name)
        made.rmdir()
    except OSError as error:
        import shutil

        shutil.rmtree(made, ignore_errors=True)
        raise OptionError(f"cannot write '{folder}': {error}") from None


def _next_steps(folder: Path) -> str:
    return (
        f"next: make -C {folder} fresh (its tests in an environment of its own), or cd {folder} && "
        "pip install -e '.[test]' && make test\n"
        "then replace unit.py, which stands for the hardware, and the patterns in codegen.py\n"
    )
