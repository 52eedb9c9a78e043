# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardy's executable tests: a main function calls functions with shardings in parallel, and checks the results.

jaxlib reads the files. Shardy's collectives change only the shardings of values, and become constraints. Sums of
arguments add values that differ between devices.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import relax_mlir as rx
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.passmanager import PassManager
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_jax.stablehlo.registry import register_stablehlo
from relax_mlir_shard.collectives import ccl
from relax_mlir_shard.factors import shape_of
from relax_mlir_shard.planner import element_of
from relax_mlir_shard.sdy_attributes import parse_axes, parse_mesh
from test_collectives import on_ranks

_PARALLEL, _CHECK = "interpreter.run_parallel", "check."
_RENAMED = re.compile(r"sed 's/(\w+)/(\w+)/g'")
_FUNCTION = re.compile(r"func\.func @(\w+)")
_PART_OF_AXIS = re.compile(r'"(\w+)":\((\d+)\)(\d+)')
_DEVICES = re.compile(r", device_ids=\[([\d, ]+)\]")
_MOVES = tuple(
    f"sdy.{name}"
    for name in ("all_gather", "all_reduce", "all_slice", "all_to_all", "collective_permute", "reduce_scatter")
)
#: Values that differ between devices without a division: sums of arguments.
_SENT = ("sdy.sharding_constraint", "stablehlo.custom_call")


class ParallelCall(NamedTuple):
    """Function, number of devices, and numbers of operands and results of all devices."""

    function: str
    devices: int
    operands: int
    results: int


class ShardedProgram(NamedTuple):
    """Module of one function with shardings, and the devices of arguments and of results in the order of the mesh."""

    module: rx.Module
    before: Sequence[int]
    after: Sequence[int]


@register_stablehlo("custom_call @ccl")
def call_collective(node: Any) -> Any:
    options = json.loads(node.attr("backend_config"))
    return getattr(ccl, options.pop("name"))(node.tensor(0), **options)


def run_test(text: str, planner: str, *, is_broken: bool = False) -> None:
    """Raise an error if a check of a file fails. `is_broken` changes a result of the last call."""
    head, part1, main_text = re.split(r"^//--- part\d.mlir$", text, flags=re.M)
    part1 = _split_axes(part1)
    forms = [part1.replace(*pair) for pair in _RENAMED.findall(head)] or [part1]
    if "@parallel_" in part1 and "@sequential_" not in part1:
        forms.append(part1.replace("parallel_", "sequential_"))
    functions = {name: form for form in forms for name in _FUNCTION.findall(form)}
    program, calls, checks = _without_calls("\n".join([*map(_sequential_functions, forms), main_text]))
    module = rx.from_stablehlo(program)
    main = rx.compile(module)["main"]
    results = [_zeros_of(value) for value in body_of(_function(module, "main")).arguments]
    assert calls and checks
    operand = result = 0
    for call in calls:
        values = [to_numpy(value) for value in main(*results)][operand : operand + call.operands]
        count = call.operands // call.devices
        inputs = [values[at : at + count] for at in range(0, len(values), max(count, 1))]
        found = _run(functions[call.function], call.function, inputs or [[]] * call.devices, planner)
        results[result : result + call.results] = [found[0] + (is_broken and call is calls[-1]), *found[1:]]
        operand, result = operand + call.operands, result + call.results
    values = [to_numpy(value) for value in main(*results)][operand:]
    for name, one, other in zip(checks, values[::2], values[1::2], strict=True):
        is_same = numpy.array_equal(one, other) if name == "expect_eq" else numpy.allclose(one, other, 1e-5, 1e-5)
        assert is_same, f"{name}: {one.tolist()} and {other.tolist()}"


def _zeros_of(value: Any) -> Any:
    element = element_of(value)
    return numpy.zeros(shape_of(value), f"{element[0]}{int(element[1:]) // 8}")


def _run(form: str, name: str, inputs: Sequence[Sequence[Any]], planner: str) -> list[Any]:
    """Return the results of all devices."""
    sharded = _read_sharded(form, name, len(inputs))
    program = rx.compile(rx.shard(sharded.module, function=name, sums="split", planner=planner))[name]
    found = on_ranks(lambda arguments: program(*arguments), [inputs[device] for device in sharded.before])
    return [found[sharded.after.index(device)] for device in range(len(inputs))]


