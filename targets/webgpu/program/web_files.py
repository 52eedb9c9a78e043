# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as files that a browser loads: program.json, weights.bin, what runs them, and a page that does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ....bindings.ir import Operation
from ....bindings.mlir import string_value
from ....dialects.core.elements import elements_bytes
from ....dialects.core.ir_attributes import EXTERNAL_MODS
from ....runtime.webgpu.program_bytes import unpacked
from ....support.errors import RefusalError

_WEB = Path(__file__).parent.parent / "web"


def program_in(module: Operation) -> tuple[dict[str, Any], memoryview]:
    """The program that a lowered module holds, and its constants."""
    if EXTERNAL_MODS not in module.attributes:
        raise RefusalError("the module has no program: the stage 'program' did not run")
    part, *_ = module.attributes[EXTERNAL_MODS]
    return unpacked(elements_bytes(part["data"]))


def files_of(module: Operation, version: str) -> dict[str, str | bytes]:
    program, data = program_in(module)
    _, *others = module.attributes[EXTERNAL_MODS]
    if others:
        listed = " and ".join(sorted({string_value(each["codegen"]) for each in others}))
        raise RefusalError(
            f"target 'webgpu': parts of the codegens {listed} are code of this machine, which no browser runs",
            notes=["leave out --partition for a folder; a program in a file, model.rxa, may have such parts"],
        )
    text = json.dumps({"made_by": f"relax-mlir {version}", **program}, indent=1)
    own = {name: (_WEB / name).read_text() for name in ("relax.js", "device.js", "index.html")}
    return {"program.json": text, "weights.bin": bytes(data), **own}
