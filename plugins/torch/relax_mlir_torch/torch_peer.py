# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peer for .pt2 programs in torch, called like the imported function: with tensors one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from relax_mlir import runtime
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.support.quiet import ignoring_warnings
from relax_mlir.support.suggest import counted

from .exported_program import import_torch, read_program

#: Kinds of results that are values changed by a call. They follow the model's own results.
_CHANGED = ("BUFFER_MUTATION", "PARAMETER_MUTATION", "USER_INPUT_MUTATION")


def torch_peer(
    path: str, inputs: Mapping[str, Any], threads: int, *, trust: bool
) -> tuple[str, Callable[[], dict[str, Any]]]:
    """Return a name, and a function that runs a program. Raise RelaxError if torch fails.

    The program is read as data unless `trust` is set.
    """
    torch = import_torch()
    program = read_program(Path(path), None, None, trust=trust)
    try:
        with ignoring_warnings():  # suppresses torch's warnings about its own files
            program = program.run_decompositions({})
    except (RuntimeError, ValueError, TypeError) as error:
        raise ModelError(f"torch cannot run '{path}': {_first_line(error)}") from None
    arguments = _arguments(torch, program, inputs, path)
    torch.set_num_threads(threads)

    def run() -> dict[str, Any]:
        try:
            with torch.no_grad():
                results = _results(program, program.graph_module(*arguments))
            return {str(place): _array(torch, result) for place, result in enumerate(results)}
        except Exception as error:  # operators raise exceptions of many classes
            raise OptionError(f"torch cannot run '{path}': {_first_line(error)}") from None

    return "torch", run


def _arguments(torch: Any, program: Any, inputs: Mapping[str, Any], path: str) -> list[Any]:
    """Return the values of the graph's placeholders, in order."""
    given, signature = _name_inputs(program, inputs, path), program.graph_signature
    placeholders = {node.name: node for node in program.graph_module.graph.find_nodes(op="placeholder")}
    arguments: list[Any] = []
    for spec in signature.input_specs:
        if (name := spec.arg.name) in given:
            arguments.append(_tensor(torch, given[name], placeholders[name].meta["val"]))
        elif type(spec.arg).__name__ == "ConstantArgument":
            arguments.append(spec.arg.value)
        elif spec.target in program.state_dict:
            arguments.append(program.state_dict[spec.target])
        elif spec.target in program.constants:
            arguments.append(program.constants[spec.target])
        else:
            raise OptionError(f"input '{name}' of '{path}' is no tensor: torch cannot be called with arrays alone")
    return arguments


def _name_inputs(program: Any, inputs: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the inputs by placeholder name: user inputs first, then buffers that a call changes."""
    specs = program.graph_signature.input_specs
    changed = {spec.target for spec in program.graph_signature.output_specs if spec.kind.name in _CHANGED}
    users = [spec for spec in specs if spec.kind.name == "USER_INPUT" and type(spec.arg).__name__ != "ConstantArgument"]
    states = [spec for spec in specs if spec.kind.name != "USER_INPUT" and spec.target in changed]
    names = [user.arg.name for user in (*users, *states)]
    if len(names) != len(inputs):
        raise OptionError(f"the program has {counted(len(inputs), 'input')}, '{path}' {len(names)}")
    if set(names) <= set(inputs):
        return {name: inputs[name] for name in names}
    return dict(zip(names, inputs.values(), strict=True))


def _tensor(torch: Any, value: Any, example: Any) -> Any:
    """Convert an input for the graph. Programs represent complex numbers as pairs, and sizes as 0-D tensors."""
    if not hasattr(value, "shape"):
        return value
    tensor = torch.from_dlpack(runtime.tensor(value)).clone()
    if not isinstance(example, torch.Tensor):
        return tensor.item()
    return torch.view_as_complex(tensor) if example.dtype.is_complex else tensor


def _results(program: Any, returned: Sequence[Any]) -> list[Any]:
    """Return the results in the order of the imported function: the model's own, then changed values."""
    own: list[Any] = []
    changed: list[Any] = []
    for spec, value in zip(program.graph_signature.output_specs, returned, strict=True):
        if type(spec.arg).__name__ != "ConstantArgument":
            (changed if spec.kind.name in _CHANGED else own).append(value)
    return [*own, *changed]


def _array(torch: Any, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return to_numpy(torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None))
    value = value.detach().resolve_conj().resolve_neg()
    return to_numpy((torch.view_as_real(value) if value.is_complex() else value).contiguous())


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
