# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports in several threads: detection of incomplete modules, and modules hidden from a thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

#: Packages of this project: the compiler, and the plug-ins in the folder plugins/, which its wheel contains.
OWN_PACKAGES = frozenset(
    "relax_mlir relax_mlir_blas relax_mlir_c relax_mlir_cluster relax_mlir_dnnl relax_mlir_example_npu "
    "relax_mlir_jax relax_mlir_llm relax_mlir_lsp relax_mlir_nvidia relax_mlir_onnx_domains relax_mlir_onnxruntime "
    "relax_mlir_proof relax_mlir_quantize relax_mlir_report relax_mlir_spirv relax_mlir_tensorrt relax_mlir_tflite "
    "relax_mlir_shard relax_mlir_torch relax_mlir_tosa relax_mlir_training relax_mlir_tune relax_mlir_tvm "
    "relax_mlir_webgpu".split()
)


def is_being_imported(spec: ModuleSpec | None) -> bool:
    """Check whether a thread is importing a module. Other threads can see an incomplete module.

    At the end of an import, Python takes the module out of sys.modules for a moment, so the spec decides.
    """
    return bool(getattr(spec, "_initializing", False))


def is_own_module(name: str) -> bool:
    """Check whether a module belongs to this project or to one of the project's plug-ins, such as relax_mlir_dnnl."""
    return name.partition(".")[0] in OWN_PACKAGES


def imported_module() -> ModuleSpec | None:
    """Return the spec of the module of this project or its plug-ins whose import runs the calling code, or None."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    spec: ModuleSpec | None = frame.f_globals.get("__spec__")
    return spec if spec is not None and is_being_imported(spec) and is_own_module(spec.name) else None


class _Hidden(threading.local):
    names: frozenset[str] = frozenset()


class _Finder:
    """Import finder that finds no module, and refuses the modules that are hidden from the thread."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in _hidden.names:
            raise ModuleNotFoundError(f"{name} is hidden from this thread", name=name)
        return None


_hidden, _finder = _Hidden(), _Finder()


@contextmanager
def hidden_module(name: str) -> Iterator[None]:
    """Hide a module that is not imported yet from this thread, inside the `with` statement."""
    # Never remove the finder: an import in another thread would skip the next finder.
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    before = _hidden.names
    _hidden.names = before | {name}
    try:
        yield
    finally:
        _hidden.names = before
