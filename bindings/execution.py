# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of the LLVM dialect by upstream: the execution engine as an object compiler, and export as LLVM IR."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..support.temporary import path_to_write
from .ir import Module, Operation
from .mlir import ROOT

# Dummy address of declared symbols. The loader resolves the symbols later, and nothing is called through the address.
_SOMEWHERE = 1 << 20


def compile_module(module: Module, opt_level: int, defined: str, declared: Iterable[str]) -> bytes:
    """Compile a module of the LLVM dialect to an object file for this machine.

    `defined` is a function with a body; its lookup makes the engine compile and link. Linking needs an address for
    each of the `declared` functions and globals. The object file is written earlier and keeps the names as undefined
    symbols.

    LLVM ends the process if it cannot write the file: see `is_any_size_written`.
    """
    engine_class = importlib.import_module(f"{ROOT}.execution_engine").ExecutionEngine
    engine = engine_class(module, opt_level=opt_level, enable_object_dump=True, enable_pic=True)
    for name in declared:
        engine.raw_register_runtime(name, ctypes.c_void_p(_SOMEWHERE))
    engine.raw_lookup(defined)
    with path_to_write() as path:
        engine.dump_to_object_file(path)
        return Path(path).read_bytes() if os.path.exists(path) else b""


def to_llvm_ir(module: Module | Operation) -> str:
    """Return the LLVM IR text of a module of the LLVM dialect, or of a gpu.module.

    An operation that the translation does not support ends the process.
    """
    translate = importlib.import_module(f"{ROOT}.dialects.llvm").translate_module_to_llvmir
    return str(translate(module.operation))


def functions_of(module: Module, teller: str, count: int) -> tuple[object, list[int]]:
    """Return an object that keeps a module's code in memory, and the addresses of `count` functions of the module.

    `teller` is a function of the module that writes the addresses to the array its argument points to. The engine only
    provides the addresses of generated wrapper functions.
    """
    engine = importlib.import_module(f"{ROOT}.execution_engine").ExecutionEngine(module)
    found = (ctypes.c_size_t * count)()
    place = ctypes.c_void_p(ctypes.addressof(found))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(place))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup(teller))(ctypes.addressof(arguments))
    return engine, list(found)
