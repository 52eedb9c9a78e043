# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reproducers in mlir-opt's format: the IR before a pipeline, with the pipeline in the file's metadata."""

from __future__ import annotations

import re

from ...bindings.errors import RelaxError

_PIPELINE = re.compile(r'mlir_reproducer:\s*\{[^}]*?pipeline:\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_VERIFY = re.compile(r"mlir_reproducer:\s*\{.*?verify_each:\s*(true|false)", re.DOTALL)


def reproducer_text(ir_text: str, pipeline: str, verify_each: bool) -> str:
    """The file's text: what --run-reproducer reads."""
    escaped = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    metadata = (
        "{-#\n"
        "  external_resources: {\n"
        "    mlir_reproducer: {\n"
        f'      pipeline: "{escaped}",\n'
        "      disable_threading: true,\n"
        f"      verify_each: {'true' if verify_each else 'false'}\n"
        "    }\n"
        "  }\n"
        "#-}\n"
    )
    return ir_text.rstrip("\n") + "\n\n" + metadata


def reproducer_pipeline(text: str, name: str) -> tuple[str, bool]:
    """The pipeline in a reproducer and whether to verify after each pass."""
    match = _PIPELINE.search(text)
    if match is None:
        raise RelaxError(
            "--run-reproducer: the file holds no pipeline (resource mlir_reproducer)", location=name
        )
    verify = _VERIFY.search(text)
    pipeline = match.group(1).replace('\\"', '"').replace("\\\\", "\\")
    return pipeline, verify is None or verify.group(1) == "true"
