# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the model zoo: a model, its arguments and its dynamic dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn


class Case(NamedTuple):
    """A model and the arguments of a call. `dynamic` names the dynamic dimensions by argument: `{0: "batch"}`."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    dynamic: Any = None


Builder = Callable[[], Case]
ZOO: dict[str, Builder] = {}

BATCH = {0: "batch"}
TOKENS = {0: "batch", 1: "length"}


def case(name: str) -> Callable[[Builder], Builder]:
    """Register a builder under the name of its architecture."""

    def add(build: Builder) -> Builder:
        ZOO[name] = build
        return build

    return add


def image(size: int = 64, channels: int = 3, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, channels, size, size)


def tokens(batch: int = 2, length: int = 7, vocabulary: int = 99) -> torch.Tensor:
    return torch.randint(3, vocabulary, (batch, length))
