# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Program as files that a browser loads: program.json, weights.bin, the runtime in JavaScript, and an example page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir import RefusalError
from relax_mlir.bindings.mlir import string_value
from relax_mlir.dialects.core.elements import elements_bytes
from relax_mlir.dialects.core.ir_attributes import EXTERNAL_MODS
from relax_mlir.rewriting import Operation

from ..runtime.program_bytes import unpacked

if TYPE_CHECKING:
    from ..runtime.program_types import WebProgram

_WEB = Path(__file__).parent.parent / "web"


def program_in(module: Operation) -> tuple[WebProgram, memoryview]:
    """Return the program in a lowered module, and the program's constants."""
    if EXTERNAL_MODS not in module.attributes:
        raise RefusalError("the module contains no program: the stage 'program' did not run")
    part, *_ = module.attributes[EXTERNAL_MODS]
    return unpacked(elements_bytes(part["data"]))


def files_of(module: Operation, version: str) -> dict[str, str | bytes]:
    program, data = program_in(module)
    _, *others = module.attributes[EXTERNAL_MODS]
    if others:
        listed = " and ".join(sorted({string_value(each["codegen"]) for each in others}))
        raise RefusalError(
            f"target 'webgpu': parts of the codegens {listed} are native code, which browsers cannot run",
            notes=["compile without --partition to write a folder; a file, model.rxa, may contain such parts"],
        )
    text = json.dumps({"made_by": f"relax-mlir {version}", **program}, indent=1)
    own = {name: (_WEB / name).read_text() for name in ("relax.js", "device.js", "index.html")}
    return {"program.json": text, "weights.bin": bytes(data), **own}
