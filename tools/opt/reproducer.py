# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reproducers in mlir-opt's format: the IR before a pipeline, with the pipeline in the file's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ...support.errors import RelaxError
from ...support.files import write_whole
from ..common.guard import kept_on_death

_STRING = r'"(?:[^"\\\n]|\\.)*"'
# Start of the file's metadata.
_METADATA = re.compile(r"^\s*\{-#", re.MULTILINE)
_BLOCK = re.compile(rf'mlir_reproducer\s*:\s*\{{(?:{_STRING}|[^"}}])*\}}')
_PIPELINE = re.compile(rf"pipeline\s*:\s*({_STRING})")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")


def reproducer_text(ir_text: str, pipeline: str, verify_each: bool) -> str:
    """Return the text of a reproducer, which --run-reproducer reads."""
    escaped = pipeline.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\0A")
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
    """Return the pipeline in a reproducer, and True if the IR is verified after each pass."""
    block = _find_block(text)
    pipeline = _PIPELINE.search(block.group()) if block else None
    if block is None or pipeline is None:
        problem = "--run-reproducer: the file holds no pipeline (resource mlir_reproducer)"
        raise RelaxError(problem, location=name)
    return _ESCAPE.sub(_unescape, pipeline.group(1)[1:-1]), "verify_each: false" not in block.group()


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code, 16)) if len(code) == 2 else {"n": "\n", "t": "\t"}.get(code, code)


def without_reproducer(text: str) -> str:
    """Remove the reproducer's pipeline, of which MLIR would warn. Lines keep their numbers."""
    block = _find_block(text)
    return text if block is None else text[: block.start()] + "\n" * block.group().count("\n") + text[block.end() :]


def _find_block(text: str) -> re.Match[str] | None:
    metadata = _METADATA.search(text)
    return _BLOCK.search(text, metadata.start()) if metadata else None


@contextmanager
def kept_on_failure(path: str, data: bytes) -> Iterator[None]:
    """Write `path` if the enclosed code fails or the process dies. Raise RelaxError."""
    with kept_on_death(path, data, "reproducer"):
        try:
            yield
        except Exception as error:
            write_whole(path, data)
            if isinstance(error, RelaxError):
                error.notes += (f"a reproducer was written to {path}",)
            raise
