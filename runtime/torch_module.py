# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a program to a torch module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..support.argument_types import types_checked
from ..support.errors import OptionError
from .executable import Executable
from .gradients import warn_of_gradients

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
    call = executable[function]
    signature = executable.signature(function)
    inputs, outputs = ([each.get("name", "") for each in signature[kind]] for kind in ("inputs", "outputs"))
    given = {name: tensor for name, tensor in (states or {}).items() if name in inputs}
    if states and not given:
        raise OptionError(
            f"rx.to_torch: '{function}' has no argument '{next(iter(states))}'; there are {', '.join(inputs)}"
        )

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
                result, *changed = result
                # Changed arguments of the caller follow the results.
                names = outputs[len(outputs) - len(changed) :]
                others = [tensor for name, tensor in zip(names, changed, strict=True) if name not in own]
                for name, tensor in zip(names, changed, strict=True):
                    if name in own:
                        own[name].copy_(tensor)
            return (result, *others) if others else result

        def extra_repr(self) -> str:
            return repr(call)

    return CompiledModule()
