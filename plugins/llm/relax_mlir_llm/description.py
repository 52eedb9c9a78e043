# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Description of a compiled model: the sizes that engines and callers need."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import relax_mlir as rx

from .page_layout import PageLayout
from .pooling import Pooling

#: Version of the layout of saved models.
_FORMAT = 1
#: Functions of a program: one returns logits, one returns the hidden states in front of the head.
LOGITS, HIDDEN = "main", "hidden"


@dataclass(frozen=True)
class Description:
    """Sizes of a compiled model, and the names of its origin."""

    name: str
    architecture: str
    target: str
    vocabulary: int
    context: int
    pages: PageLayout
    #: Numbers in a hidden state.
    width: int = 0
    #: Pooling of embeddings unless a call names another one. None: the program lacks the function `hidden`.
    pooling: Pooling | None = None

    @property
    def page_size(self) -> int:
        """Return the number of tokens in a page."""
        return self.pages.page_size

    def write(self, path: Path) -> None:
        values = {"format": _FORMAT, **dataclasses.asdict(self)}
        path.write_text(json.dumps(values, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Description:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            found = values.pop("format")
            if found == _FORMAT:
                return cls(**{**values, "pages": PageLayout(**values["pages"])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise rx.ArtifactError(f"{path} is damaged: {error}; save the model again") from None
        raise rx.ArtifactError(f"{path} has the format {found}, expected {_FORMAT}: save the model again")
