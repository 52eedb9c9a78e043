# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes and pipelines that the MLIR wheel registers: names, descriptions, options.

The bindings can parse a pass by name but cannot list the names. tools/dev/gen_upstream_passes.py writes this list from
the wheel's registry.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple


class UpstreamOption(NamedTuple):
    """Option of an upstream pass. `default` is None for lists, which are empty, and for options of pipelines."""

    name: str
    default: str | None
    description: str


class UpstreamPass(NamedTuple):
    """Pass, or pipeline: a name that MLIR's parser expands to several passes."""

    name: str
    description: str
    options: tuple[UpstreamOption, ...]
    is_pipeline: bool


@functools.cache
def upstream_passes() -> Mapping[str, UpstreamPass]:
    """Return all passes and pipelines of the wheel by name, sorted. The list is read on first use."""
    entries = json.loads(Path(__file__).with_suffix(".json").read_bytes())["passes"]
    return MappingProxyType({name: _upstream_pass(name, entry) for name, entry in entries.items()})


def _upstream_pass(name: str, entry: dict) -> UpstreamPass:
    options = tuple(UpstreamOption(**option) for option in entry["options"])
    return UpstreamPass(name, entry["description"], options, entry["pipeline"])
