# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen package in the form of codegen contract 1.0.

It represents the packages that others have released.
NEVER EDIT THIS FILE. If it fails, the contract was broken: keep the old form working (docs/codegens/contract.md).
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir.patterns import Match, is_const, is_op, wildcard

_product = is_op("relax.matmul")(wildcard().has_rank(2).named("x"), is_const().has_rank(2).named("w"))
_biased = _product.named("product").optional(lambda y: is_op("relax.add")(y, is_const().has_rank(1).named("bias")))
LAYER = _biased.optional(lambda y: is_op("relax.nn.relu", "relax.tanh")(y))
SOFTMAX = is_op("relax.nn.softmax")(wildcard().named("x")).has_attr(axis=-1)
VIEW = is_op("relax.reshape")(wildcard().named("x"), ...)


def fits(match: Match) -> bool | str:
    if "f32" not in str(match["x"].type):
        return "the unit computes f32"
    return bool(match["w"].type.shape[1] <= 64) or "the unit has 64 columns"


def precision(text: str) -> str:
    if text not in ("f32", "f16"):
        raise ValueError(f"expects f32 or f16, got '{text}'")
    return {"f32": "float32", "f16": "float16"}[text]


@rx.codegens.register_codegen("contract_1")
class Contract1(rx.codegens.Codegen):
    contract = "1.0"
    patterns = (
        ("contract_1.layer", LAYER, fits),
        ("contract_1.softmax", SOFTMAX.has_dtype("float32")),
        rx.codegens.PatternRow("contract_1.view", VIEW, beside=True),
    )
    keeps = ("relax.dequantize",)
    devices = ("cpu",)
    separate = False
    pipeline = "relax-fold-constant"
    options = {  # noqa: RUF012  # as packages write it
        "cores": rx.codegens.CodegenOption("how many cores a part may use", int, 1, least=1, most=64),
        "precision": rx.codegens.CodegenOption("what products are computed in", precision, "float32"),
        "note": "text that is kept",
    }

    def compile(self, module: object, options: Mapping[str, object]) -> Callable[[], bytes]:
        programs: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        assert set(self.functions(module)) == set(self.steps(module, whole=False))
        for name, part in self.steps(module).items():
            programs[name] = {
                "inputs": part.inputs,
                "constants": list(part.constants),
                "steps": [_step(step, options) for step in part.steps if step.composite],
                "outputs": part.outputs[:-1],  # the last one is the workspace
            }
            arrays |= {f"{name}:{number}": array for number, array in part.constants.items()}
        return lambda: _packed(programs, arrays)

    def fingerprint(self, options: Mapping[str, object]) -> str:
        return "1"

    def workspace(self, function: Any) -> int:
        return 256

    def cost(self, composite: str, operations: Sequence[Any]) -> float:
        return 1e-6 * len(operations)

    def host_cost(self, composite: str, operations: Sequence[Any]) -> float:
        return 1e-3

    def crossing_cost(self, size: int) -> float:
        return size / 1e9

    def call_cost(self) -> float:
        return 1e-6


def _packed(programs: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    numpy.savez(file := io.BytesIO(), programs=json.dumps(programs), **arrays)
    return file.getvalue()


def _step(step: Any, options: Mapping[str, object]) -> dict[str, Any]:
    names = [operation.name for operation in step.operations]
    kind = step.composite.partition(".")[2]
    made: dict[str, Any] = {"kind": kind, "made": step.outputs, "read": [step["x"]]}
    if kind == "view":
        made["shape"] = list(step.operation.result.type.shape)
    if kind == "layer":
        assert step.op("product").operation.name == "relax.matmul" and step.operation.operation.name == names[-1]
        made["read"] = [step["x"], step["w"], step.get("bias")]
        assert ("bias" in step) == (len(step.all("bias")) == 1)
        made |= {"last": names[-1], "precision": options["precision"]}
    return made


@rx.codegens.register_runtime("contract_1")
class Contract1Runtime(rx.codegens.ExternalRuntime):
    contract = "1.0"
    version = "1"

    def requires(self, data: memoryview) -> str:
        return ""

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        arrays = dict(numpy.load(io.BytesIO(data)))
        programs = json.loads(str(arrays["programs"]))
        return {name: _function(name, arrays, program) for name, program in programs.items()}


def _function(name: str, arrays: Mapping[str, Any], program: Mapping[str, Any]) -> Callable[..., None]:
    constants = {number: arrays[f"{name}:{number}"] for number in program["constants"]}

    def run(*tensors: Any) -> None:
        given = [rx.runtime.to_numpy(tensor) for tensor in tensors]
        values: dict[Any, Any] = {None: None, **constants, **dict(zip(program["inputs"], given, strict=False))}
        for step in program["steps"]:
            (made,) = step["made"]
            values[made] = _computed(step, [values[number] for number in step["read"]])
        *results, workspace = given[len(program["inputs"]) :]
        assert workspace.nbytes >= 256
        for number, place in zip(program["outputs"], results, strict=True):
            place[...] = values[number]

    return run


def _computed(step: Mapping[str, Any], read: list[Any]) -> Any:
    if step["kind"] == "softmax":
        raised = numpy.exp(read[0] - read[0].max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)
    if step["kind"] == "view":
        return read[0].reshape(step["shape"])
    x, w, bias = read
    y = (x.astype(step["precision"]) @ w.astype(step["precision"])).astype("float32")
    y = y if bias is None else y + bias
    return {"relax.nn.relu": lambda: numpy.maximum(y, 0), "relax.tanh": lambda: numpy.tanh(y)}.get(
        step["last"], lambda: y
    )()


@rx.codegens.register_planner("contract_1")
def in_order(block: Any, composites: Sequence[Any]) -> Iterator[rx.codegens.Taken]:
    """Yield the first match of each pattern, repeatedly until nothing matches."""
    is_taken = True
    while is_taken:
        is_taken = False
        for composite in composites:
            match = next((each for op in block.operations for each in composite.matches(op.operation)), None)
            if match is not None:
                is_taken = True
                yield rx.codegens.Taken.of(composite, match)
