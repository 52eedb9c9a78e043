# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device of WebGPU for tests, if the package wgpu and a driver are installed: Mesa's lavapipe is one.

With RELAX_MLIR_DEVICES=1 tests fail instead of being skipped (`suite.py devices`).
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_webgpu.runtime.device import open_device


@cache
def why_none() -> str:
    """Return the reason why programs cannot run, or an empty text."""
    try:
        open_device()
    except DeviceError as error:
        return str(error)
    return ""


def skip_without() -> None:
    if why_none():
        (pytest.fail if os.environ.get("RELAX_MLIR_DEVICES") == "1" else pytest.skip)(why_none())


def keeps_nan() -> bool:
    """Return True if the device's interface defines NaN. GLSL, which OpenGL compiles, lets min and max drop NaN."""
    return open_device().adapter.info["backend_type"] != "OpenGL"


def compiled(build: Any, *infos: Any, **options: Any) -> Any:
    """Compile the function that `build(*parameters)` returns."""
    return rx.compile(graph(build, *infos), target="webgpu", **options)["main"]


def graph(build: Any, *infos: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", infos) as f:
        made = build(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module
