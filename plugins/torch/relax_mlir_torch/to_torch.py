# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a program to a torch module."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.display import type_text
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.gradients import warn_of_gradients
from relax_mlir.runtime.manifest import PassedValue, Signature, parse_signature
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.errors import OptionError

if TYPE_CHECKING:
    import torch


@types_checked
def to_torch(
    executable: Executable, function: str = "main", *, states: Mapping[str, torch.Tensor] | None = None
) -> torch.nn.Module:
    """Return a torch.nn.Module that calls a function of the program in forward. It is for inference: results have no
    gradients.

    `states` has the buffers that the model changes, by name. The module owns them, passes them to calls, and stores
    their new values. Other buffers, which are constants of the program, are left out.
    """
    try:
        import torch
    except ImportError:
        raise OptionError("rx.to_torch needs the package torch: pip install relax-mlir[torch]") from None
    call, signature = executable[function], parse_signature(executable.signature(function))
    inputs, outputs = ([value.name for value in values] for values in (signature.inputs, signature.outputs))
    given = {name: tensor for name, tensor in (states or {}).items() if name in inputs}
    if states and not given:
        raise OptionError(
            f"rx.to_torch: '{function}' has no argument '{next(iter(states))}'; there are {', '.join(inputs)}"
        )
    changed = outputs[call.own_results :]
    if states is not None:
        _check_states(signature, {name for name in inputs[call.own_inputs :] if name in changed}, given)
    is_structured = signature.structure is not None
    # The results of a model with a structure are one value.
    names = ["", *changed] if is_structured or not outputs else outputs

    class CompiledModule(torch.nn.Module):
        """Module that calls a program of relax-mlir."""

        def __init__(self) -> None:
            super().__init__()
            self._has_warned = False
            #: Names of buffers, which cannot have dots, by the names of the program's arguments.
            self._names = {name: name.replace(".", "_") for name in given}
            for name, tensor in given.items():
                self.register_buffer(self._names[name], tensor.clone())

        def forward(self, *arguments: Any, **named: Any) -> Any:
            if not self._has_warned:
                self._has_warned = warn_of_gradients(function, inputs, (*arguments, *named.values()))
            own = {name: getattr(self, buffer) for name, buffer in self._names.items()}
            with torch.no_grad():
                result = call(*arguments, **named, **own)
                if not own:
                    return result
                results = result if len(names) > 1 else (result,)
                for name, tensor in zip(names, results, strict=True):
                    if name in own:
                        own[name].copy_(tensor)
            # Changed arguments of the caller follow the results.
            others = tuple(tensor for name, tensor in zip(names, results, strict=True) if name not in own)
            return others[0] if len(others) == 1 else others

        def extra_repr(self) -> str:
            return repr(call)

    return CompiledModule()


def _check_states(signature: Signature, changed: Collection[str], states: Mapping[str, torch.Tensor]) -> None:
    """Refuse states without a buffer that a call changes, or with another type than the function's argument."""
    for described in signature.inputs:
        wanted = f"rx.to_torch: '{signature.name}' expected the state '{described.name}' as {type_text(described)}"
        if described.name in states:
            found = _describe(states[described.name])
            if not _fits(found, described):
                raise OptionError(f"{wanted}, got {type_text(found)}")
        elif described.name in changed:
            raise OptionError(f"{wanted}, which is missing; got {', '.join(states) or 'no states'}")


def _describe(state: torch.Tensor) -> PassedValue:
    """Return the type of a state as in a signature, where complex numbers are pairs."""
    import torch

    tensor = torch.view_as_real(state) if state.is_complex() else state
    return PassedValue("tensor", dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape))


def _fits(passed_value: PassedValue, described: PassedValue) -> bool:
    """Check whether a state has an argument's element type and sizes. Dynamic sizes are checked in calls."""
    if passed_value.dtype != described.dtype or len(passed_value.shape) != len(described.shape):
        return False
    sizes = zip(passed_value.shape, described.shape, strict=True)
    return all(size == wanted or not isinstance(wanted, int) for size, wanted in sizes)
