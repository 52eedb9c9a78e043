# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folder of a compiled model: program, tokenizer, template and description. Loading it compiles nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import relax_mlir as rx

from .chat_template import ChatTemplate
from .description import Description
from .weight_store import load_program

if TYPE_CHECKING:
    from .ranks import RankGroup
    from .tokenizer import Tokenizer

PROGRAM, _TEMPLATE, _DESCRIPTION = "program.rxa", "template.json", "model.json"
#: Bytes of each token in hexadecimal, one token a line, for programs without Python (examples/cpp/chat.cpp).
_TEXTS = "tokens.hex"


@dataclass(frozen=True, eq=False)
class Saved:
    """Parts of a compiled model."""

    description: Description
    program: rx.runtime.Executable
    tokenizer: Tokenizer
    template: ChatTemplate
    #: Ranks of a model that several ranks compute. The program is the one of rank 0.
    ranks: RankGroup | None = None

    def with_context(self, path: object, context: int | None) -> Saved:
        """Return the same program for another context; None for the same one."""
        return dataclasses.replace(self, description=self.description.with_context(path, context))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a folder. The folder appears when it is complete; an existing model is replaced."""
        folder = Path(path)
        if self.ranks is not None:
            raise rx.RefusalError("a model of several ranks cannot be saved: load it without mesh=, and save it then")
        if folder.exists() and not is_saved(folder):
            raise rx.OptionError(f"{folder} exists and is no saved model: choose another name, or remove it")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                self._write_files(made)
                if folder.exists():
                    shutil.rmtree(folder)
                made.rename(folder)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        except OSError as error:
            raise rx.ArtifactError(f"cannot write {folder}: {error.strerror or error}") from None

    def _write_files(self, folder: Path) -> None:
        self.program.save(folder / PROGRAM)
        self.tokenizer.save(folder)
        template = {"text": self.template.text, "bos": self.template.bos, "eos": self.template.eos}
        (folder / _TEMPLATE).write_text(json.dumps(template), encoding="utf-8")
        if self.tokenizer.has_texts:
            texts = self.tokenizer.all_bytes(self.description.vocabulary)
            (folder / _TEXTS).write_text("".join(f"{text.hex()}\n" for text in texts), encoding="ascii")
        self.description.write(folder / _DESCRIPTION)


def is_saved(folder: Path) -> bool:
    """Check whether a folder has a saved model."""
    return (folder / _DESCRIPTION).is_file() and (folder / PROGRAM).is_file()


def read_saved(folder: Path) -> Saved:
    """Read a folder with a saved model."""
    from .tokenizer import Tokenizer

    description = Description.read(folder / _DESCRIPTION)
    program = load_program(folder / PROGRAM)
    try:
        template = ChatTemplate(**json.loads((folder / _TEMPLATE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise rx.ArtifactError(f"{folder / _TEMPLATE} is damaged: {error}; save the model again") from None
    return Saved(description, program, Tokenizer.load(folder), template)
