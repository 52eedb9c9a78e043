# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models: `rx.llm.load`, `relax-chat`, `rx.llm.Scheduler`, `relax-serve`."""

from __future__ import annotations

from .engine import Engine, Step
from .generated import Generated
from .loading import load
from .model import Model
from .paged_engine import PagedEngine

__all__ = ["Engine", "Generated", "Model", "PagedEngine", "Step", "load"]
