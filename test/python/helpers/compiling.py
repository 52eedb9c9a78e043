# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the tests of rx.compile: programs from text and from Python, arrays, the memory of a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

import relax_mlir as rx


def array(tensor: Any) -> Any:
    return numpy.from_dlpack(tensor)


def floats(*shape: int, seed: int = 5) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def compiled(text: str) -> rx.runtime.Executable:
    return rx.compile(rx.Module.parse(text))


def module_with(inputs: Any, body: Any) -> rx.Module:
    """Return a module whose "main" applies `body` to the inputs."""
    module = rx.Module()
    with module.function("main", inputs) as f:
        values = body(*f)
        f.returns(*(values if isinstance(values, tuple) else (values,)))
    return module


def built(inputs: Any, body: Any, **options: Any) -> rx.runtime.Executable:
    return rx.compile(module_with(inputs, body), **options)


def resident_kb() -> int:
    """Return the resident memory of this process."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4
