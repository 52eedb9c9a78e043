# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's way from the LLVM dialect to LLVM: the execution engine, used as a compiler only, and LLVM IR as text."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..support.temporary import path_to_write
from .ir import Module, Operation
from .mlir import ROOT

# Where what is only declared counts as found: it is looked up when the object is loaded, never used from here.
_SOMEWHERE = 1 << 20


def compile_module(module: Module, opt_level: int, defined: str, declared: Iterable[str]) -> bytes:
    """The object file of a module of the LLVM dialect for this machine.

    `defined` is a function with a body; asking for it makes the engine compile and link. Linking wants an address for
    each of the `declared` functions and globals; the object file is written before and keeps their names.

    LLVM ends the process where it cannot write the file: see `is_any_size_written`.
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
    """The text in LLVM IR of a module of the LLVM dialect, or of a gpu.module.

    What the translation does not know ends the process.
    """
    translate = importlib.import_module(f"{ROOT}.dialects.llvm").translate_module_to_llvmir
    return str(translate(module.operation))


def functions_of(module: Module, teller: str, count: int) -> tuple[object, list[int]]:
    """The addresses of functions of a module of the LLVM dialect, and what keeps their code in memory. `teller` is one
    of its functions, which writes `count` of them where its argument points to: the engine itself tells only those of
    functions around them.
    """
    engine = importlib.import_module(f"{ROOT}.execution_engine").ExecutionEngine(module)
    found = (ctypes.c_size_t * count)()
    place = ctypes.c_void_p(ctypes.addressof(found))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(place))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup(teller))(ctypes.addressof(arguments))
    return engine, list(found)
