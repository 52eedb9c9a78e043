# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembly of a WebGPU program: kernels, host code and table of constants as plain data, and the constants' bytes.

`program_of` returns both. `packed` encodes both as bytes, and `files_of` in web_files.py as the files of a folder.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence

from relax_mlir import ScalarInfo, TensorInfo, array_of_attribute, ir
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import (
    body_of,
    functions_in,
    has_body,
    is_private,
    operations_named,
    operations_of,
    symbol_name,
)
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import Info, describe
from relax_mlir.dialects.core.ir_attributes import GRAPH_INPUTS, GRAPH_RESULTS, INPUT_NAMES, RESULT_NAMES, WRITTEN
from relax_mlir.dialects.core.symbols import SymExpr
from relax_mlir.dialects.core.symbols_expr import value_of
from relax_mlir.dialects.core.symbols_terms import Atom
from relax_mlir.dialects.relax.function_attributes import decode_grown
from relax_mlir.rewriting import Operation, located_error
from relax_mlir.targets.host.abi import dlpack_name, element_bytes

from ..runtime.program_bytes import VERSION
from ..wgsl.kernel import Shader, shader_of
from ..wgsl.memory_rules import shared_bytes
from ..wgsl.program_data import ALIGNMENT, ProgramData
from .host_rules import RULES
from .host_writer import HostWriter, Known, Register


def program_of(module: Operation, shared: int) -> tuple[dict[str, object], bytes]:
    """Return the program of a module of kernels and host code, and the bytes of its constants.

    Raises RelaxError, with the location, for an operation that WebGPU programs do not support.
    """
    data = ProgramData()
    constants = _constants(module, data)
    shaders = _shaders(module, shared, data)
    functions = {symbol_name(each): each for each in functions_in(module) if has_body(each)}
    known = Known(
        functions,
        {shader.name: place for place, shader in enumerate(shaders)},
        {str(constant["name"]): place for place, constant in enumerate(constants)},
    )
    written = {name: HostWriter(known, RULES, each).function() for name, each in functions.items()}
    entries = {}
    for name, function in functions.items():
        if GRAPH_INPUTS in function.attributes and not is_private(function):
            entries[name] = _EntryWriter(known, function).described()
    kernels = [
        {
            "name": shader.name,
            "threads": shader.threads,
            "arguments": list(shader.arguments),
            "checks": [list(check) for check in shader.checks],
            "code": shader.text,
        }
        for shader in shaders
    ]
    program = {
        "version": VERSION,
        "needs": {
            "threads": max((shader.threads for shader in shaders), default=1),
            "shared": max((shader.shared for shader in shaders), default=0),
        },
        "entries": entries,
        "constants": constants,
        "functions": written,
        "kernels": kernels,
    }
    return program, bytes(data)


def _shaders(module: Operation, shared: int, data: ProgramData) -> list[Shader]:
    kernels = operations_named(module, "gpu.func")
    checks = any(operations_named(kernel, "tir.assert") for kernel in kernels)
    shaders = []
    for kernel in kernels:
        shader = shader_of(kernel, shared_bytes(kernel, module), data, is_behind_checks=checks)
        if shader.shared > shared:
            text = f"kernel '{shader.name}' needs {shader.shared} bytes of shared memory, at most {shared} are allowed"
            raise located_error(text, kernel.location, ["the target's option 'shared' raises the limit"])
        shaders.append(shader)
    return shaders


def _constants(module: Operation, data: ProgramData) -> list[dict[str, object]]:
    """Add constants to the data, and return their names, offsets and sizes in bytes."""
    constants: list[dict[str, object]] = []
    for operation in operations_of(body_of(module)):
        if operation.name == "memref.global" and "initial_value" in operation.attributes:
            type_ = operation.attributes["type"].value
            element, count = str(type_.element_type), [math.prod(type_.shape)]
            bytes_ = array_of_attribute(operation.attributes["initial_value"], element, count).tobytes()
            constants.append({"name": symbol_name(operation), "offset": data.add(bytes_), "bytes": len(bytes_)})
    return constants


