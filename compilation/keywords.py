# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Keyword arguments of rx.compile, rx.lower and rx.sources: types, defaults and documentation. Needs no MLIR."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..passes.core.instruments import Instrument
    from ..passes.core.journal import Journal
    from ..passes.core.stages import Stages
    from ..passes.graph.partition_stages import Wanted
    from ..support.disk_cache import DiskCache
    from .schedules import Schedules

_TARGET = "target with options, such as `llvm{cpu=haswell}`; without options this machine's CPU or first device"


# fmt: off
@dataclass(frozen=True, eq=False, repr=False)
class SharedKeywords:
    """Options of all functions."""
    target: str = field(default="llvm", metadata={"text": _TARGET})
    _: KW_ONLY
    pipeline: Stages | None = field(default=None, metadata={"text": "modified stages of the target, `rx.stages(target).replace(...)`"})
    opt_level: int = field(default=2, metadata={"text": "optimization level of the graph and of LLVM, 0 to 3"})
    instruments: Iterable[Instrument] = field(default=(), metadata={"text": "observers of passes"})
    bind: Mapping[str, int | str] | None = field(default=None, metadata={"text": 'values of symbolic sizes of "main", {"n": 8}, or ranges, {"n": "1..64"}; memory is planned for the largest size of a range, and calls with other sizes fail'})
    donate: Iterable[str] = field(default=(), metadata={"text": 'arguments of "main", or patterns of names like past*, that grow in place: a call appends rows to a buffer with room, which `executable["main"].cache()` creates, without copies'})
    schedules: Schedules | None = field(default=None, metadata={"text": "replacements for the target's schedules of kernels: a file from rx.schedules.chosen or `relax-compile --emit=schedules`, or a mapping from kernel names to traces or schedules"})
    tuned: str | os.PathLike[str] | bool | None = field(default=None, metadata={"text": "folder of tuned kernels (relax-tune), with plans that override the target's where they fit this machine; the target's own tuned kernels come after them, and False leaves out all"})


@dataclass(frozen=True, eq=False, repr=False)
class SourcesKeywords(SharedKeywords):
    """Options of rx.sources."""
    target: str = field(default="c", metadata={"text": _TARGET})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LowerKeywords(SharedKeywords):
    """Options of rx.lower."""
    precision: str = field(default="f32", metadata={"text": "type for f32 products and the operators that can follow them: bf16, f16, or f32 (default); sums stay f32, and inputs and outputs keep their types"})
    numerics: str | None = field(default=None, metadata={"text": "same: equal bits on all CPUs, for any batch and number of threads; fast: any order of sums; default: same except where an instruction of the CPU is much faster (docs/numerics.md)"})
    partition: Wanted = field(default=(), metadata={"text": 'external codegens in order of priority, ["mynpu", "dnnl"], or an rx.Partition; a codegen gets the parts of the module that match its patterns, and the target compiles declined parts; "measured": the placement that relax-tune --partition has put in the folder `tuned`'})
    strict_partition: bool = field(default=False, metadata={"text": "fail if a codegen declines a part or fails, or if this machine lacks a requirement of a part; by default the target compiles the part, and missing requirements are reported"})
    partition_elsewhere: bool = field(default=False, metadata={"text": "the program runs on another machine: skip checks of this machine's libraries and devices"})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CompileKeywords(LowerKeywords):
    """Options of rx.compile."""
    journal: Journal | None = field(default=None, metadata={"text": "receives the notes of passes about their work"})
    jobs: int | None = field(default=None, metadata={"text": "maximum number of processes that compile kernels; default: the number of CPUs"})
    cache: DiskCache | str | os.PathLike[str] | bool | None = field(default=None, metadata={"text": "folder of the disk cache for kernels and programs, None for the user's own, False for none"})
    functions: Mapping[str, Callable[..., object]] | None = field(default=None, metadata={"text": "functions that the program calls by name (relax.call_dps_packed); other names are looked up in tvm-ffi's registry"})
    device: str | None = field(default=None, metadata={"text": 'device that runs the program, such as "cuda:1"; default: the first device'})
    graphs: bool | None = field(default=None, metadata={"text": "launches of functions with static sizes as one unit on CUDA and Vulkan: all (True), none (False), or those with an estimated speedup (None)"})
    observe: bool = field(default=False, metadata={"text": "add functions for relax-run --each, which return the values of kernels and parts and their expected values; the program is larger, its main is unchanged"})
# fmt: on


def option_texts(keywords: type[SharedKeywords] = CompileKeywords) -> dict[str, str]:
    """Return the documentation of each option."""
    return {each.name: each.metadata["text"] for each in fields(keywords) if each.metadata}


def option_list(keywords: type[SharedKeywords]) -> str:
    """Return the documentation of the options as lines."""
    rows = option_texts(keywords).items()
    return "\n".join(fill(f"- {name}: {text}.", 116, subsequent_indent="  ") for name, text in rows)
