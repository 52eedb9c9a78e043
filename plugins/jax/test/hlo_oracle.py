# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of imported StableHLO modules with StableHLO's own interpreter in the bindings."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy
import relax_mlir as rx
from relax_mlir.bindings.mlir import ROOT, ir, passmanager
from relax_mlir.runtime.arrays import to_numpy

_DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32",
    "i64": "int64", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
}  # fmt: skip
_TYPE = re.compile(r"tensor<((?:\d+x)*)(\w+)>")


def dtype_of(name: str) -> numpy.dtype:
    return numpy.dtype(_DTYPES[name])


def array_of(type_: str, seed: int = 0) -> numpy.ndarray:
    """Return random elements of a type: floats of both signs, or small integers."""
    found = _TYPE.match(type_)
    assert found is not None, type_
    shape, dtype = tuple(map(int, found[1].split("x")[:-1])), dtype_of(found[2])
    random = numpy.random.default_rng(seed)
    if dtype.kind == "f":
        return random.normal(size=shape).astype(dtype)
    return random.integers(0 if dtype.kind in "bu" else -5, 2 if dtype.kind == "b" else 6, shape).astype(dtype)


def module_of(operation: str, operands: list[str], result: str) -> str:
    """Return a function of one operation with the operands %0, %1, ... Complex numbers are passed and returned as two
    parts."""
    arguments, lines = [], []
    for place, type_ in enumerate(operands):
        if "complex" in type_:
            part = _part(type_)
            arguments += [f"%{place}r: {part}".replace("%", "%p"), f"%{place}i: {part}".replace("%", "%p")]
            lines.append(f"%{place} = stablehlo.complex %p{place}r, %p{place}i : ({part}, {part}) -> {type_}")
        else:
            arguments.append(f"%{place}: {type_}")
    lines.append(f"%r = {operation}")
    returned, results = "%r", result
    if "complex" in result:
        part = _part(result)
        lines += [f"%{name} = stablehlo.{name} %r : ({result}) -> {part}" for name in ("real", "imag")]
        returned, results = "%real, %imag", f"{part}, {part}"
    body = "\n  ".join(lines)
    body = re.sub(r"%(\d+)\b", r"%v\1", body)
    signature = re.sub(r"%(\d+)\b", r"%v\1", ", ".join(arguments))
    return f"func.func @main({signature}) -> ({results}) {{\n  {body}\n  return {returned} : {results}\n}}"


def _part(type_: str) -> str:
    return re.sub(r"complex<(\w+)>", r"\1", type_)


def interpreted(text: str, arrays: list[numpy.ndarray]) -> list[numpy.ndarray]:
    """Return the results of StableHLO's interpreter."""
    dialect: Any = importlib.import_module(f"{ROOT}._mlir_libs._stablehlo")
    context = ir.Context(load_on_create_dialects=[])
    context.enable_multithreading(False)
    dialect.register_dialect(context)
    dialect.register_stablehlo_passes()
    with context, ir.Location.unknown():
        _run("stablehlo-legalize-quant-to-math", ir.Module.parse("module {}"))  # brings chlo
        module = ir.Module.parse(text)
        _run("chlo-legalize-to-stablehlo", module)
        types = next(iter(module.body.operations)).attributes["function_type"].value.inputs
        attributes = [_elements(array, type_) for array, type_ in zip(arrays, types, strict=True)]
        return [_as_array(each) for each in dialect.eval_module(module, attributes)]


def _run(name: str, module: Any) -> None:
    passmanager.PassManager.parse(f"builtin.module(func.func({name}))").run(module.operation)


def _elements(array: numpy.ndarray, type_: Any) -> Any:
    if array.dtype.kind == "b":
        return ir.Attribute.parse(f"dense<{array.tolist()}> : {type_}".lower())
    return ir.DenseElementsAttr.get(numpy.ascontiguousarray(array), type=type_.element_type, shape=list(type_.shape))


def _as_array(attribute: Any) -> numpy.ndarray:
    if str(attribute.type.element_type) == "i1":
        return numpy.array([bool(each) for each in attribute]).reshape(attribute.type.shape)
    return numpy.array(attribute)


def called(text: str, arrays: list[numpy.ndarray]) -> list[numpy.ndarray]:
    """Compile the imported module and return its results."""
    made = rx.compile(rx.from_stablehlo(text), opt_level=1, jobs=1)["main"](*arrays)
    return [to_numpy(each) for each in (made if isinstance(made, (tuple, list)) else [made])]


def assert_same(text: str, arrays: list[numpy.ndarray], tolerance: float = 1e-5) -> None:
    expected = interpreted(text, arrays)
    found = called(text, arrays)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        if one.dtype.kind == "f":
            numpy.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        else:
            numpy.testing.assert_array_equal(one, other)


def check(operation: str, operands: list[str], result: str, tolerance: float = 1e-5) -> None:
    """Check one operation on random operands."""
    parts = [part for type_ in operands for part in ([_part(type_)] * 2 if "complex" in type_ else [type_])]
    arrays = [array_of(type_, seed) for seed, type_ in enumerate(parts)]
    assert_same(module_of(operation, operands, result), arrays, tolerance)
