# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Description of a compiled model: the sizes that engines and callers need."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import relax_mlir as rx

from .load_options import check_context
from .page_layout import PageLayout
from .pooling import Pooling

#: Version of the layout of saved models.
_FORMAT = 1
#: Functions of a program. They return logits, hidden states in front of the head, and logits that adapters change.
LOGITS, HIDDEN, ADAPTED = "main", "hidden", "adapted"


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
    #: The program has embeddings only.
    is_encoder: bool = False
    #: Names of the adapters in the program.
    adapters: tuple[str, ...] = ()
    #: Largest context of the program, which also has the shorter ones. None: the program is for `context` only.
    most_context: int | None = None

    def with_context(self, path: object, context: int | None) -> Description:
        """Return the description of the same program with another context; None for the same one."""
        if context in (None, self.context):
            return self
        if self.most_context is None:
            raise rx.OptionError(
                f"context={context}: {path} was compiled for a context of {self.context}, on which its rope depends: "
                "load the model's own files"
            )
        check_context(path, context, self.most_context)
        return dataclasses.replace(self, context=context)

    @property
    def page_size(self) -> int:
        """Return the number of tokens in a page."""
        return self.pages.page_size

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({"format": _FORMAT, **dataclasses.asdict(self)}, indent=1), encoding="utf-8")

    def adapter_number(self, name: str | None) -> int:
        """Return the number of an adapter, as in `Step.adapters`."""
        if name is None:
            return 0
        if name in self.adapters:
            return self.adapters.index(name) + 1
        known = f"it has {', '.join(self.adapters)}" if self.adapters else "load the model with `adapters`"
        raise rx.OptionError(f"adapter='{name}': {self.name} has no such adapter; {known}")

    @classmethod
    def read(cls, path: Path) -> Description:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if (found := values.pop("format")) == _FORMAT:
                adapters = tuple(values.pop("adapters", ()))
                return cls(**{**values, "pages": PageLayout(**values["pages"])}, adapters=adapters)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise rx.ArtifactError(f"{path} is damaged: {error}; save the model again") from None
        raise rx.ArtifactError(f"{path} has the format {found}, expected {_FORMAT}: save the model again")
