# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of tvm-ffi for the whole package: `from .ffi import tvm_ffi`.

tvm-ffi imports torch wherever torch is installed, which takes a second or more, and programs do not need torch. Here
tvm-ffi is imported without torch, unless the process has already imported it. The steps that tvm-ffi skips then are
done once torch is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

from ..support.importing import hidden_module

if TYPE_CHECKING:
    from tvm_ffi.stream import TorchStreamContext

_giving = threading.Lock()

_lacks_torch = "torch" not in sys.modules and "tvm_ffi" not in sys.modules
with hidden_module("torch") if _lacks_torch else contextlib.nullcontext():
    import tvm_ffi as tvm_ffi


def give_torch() -> None:
    """Enable tvm-ffi's support of torch, as if torch had been imported first. Raises ImportError without torch.

    tvm-ffi has no public names for this, and its version is pinned. Its compiled part creates its table of torch's
    element types only at import: a `torch.dtype` as an argument of its functions is still refused.
    """
    global _lacks_torch
    torch = importlib.import_module("torch")
    with _giving:
        if _lacks_torch:
            for name, module in list(sys.modules.items()):
                if name.startswith("tvm_ffi.") and vars(module).get("torch", module) is None:
                    vars(module)["torch"] = torch
            vars(tvm_ffi.core)["_convert_torch_dtype_to_ffi_dtype"] = _element_type
            _once_more("tvm_ffi._optional_torch_c_dlpack")  # older torch: fast exchange of tensors, and streams
            _offer(_once_more("tvm_ffi.stream").use_torch_stream)
            _lacks_torch = False


def _element_type(dtype: object) -> tvm_ffi.dtype:
    return tvm_ffi.dtype(str(dtype).removeprefix("torch."))


def _once_more(name: str) -> ModuleType:
    """Return another instance of a tvm-ffi module, executed with torch. The first one stays: its classes are in use."""
    spec = sys.modules[name].__spec__
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _use_torch_stream(context: object = None) -> TorchStreamContext:
    give_torch()
    return tvm_ffi.use_torch_stream(context)


def _offer(use_torch_stream: object) -> None:
    for module in (tvm_ffi, tvm_ffi.stream):
        vars(module)["use_torch_stream"] = use_torch_stream


if _lacks_torch:
    _offer(_use_torch_stream)
