# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of the front ends, which read models of other formats, by name and by suffix of files.

This module imports no front end and no MLIR: `FrontEnd.load` imports what reads a model. The plug-in of a front end
is announced as `frontend.NAME` and registers it with a light module (support/plugins.py).
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..support.blaming import blaming, place_of
from ..support.errors import OptionError, RelaxError
from ..support.plugins import load_plugins, missing_plugin, plugin_problems
from ..support.suggest import suggest

if TYPE_CHECKING:
    from .module import Module
    from .reader import Reader

#: Suffixes of modules: MLIR as text and as bytecode, TVMScript. No front end may take these, nor that of programs.
MODULE_SUFFIXES = (".mlir", ".mlirbc", ".py")
_RESERVED = {**dict.fromkeys(MODULE_SUFFIXES, "modules"), ".rxa": "compiled programs"}
#: Names that mean something else to tools and in entry points, such as `pass.NAME`.
_NO_NAMES = ("dialect", "pass", "target", "codegen", "runtime", "rules", "frontend", "module")
#: Suffixes of front ends in the wheel's plug-ins, for the message that one is missing.
_SUFFIXES_OF_PLUGINS = {".pt2": "torch", ".tflite": "tflite"}
#: Number of bytes at the start of a file that `recognizes` gets.
_HEAD = 16

#: A function from (path, inputs by name, number of threads, whether code in the file may run) to the name of another
#: implementation, and a function that runs the model there and returns the outputs by name.
Peer = Callable[[str, Mapping[str, Any], int, bool], tuple[str, Callable[[], Mapping[str, Any]]]]


@dataclass(frozen=True)
class FrontEnd:
    """Front end: a name, the suffixes of its files, and a function that loads its reader.

    `load` imports the reader, for instance `lambda: importlib.import_module("acme.reading").READER`. `recognizes` gets
    the first bytes of a file with an unknown suffix. `hint` is the expression that reads a file in Python, for
    messages. `peer` runs a model in another implementation, for `relax-run --compare`.
    """

    name: str
    suffixes: tuple[str, ...]
    load: Callable[[], Reader]
    recognizes: Callable[[bytes], bool] | None = None
    hint: str = ""
    peer: Peer | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name in _NO_NAMES:
            raise RelaxError(
                f"front end {self.name!r}: its name must be an identifier, such as 'acme', and none of "
                f"{', '.join(_NO_NAMES)}"
            )
        for suffix in self.suffixes:
            if not suffix.startswith(".") or suffix != suffix.lower() or os.sep in suffix:
                raise RelaxError(
                    f"front end '{self.name}': suffix {suffix!r} must begin with a dot and be in lower case, as '.acme'"
                )

    @property
    def place(self) -> str:
        """Return the source location of `load`."""
        return place_of(self.load)

    def guarded(self) -> blaming:
        """Return a context for calls of the front end's functions.

        Exceptions of another package's functions become a RelaxError that names the front end.
        """
        return blaming(f"the front end '{self.name}'", self.load)

    def read(self, source: object, **options: object) -> Module:
        """Import a model. Raise RelaxError if the import fails."""
        with self.guarded():
            return self.load().read(source, **options)


_FRONT_ENDS: dict[str, FrontEnd] = {}
_adding = threading.RLock()


def register_front_end(front_end: FrontEnd) -> None:
    """Add a front end. Its converters, if it has some, are another registry.

    Raises RelaxError if a name or a suffix is taken. A front end with the same location replaces the earlier one, as in
    a notebook's cell that is run again.
    """
    with _adding:
        for suffix in front_end.suffixes:
            if suffix in _RESERVED:
                raise RelaxError(
                    f"front end '{front_end.name}' cannot read '*{suffix}': these files are {_RESERVED[suffix]}"
                )
        for taken in _FRONT_ENDS.values():
            _check_free(front_end, taken)
        _FRONT_ENDS[front_end.name] = front_end


def _check_free(front_end: FrontEnd, taken: FrontEnd) -> None:
    if front_end.name == taken.name:
        if front_end.place == taken.place:
            return
        raise RelaxError(
            f"there is a front end '{taken.name}' already: {taken.place}", notes=[f"the second is {front_end.place}"]
        )
    for suffix in front_end.suffixes:
        if suffix in taken.suffixes:
            raise RelaxError(
                f"front end '{front_end.name}' cannot read '*{suffix}': the front end '{taken.name}' reads these files",
                notes=[f"'{end.name}' is registered by {end.place}" for end in (front_end, taken)],
            )


def find_front_end(path: str | os.PathLike[str]) -> FrontEnd | None:
    """Return the front end that reads a file, by the suffix, else by the first bytes. Return None if there is none.

    Plug-ins are imported only for a suffix that no front end has yet. Modules of MLIR and TVMScript have no front end.
    """
    if (suffix := os.path.splitext(path)[1].lower()) in _RESERVED:
        return None
    front_end = _find_by_suffix(suffix)
    head = b"" if front_end is not None else _head(path)
    if front_end is not None or not (suffix or head):
        return front_end
    load_plugins("frontend")
    return _find_by_suffix(suffix) or _find_by_content(head)


def _find_by_suffix(suffix: str) -> FrontEnd | None:
    return next((end for end in list(_FRONT_ENDS.values()) if suffix in end.suffixes), None)


def _find_by_content(head: bytes) -> FrontEnd | None:
    for end in list(_FRONT_ENDS.values()):
        if end.recognizes is not None:
            with end.guarded():
                if end.recognizes(head):
                    return end
    return None


def _head(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of a regular file. A read would remove the bytes of a pipe."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except (OSError, ValueError):  # ValueError: text that is no path
        return b""


def front_end_named(name: str) -> FrontEnd:
    """Return the front end of a name. Raise OptionError with all names if there is none."""
    if name not in _FRONT_ENDS:
        load_plugins("frontend", name)
    if name in _FRONT_ENDS:
        return _FRONT_ENDS[name]
    if missing := missing_plugin(f"frontend.{name}"):
        raise OptionError(f"front end '{name}': {missing}", notes=plugin_problems())
    known = [end.name for end in all_front_ends()]
    raise OptionError(
        f"unknown front end '{name}'{suggest(name, known)} (registered: {', '.join(known)})", notes=plugin_problems()
    )


def all_front_ends() -> list[FrontEnd]:
    """Return the front ends of the compiler and of plug-ins, sorted by name."""
    load_plugins("frontend")
    return [end for _, end in sorted(_FRONT_ENDS.items())]


def model_suffixes() -> list[str]:
    """Return the suffixes of all front ends' files."""
    return [suffix for end in all_front_ends() for suffix in end.suffixes]


def unknown_file(path: str) -> OptionError:
    """Return the error for a file that no front end reads."""
    name = _SUFFIXES_OF_PLUGINS.get(os.path.splitext(path)[1].lower())
    missing = [f"front end '{name}': {missing_plugin(f'frontend.{name}')}"] if name else []
    known = ", ".join((*model_suffixes(), *MODULE_SUFFIXES))
    return OptionError(
        f"cannot tell what '{path}' is by its name: expected one that ends with {known}",
        notes=[*missing, *plugin_problems()],
    )


def _onnx() -> Reader:
    reader: Reader = importlib.import_module(".onnx.from_onnx", __package__).READER
    return reader


register_front_end(FrontEnd("onnx", (".onnx", ".pb"), _onnx, hint="rx.from_onnx(path)"))
