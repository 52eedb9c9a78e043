# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of modules of a running TVM, in the form of TVM's printer. Constants keep their memory."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import re
import sys
from typing import Any

from relax_mlir import ModelError, Module
from relax_mlir.dialects.core.infos import bit_width, dtype_name, is_int
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters

_TAKEN = "a tvm.IRModule, a relax.Function or a PrimFunc"
#: Older versions do not load with the tvm-ffi that compiled code needs.
_OLDEST = (0, 26)
#: Module attribute that lists the constants, so that the printer shows its name for each constant.
_LISTED = "relax_mlir.constants"
_NAMED = re.compile(r'metadata\["([\w.]+)"\]\[(\d+)\]')
#: Class names of constants in the versions of TVM, and the attributes with their tensors.
_KINDS = {"GenericConst": "value", "Constant": "data"}


@types_checked
@enters
def from_tvm(module: object) -> Module:
    """Import a tvm.IRModule, a relax.Function or a PrimFunc of a running TVM as a module.

    The script that TVM prints is read as by `rx.Module.from_script`. Constants are not printed: they share the memory
    of TVM's tensors, which must not change afterwards. Raises RelaxError that shows the line of the script, or that
    names the package to install.
    """
    held = _as_ir_module(module)
    if constants := _constants_of(held):
        held = held.with_attr(_LISTED, constants)
    text: str = held.script()
    return Module.from_script(text, "<tvm>", variables={"metadata": _map_names(text, constants)})


def _as_ir_module(module: object) -> Any:
    tvm: Any = sys.modules.get("tvm")
    if tvm is None or not isinstance(module, (tvm.IRModule, tvm.ir.BaseFunc)):
        hint = "; rx.Module.from_script reads text" if isinstance(module, str) else ""
        missing = "" if importlib.util.find_spec("tvm") else "; TVM is not installed here: pip install apache-tvm"
        raise ModelError(f"from_tvm takes {_TAKEN}, got {_show(module)}{hint}{missing}")
    version = str(tvm.__version__)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST:
        hint = "write mod.script(show_meta=True) to a file, model.py, and read that by rx.Module.from_script"
        raise ModelError(f"from_tvm needs TVM {'.'.join(map(str, _OLDEST))} or newer, this is {version}: {hint}")
    if isinstance(module, tvm.IRModule):
        return module
    attributes: Any = getattr(module, "attrs", None) or {}
    name = str(attributes["global_symbol"]) if "global_symbol" in attributes else "main"
    return tvm.IRModule({name: module.with_attr("global_symbol", name)})


def _show(module: object) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}".removeprefix("builtins.")


def _tensor_of(node: Any) -> Any:
    """Return the tensor of a constant, or None for any other node."""
    held = getattr(node, _KINDS.get(type(node).__name__, ""), None)
    return held if hasattr(held, "shape") else None


def _constants_of(module: Any) -> list[Any]:
    """Return the constants of the graphs that are printed by name. Scalars of most types are printed as numbers."""
    from tvm.relax import analysis

    found: dict[Any, Any] = {}

    def visit(node: Any) -> None:
        if node not in found and (tensor := _tensor_of(node)) is not None:
            found[node] = tensor

    for function in module.functions.values():
        if type(function).__name__ == "Function":
            analysis.post_order_visit(function, visit)
    return [key for key, tensor in found.items() if tensor.shape or _NAMED.match(key.script())]


def _map_names(text: str, constants: list[Any]) -> dict[str, dict[int, object]]:
    """Return the arrays of the constants by their names in the text, which the module's attribute lists first."""
    found: dict[str, dict[int, object]] = {}
    listed = _NAMED.finditer(text, text.find(_LISTED)) if constants else iter(())
    for constant, name in zip(constants, listed, strict=False):
        found.setdefault(name[1], {})[int(name[2])] = _array(_tensor_of(constant))
    return found


def _array(tensor: Any) -> object:
    """Return the memory of a tensor, and keep the tensor alive. Data with gaps or on another device is copied."""
    import numpy

    name = dtype_name(str(tensor.dtype)) or ""
    if is_int(name) and bit_width(name) < 8:
        raise ModelError(f"a constant of {tensor.dtype} cannot be taken: TVM packs its elements and cannot copy them")
    dtype = storage_dtype(name)
    if str(tensor.device).partition(":")[0] != "cpu" or bit_width(name) < 8 or not tensor.is_contiguous():
        return tensor.numpy().astype(dtype, copy=False)
    memory = (ctypes.c_uint8 * (dtype.itemsize * math.prod(tensor.shape))).from_address(tensor.data_ptr())
    memory.tensor = tensor
    array = numpy.frombuffer(memory, dtype).reshape(tuple(tensor.shape))
    array.flags.writeable = False
    return array
