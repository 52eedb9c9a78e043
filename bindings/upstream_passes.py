# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes and pipelines that the MLIR wheel registers: names, descriptions, options.

The bindings can parse a pass by name but not list the names, so these are data, which
tools/dev/gen_upstream_passes.py writes from the wheel's registry.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple


class UpstreamOption(NamedTuple):
    """An option of an upstream pass. `default` is None for lists (they are empty) and in pipelines."""

    name: str
    default: str | None
    description: str


class UpstreamPass(NamedTuple):
    """A pass, or a pipeline: a name that MLIR's parser replaces by several passes."""

    name: str
    description: str
    options: tuple[UpstreamOption, ...]
    is_pipeline: bool


@functools.cache
def upstream_passes() -> Mapping[str, UpstreamPass]:
    """Every pass and pipeline of the wheel by its name, sorted. Read once, when it is first asked for."""
    entries = json.loads(Path(__file__).with_suffix(".json").read_bytes())["passes"]
    return MappingProxyType({name: _upstream_pass(name, entry) for name, entry in entries.items()})


def _upstream_pass(name: str, entry: dict) -> UpstreamPass:
    options = tuple(UpstreamOption(**option) for option in entry["options"])
    return UpstreamPass(name, entry["description"], options, entry["pipeline"])
