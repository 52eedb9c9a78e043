# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models: `rx.llm.load`, `relax-chat`, `rx.llm.Scheduler`, `relax-serve`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .engine import Engine, Step
from .generated import Generated
from .loading import load
from .model import Model
from .paged_engine import PagedEngine

if TYPE_CHECKING:
    from .grammar import GrammarCompiler
    from .requests import Output, Request, SamplingParameters, Token, TokenMask
    from .scheduler import Scheduler

#: Names in modules that a chat does not import.
_LAZY = {
    "GrammarCompiler": "grammar",
    "Output": "requests",
    "Request": "requests",
    "SamplingParameters": "requests",
    "Scheduler": "scheduler",
    "Token": "requests",
    "TokenMask": "requests",
}

__all__ = [
    "Engine",
    "Generated",
    "GrammarCompiler",
    "Model",
    "Output",
    "PagedEngine",
    "Request",
    "SamplingParameters",
    "Scheduler",
    "Step",
    "Token",
    "TokenMask",
    "load",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}' (it has {', '.join(__all__)})")
    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