class _EntryWriter:
    """Writer of a public function's entry.

    An entry takes the addresses and all sizes of tensors, checks the sizes, calls the function and returns its results.
    """

    def __init__(self, known: Known, function: Operation) -> None:
        self._function, self._name = function, symbol_name(function)
        self._writer = HostWriter(known, RULES)
        self._known: dict[str, Register] = {}
        self._inputs, self._results = (
            [decode(ir.TypeAttr(each).value) for each in function.attributes[key]]
            for key in (GRAPH_INPUTS, GRAPH_RESULTS)
        )
        self._names = [string_value(each) for each in function.attributes[INPUT_NAMES]]

    def described(self) -> dict[str, object]:
        passed = [self._parameters(*each) for each in zip(self._names, self._inputs, strict=True)]
        count = sum(map(len, passed))
        for name, info, registers in zip(self._names, self._inputs, passed, strict=True):
            self._learn(info, registers)
            self._check(name, info, registers)
        parameters = [argument.type for argument in body_of(self._function).arguments]
        given: list[Register] = []
        for type_, registers in zip(parameters, passed, strict=False):
            given += _as_taken(type_, registers)
        gives = []
        for place, (info, type_) in enumerate(zip(self._results, parameters[len(passed) :], strict=True)):
            if isinstance(type_, ir.MemRefType) and isinstance(info, TensorInfo):
                sizes, address = self._result(info)
                given += _as_taken(type_, [address, *sizes])
                gives.append((place, address, sizes, element_bytes(info.dtype)))
            else:
                given.append(self._writer.integer(place))
        self._writer.write("call", self._name, [register.number for register in given], f"@{self._name}")
        for place, address, sizes, bytes_ in gives:
            self._writer.write("give", self._writer.integer(place), address, [size.number for size in sizes], bytes_)
        written = list(self._function.attributes[WRITTEN]) if WRITTEN in self._function.attributes else []
        names = [string_value(each) for each in self._function.attributes[RESULT_NAMES]] if (
            RESULT_NAMES in self._function.attributes) else [""] * len(self._results)  # fmt: skip
        inputs = [
            {**self._describe(info), "name": name, **({"written": True} if place in written else {})}
            for place, (name, info) in enumerate(zip(self._names, self._inputs, strict=True))
        ]
        outputs = [
            {**self._describe(info), "name": name or f"result{place}"}
            for place, (name, info) in enumerate(zip(names, self._results, strict=False))
        ]
        places = {name: place for place, name in enumerate(self._names)}
        grown = [
            {**each._asdict(), "input": places[each.input], "length": places[each.length]}
            for each in decode_grown(self._function)
        ]
        return {
            "inputs": inputs,
            "outputs": outputs,
            **({"grown": grown} if grown else {}),
            **self._writer.finished(count),
        }

    def _refusal(self, what: str, info: Info) -> Exception:
        text = f"target 'webgpu': {what} of @{self._name} is {describe(info)}: expected a tensor or a number"
        return located_error(text, self._function.location)

    def _describe(self, info: Info) -> dict[str, object]:
        if isinstance(info, TensorInfo) and info.shape is not None:
            shape = [size if isinstance(size, int) else str(size or "?") for size in info.shape]
            return {"dtype": dlpack_name(info.dtype), "shape": shape}
        if isinstance(info, ScalarInfo):
            return {"dtype": info.dtype}
        raise self._refusal("a value", info)

    def _parameters(self, name: str, info: Info) -> list[Register]:
        if isinstance(info, TensorInfo) and info.shape is not None:
            return [self._writer.register() for _ in range(1 + len(info.shape))]
        if isinstance(info, ScalarInfo):
            return [self._writer.register()]
        raise self._refusal(f"argument '{name}'", info)

    def _learn(self, info: Info, registers: Sequence[Register]) -> None:
        sizes = [info.value] if isinstance(info, ScalarInfo) else list(getattr(info, "shape", None) or ())
        values = registers if isinstance(info, ScalarInfo) else registers[1:]
        for size, register in zip(sizes, values, strict=True):
            if isinstance(size, SymExpr):
                self._known.setdefault(str(size), register)

    def _check(self, name: str, info: Info, registers: Sequence[Register]) -> None:
        for axis, size in enumerate(getattr(info, "shape", None) or ()):
            if size is None:
                continue
            register = registers[1 + axis]
            wanted = self._known.get(str(size)) or self._size(size)
            if wanted is register:
                continue
            held = self._writer.made("cmpi", "eq", register, wanted)
            message = f"argument '{name}': axis {axis} has {{}} elements, but {size} is {{}}" if not isinstance(
                size, int) else f"argument '{name}': axis {axis} has {{}} elements, expected {{}}"  # fmt: skip
            shown = [register.number, wanted.number]
            self._writer.write("assert", held, "ValueError", message, shown, self._name)

    def _result(self, info: TensorInfo) -> tuple[list[Register], Register]:
        sizes = [self._size(size) for size in info.shape or ()]
        for axis, (stated, size) in enumerate(zip(info.shape or (), sizes, strict=True)):
            if not isinstance(stated, int):
                held = self._writer.made("cmpi", "sge", size, self._writer.integer(0))
                message = f"a result's axis {axis} has a negative size: {{}}"
                self._writer.write("assert", held, "ValueError", message, [size.number], self._name)
        bytes_ = self._writer.product([*sizes, element_bytes(info.dtype)])
        return sizes, self._writer.made("alloc", self._writer.sized(bytes_))

    def _size(self, size: int | SymExpr | None) -> Register:
        if size is None:
            raise located_error(f"target 'webgpu': a size of a result of @{self._name} has no name",
                                self._function.location)  # fmt: skip
        if not isinstance(size, int) and str(size) in self._known:
            return self._known[str(size)]
        missing = (
            []
            if isinstance(size, int)
            else sorted(variable for variable in size.variables if variable not in self._known)
        )
        if missing:
            text = f"target 'webgpu': no argument of @{self._name} defines '{missing[0]}' in '{size}'"
            raise located_error(text, self._function.location)
        return self._writer.sized(value_of(size, self._atom))

    def _atom(self, atom: Atom) -> Register:
        if atom.kind == "variable":
            return self._known[str(atom)]
        values = [self._writer.sized(value_of(arg, self._atom)) for arg in atom.args]
        name = {"min": "minsi", "max": "maxsi", "//": "floordivsi", "%": "floormodsi"}[atom.kind]
        operate: Callable[[Register, Register], Register] = lambda a, b: self._writer.integers(name, a, b)  # noqa: E731
        return functools.reduce(operate, values)


def _as_taken(type_: ir.Type, registers: Sequence[Register]) -> list[Register]:
    """Return the registers of a parameter's address and dynamic sizes, given its address and all sizes."""
    if not isinstance(type_, ir.MemRefType):
        return list(registers)
    dynamic = ir.ShapedType.get_dynamic_size()
    address, *sizes = registers
    return [address, *(size for size, known in zip(sizes, type_.shape, strict=True) if known == dynamic)]


# ---- as bytes ----


def packed(program: dict[str, object], data: bytes) -> bytes:
    """Encode a program as bytes: the length of its JSON as 8 bytes, 8 zero bytes, the JSON, and the constants."""
    text = json.dumps(program, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + bytes(8) + text + data