def _read_sharded(form: str, name: str, count: int) -> ShardedProgram:
    module = _parse(form)
    top = {view.operation.attributes["sym_name"].value: view.operation for view in module.body.operations}
    function = top.pop(name)
    meshes = {key: str(op.attributes["mesh"]) for key, op in top.items() if op.name == "sdy.mesh"}
    before, after = (_mesh_of(function, attribute) for attribute in ("arg_attrs", "res_attrs"))
    main = before or after or next(iter(meshes))
    with module.context, ir.Location.unknown():
        for key, operation in top.items():
            if key != main:
                operation.erase()
        module.operation.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)
        module.operation.attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
        writer = _Rewriter(meshes, main)
        for view in list(function.regions[0].blocks[0].operations):
            writer.rewrite(view.operation)
        writer.replicate_results(function)
    # All meshes have the devices of the first one.
    text = re.sub(r"<@\w+,", f"<@{main},", _DEVICES.sub("", module.operation.get_asm(assume_verified=True)))
    orders = [_devices(meshes[mesh or main]) or range(count) for mesh in (before, after)]
    return ShardedProgram(rx.from_stablehlo(text), *orders)


def _mesh_of(function: Any, attribute: str) -> str:
    """Return the mesh of the first sharding of arguments or results, or ""."""
    return _mesh_name(str(function.attributes[attribute])) if attribute in function.attributes else ""


def _mesh_name(text: str) -> str:
    return text.partition("<@")[2].partition(",")[0]


def _devices(mesh: str) -> list[int]:
    return [int(device) for text in _DEVICES.findall(mesh) for device in text.split(",")]


class _Rewriter:
    """Rewriter of the operations of a function that the importer does not read."""

    def __init__(self, meshes: dict[str, str], main: str) -> None:
        self._meshes, self._name = meshes, main
        self._mesh = parse_mesh(_DEVICES.sub("", meshes[main]))

    def rewrite(self, operation: Any) -> None:
        if "sdy.sharding" in operation.attributes:
            (sharding,) = sdy.TensorShardingPerValueAttr(operation.attributes["sdy.sharding"]).shardings
            del operation.attributes["sdy.sharding"]
            mesh = self._meshes[_mesh_name(str(sharding))]
            if parse_mesh(_DEVICES.sub("", mesh)).axes:
                self._follow(operation, "sdy.sharding_constraint", sharding=sharding)
            else:
                self._run_on_device(operation, *_devices(mesh))
        if operation.name in _MOVES:
            self._move(operation)
        elif operation.name == "sdy.constant":
            _swap(operation, _create("stablehlo.constant", [], operation, value=operation.attributes["value"]))

    def replicate_results(self, function: Any) -> None:
        """Give results without a sharding to all devices as a whole."""
        results = function.attributes["function_type"].value.results
        if "res_attrs" not in function.attributes:
            texts = [f"<@{self._name}, [{', '.join(['{}'] * type_.rank)}]>" for type_ in results]
            shardings = [
                ir.DictAttr.get({"sdy.sharding": ir.Attribute.parse(f"#sdy.sharding{text}")}) for text in texts
            ]
            function.attributes["res_attrs"] = ir.ArrayAttr.get(shardings)

    def _move(self, operation: Any) -> None:
        """Replace a collective by a constraint. A sum of an argument adds the values of the devices."""
        (operand,) = operation.operands
        names = ("reduction_axes", "reduce_scatter_axes")
        summed = [str(operation.attributes[name]) for name in names if name in operation.attributes]
        if summed and (isinstance(operand.owner, ir.Block) or operand.owner.name in _SENT):
            axes = [axis for axis, _ in self._mesh.axes if axis in parse_axes(summed[0])]
            operand = self._collective("all_reduce", operand, operation, axes)
        sharding = operation.attributes["out_sharding"]
        _swap(operation, _create("sdy.sharding_constraint", [operand], operation, sharding=sharding))

    def _run_on_device(self, operation: Any, device: int) -> None:
        """Give all devices the result of one of them. Its operands pass collectives, so that no axis divides them."""
        for index, value in enumerate(operation.operands):
            operation.operands[index] = self._collective("all_reduce", value, operation, [], kind="max")
        axes = [axis for axis, _ in self._mesh.axes]
        self._follow(operation, "stablehlo.custom_call", **self._call("broadcast", axes, root=device))

    def _collective(self, name: str, value: Any, before: Any, axes: Sequence[str], **options: Any) -> Any:
        return _create("stablehlo.custom_call", [value], before, [value.type], **self._call(name, axes, **options))

    def _call(self, name: str, axes: Sequence[str], **options: Any) -> dict[str, Any]:
        groups = self._mesh.groups(axes)
        options |= {"name": name, "groups": [rank for group in groups for rank in group], "group_size": len(groups[0])}
        return {"call_target_name": ir.StringAttr.get("ccl"), "backend_config": ir.StringAttr.get(json.dumps(options))}

    def _follow(self, operation: Any, name: str, **attributes: Any) -> None:
        """Put an operation between another one and its users."""
        (result,) = operation.results
        users = [(use.owner.operation, use.operand_number) for use in result.uses]
        operations = [view.operation for view in operation.block.operations]
        following = operations[operations.index(operation) + 1]
        value = _create(name, [result], following, [result.type], **attributes)
        for owner, number in users:
            owner.operands[number] = value


