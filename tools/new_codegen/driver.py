# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver of relax-new-codegen: fills in the templates, and writes all files or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ...passes.partition.codegen import all_codegens
from ...support.errors import OptionError
from ...support.version import VERSION
from ..common.command_line import write_text
from ..opt.information import shows_information
from .options import HELP_HEAD, OPTIONS, parse

_ENDING = ".in"
#: Optional parts. Template lines that begin with `@operator@` belong to that part.
_PARTS = ("operator", "target", "quantized", "process")
#: Parts used unless another one is requested: f32 layers, and a unit in the program's own process.
_OTHERWISE = {"quantized": "real", "process": "local"}


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the tool and return the exit code. Raise RelaxError."""
    arguments = parse(argv)
    if shows_information(arguments, stdout, "relax-new-codegen", HELP_HEAD, OPTIONS, has_mlir=True):
        return 0
    name = arguments.files[0]
    if name in {each.name for each in all_codegens()}:
        raise OptionError(f"there is a codegen '{name}' already: choose another name")
    folder = Path(arguments["o"] or name)
    parts = [part for part in _PARTS if arguments[part]]
    files = package(name, parts)
    _write(folder, files)
    write_text(stdout, f"{folder}: {len(files)} files\n" + _next_steps(folder))
    return 0


def package(name: str, parts: Sequence[str] = ()) -> dict[str, str]:
    """Return the files of a package by path."""
    parts = (*(other for part, other in _OTHERWISE.items() if part not in parts), *parts)
    camel = "".join(word.title() for word in name.split("_"))
    words = {"name": name, "Name": camel, "NAME": name.upper(), "version": VERSION}
    files: dict[str, str] = {}
    for part in ("codegen", *parts):
        for path, text in _templates(part):
            files[_filled(path, words)] = _filled(_chosen(text, parts), words)
    return files


def _templates(part: str) -> Iterator[tuple[str, str]]:
    root = Path(__file__).parent / "templates" / part
    for file in sorted(root.rglob(f"*{_ENDING}")):
        yield str(file.relative_to(root)).removesuffix(_ENDING), file.read_text(encoding="utf-8")


def _chosen(text: str, parts: Sequence[str]) -> str:
    """Keep unmarked lines and lines of the chosen parts, without marks such as `@operator@`."""
    lines = []
    for line in text.splitlines(keepends=True):
        for part in (*_OTHERWISE.values(), *_PARTS):
            mark = f"@{part}@"
            if line.startswith(mark):
                line = line.removeprefix(mark) if part in parts else ""
        lines.append(line)
    return "".join(lines)


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _write(folder: Path, files: dict[str, str]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(f"'{folder}' is there already, and not an empty folder: -o names another one")
    # The folder is written under a temporary name and renamed, so that it is complete or absent.
    made = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        for path, text in files.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, encoding="utf-8")
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
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
