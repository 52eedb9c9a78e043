# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analysis by MLIR of a text: errors, types of values, operators. Runs in a process that may crash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import relax_mlir.targets.core.registry  # noqa: F401  # importing the package makes its targets known
from relax_mlir import Module
from relax_mlir.bindings.diagnostics import Diagnostic, locate, reporting, with_file_name
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects import relax, tir  # noqa: F401  # importing a dialect registers it
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.plugins import load_plugin, load_plugins
from relax_mlir.tools.opt.driver import as_diagnostic
from relax_mlir.tools.opt.split_input import split_input


def analyze(data: bytes, name: str, plugins: Sequence[str]) -> bytes:
    """Return JSON with `diagnostics`, and `types` of the values that the operation or argument at a place defines.

    Places are lines and columns in bytes, from 1. Parts between split markers are analysed separately.
    """
    _load(plugins)
    diagnostics: list[Diagnostic] = []
    types: list[tuple[int, int, list[str]]] = []
    for chunk in split_input(data.decode("utf-8", "replace")):
        try:
            with reporting(diagnostics.append):
                types += _types(Module.parse(chunk.text, name))
        except RelaxError as error:
            diagnostics += error.diagnostics or [as_diagnostic(error)]
    described = [_describe(with_file_name(diagnostic, name)) for diagnostic in diagnostics]
    return json.dumps({"diagnostics": described, "types": types}).encode()


def operators(data: bytes, plugins: Sequence[str]) -> bytes:
    """Return JSON with the operators of dialects written in Python, and their documentation."""
    _load(plugins)
    load_plugins("dialect")
    return json.dumps({op.full_name: op.__doc__ or "" for op in all_ops()}).encode()


def _load(plugins: Sequence[str]) -> None:
    for name in plugins:
        load_plugin(name)


def _types(module: Module) -> Iterator[tuple[int, int, list[str]]]:
    for operation in operations_in(module.operation):
        _, line, column, _ = locate(operation.location)
        if line and len(operation.results):
            yield line, column, [str(type_) for type_ in operation.results.types]
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    _, line, column, _ = locate(argument.location)
                    if line:
                        yield line, column, [str(argument.type)]


def _describe(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "notes": [_describe(note) for note in diagnostic.notes],
    }