def _swap(operation: Any, value: Any) -> None:
    operation.results[0].replace_all_uses_with(value)
    operation.erase()


def _create(name: str, operands: list[Any], before: Any, types: Any = None, **attributes: Any) -> Any:
    types = [result.type for result in before.results] if types is None else types
    with ir.InsertionPoint(before):
        return ir.Operation.create(name, results=types, operands=operands, attributes=attributes).results[0]


def _sequential_functions(form: str) -> str:
    """Return the text of the functions for one device."""
    module = _parse(form)
    for view in module.body.operations:
        operation = view.operation
        if operation.name == "func.func" and not operation.attributes["sym_name"].value.startswith("sequential_"):
            operation.erase()
        elif operation.name == "func.func":
            operation.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
            for inside in [view.operation for view in operation.regions[0].blocks[0].operations]:
                if inside.name in (*_MOVES, "sdy.reshard"):
                    _swap(inside, inside.operands[0])
    PassManager.parse("builtin.module(sdy-drop-sharding-and-mesh)", module.context).run(module.operation)
    return "\n".join(str(module).splitlines()[1:-1])


def _function(module: rx.Module, name: str) -> Any:
    return next(operation for operation in functions_in(module.operation) if symbol_name(operation) == name)


def _parse(text: str) -> Any:
    context = make_ir_context()
    context.allow_unregistered_dialects = True
    return ir.Module.parse(text, context)


def _without_calls(text: str) -> tuple[str, list[ParallelCall], list[str]]:
    """Return the program, its parallel calls and checks.

    The program takes the results of the calls, and returns the operands of calls and checks.
    """
    module = _parse(text)
    with module.context, ir.Location.unknown():
        main = next(
            view.operation for view in module.body.operations if view.operation.attributes["sym_name"].value == "main"
        )
        block = main.regions[0].blocks[0]
        operations = [view.operation for view in block.operations]
        runs = [operation for operation in operations if operation.name == _PARALLEL]
        checks = [operation for operation in operations if operation.name.startswith(_CHECK)]
        calls = [_call_of(operation) for operation in runs]
        names = [operation.name.removeprefix(_CHECK) for operation in checks]
        types = [result.type for operation in runs for result in operation.results]
        for result in [result for operation in runs for result in operation.results]:
            result.replace_all_uses_with(block.add_argument(result.type, ir.Location.unknown()))
        returned = [value for operation in (*runs, *checks) for value in operation.operands]
        with ir.InsertionPoint(operations[-1]):
            ir.Operation.create("func.return", operands=returned)
        for operation in (operations[-1], *checks, *runs):
            operation.erase()
        type_ = ir.FunctionType.get(types, [value.type for value in returned])
        main.attributes["function_type"] = ir.TypeAttr.get(type_)
        return str(module), calls, names


def _call_of(operation: Any) -> ParallelCall:
    names = [str(name).removeprefix("@") for row in operation.attributes["programs"] for name in row]
    return ParallelCall(names[0], len(names), len(operation.operands), len(operation.results))


def _split_axes(text: str) -> str:
    """Write an axis as several axes if a part of it divides a dimension."""
    parts = _PART_OF_AXIS.findall(text)
    for axis in {axis for axis, _, _ in parts}:
        (size,) = re.findall(rf'"{axis}"=(\d+)', text)
        cuts = {int(low) * factor for name, low, count in parts if name == axis for factor in (1, int(count))}
        bounds = sorted({1, int(size)} | cuts)
        names = {low: f'"{axis}{low}"' for low in bounds[:-1]}
        sizes = ", ".join(f"{names[low]}={high // low}" for low, high in itertools.pairwise(bounds))
        text = text.replace(f'"{axis}"={size}', sizes)
        for low, count in [(int(low), int(count)) for name, low, count in parts if name == axis]:
            inside = ", ".join(name for begin, name in names.items() if low <= begin < low * count)
            text = text.replace(f'"{axis}":({low}){count}', inside)
        text = text.replace(f'"{axis}"', ", ".join(names.values()))
    return text
