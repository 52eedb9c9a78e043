# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TFLite model in LiteRT's interpreter without delegates. The interpreter's kernels define the operators' results."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir import OptionError


def litert_peer(path: str, inputs: Mapping[str, Any], threads: int) -> tuple[str, Callable[[], dict[str, Any]]]:
    """Return a name, and a function that runs a model. Raise OptionError if LiteRT is missing or fails."""
    try:
        package = importlib.import_module("ai_edge_litert.interpreter")
    except ImportError:
        raise OptionError("--compare with a TFLite model needs LiteRT: pip install ai-edge-litert") from None
    try:
        interpreter = package.Interpreter(
            model_path=path,
            num_threads=threads,
            experimental_op_resolver_type=package.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
    except (ValueError, RuntimeError) as error:
        raise _refusal(path, error) from None
    given = _index_inputs(interpreter, inputs, path)

    def run() -> dict[str, Any]:
        try:
            for place, value in given.items():
                interpreter.set_tensor(place, value)
            interpreter.invoke()
            return {
                detail["name"]: interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()
            }
        except (ValueError, RuntimeError) as error:
            raise _refusal(path, error) from None

    try:
        _resize(interpreter, given)
    except (ValueError, RuntimeError) as error:
        raise _refusal(path, error) from None
    return "LiteRT without delegates", run


def _index_inputs(interpreter: Any, inputs: Mapping[str, Any], path: str) -> dict[int, Any]:
    """Return the inputs by the interpreter's indices: by name, or in order if the names differ."""
    import numpy

    details = interpreter.get_input_details()
    names = [detail["name"] for detail in details]
    if len(details) != len(inputs):
        raise OptionError(f"the program has {len(inputs)} input{'s'[: len(inputs) != 1]}, '{path}' {len(details)}")
    values = [inputs[name] for name in names] if set(names) == set(inputs) else list(inputs.values())
    return {detail["index"]: numpy.asarray(value) for detail, value in zip(details, values, strict=True)}


def _resize(interpreter: Any, given: Mapping[int, Any]) -> None:
    for place, value in given.items():
        interpreter.resize_tensor_input(place, value.shape, strict=True)
    interpreter.allocate_tensors()


def _refusal(path: str, error: Exception) -> OptionError:
    return OptionError(f"LiteRT cannot run '{path}': {(str(error).splitlines() or [''])[0]}")
