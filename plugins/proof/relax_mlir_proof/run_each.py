# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Option --each of relax-run: comparison of the value of each kernel and part with the reference, another program, or
onnxruntime.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TextIO

from relax_mlir.frontends.onnx.onnx_node import name_of
from relax_mlir.runtime import Executable, load
from relax_mlir.runtime.foreign_types import Array
from relax_mlir.runtime.manifest import PassedValue, parse_signature
from relax_mlir.support.array_files import write_npz
from relax_mlir.support.errors import OptionError
from relax_mlir.support.files import write_whole
from relax_mlir.tools.common.command_line import Arguments, write_text
from relax_mlir.tools.run.compare import Reference
from relax_mlir.tools.run.input_sizes import shape_text
from relax_mlir.tools.run.inputs import Given
from relax_mlir.tools.run.options import PROGRAM, REFERENCE
from relax_mlir.tools.run.peer import COMPARISONS

from .testing.each import Observed, compared, counts, first_wrong, report
from .testing.page import page_of_values
from .testing.program_values import ByNode, ProgramValues


def compare_each(
    program: Executable, function: str, inputs: Mapping[str, Given], arguments: Arguments, stdout: TextIO
) -> int:
    """Compare all values and return the exit code. Raise RelaxError for unrelated programs or models."""
    other: str = arguments["compare"]
    values = ProgramValues(program, function, list(inputs.values()), arguments.files[0])
    if other == REFERENCE:
        by, beside = "the model", values.of_model()
    else:
        by, beside = other, _values_of(other, program, function, inputs, values)
    found = list(compared(values, beside, arguments["tolerance"], "" if other == REFERENCE else other))
    code = tell(found, arguments, stdout, by)
    write_text(stdout, counts(found, beside, by))
    return code


COMPARISONS.register("each", compare_each)


def tell(observations: Sequence[Observed], arguments: Arguments, stdout: TextIO, by: str) -> int:
    """Show the values and the first wrong one, and write the requested files. Return the exit code."""
    write_text(stdout, report(observations))
    if arguments["report"] is not None:
        write_whole(arguments["report"], page_of_values(arguments.files[0], by, observations).encode())
    if (wrong := first_wrong(observations)) is None:
        return 0
    made_of = f" ({', '.join(wrong.operators)})" if wrong.operators else ""
    write_text(stdout, f"first wrong: {', '.join(wrong.nodes) or '-'}: {wrong.name}{made_of}: {wrong.problem}\n")
    if arguments["inputs"] is not None:
        write_case(arguments["inputs"], wrong.inputs, wrong.expected)
    return 1


def write_case(path: str, inputs: Sequence[Array], expected: Sequence[Array]) -> None:
    """Write the inputs and expected outputs of a kernel or part, by number."""
    named = {f"input{index}": array for index, array in enumerate(inputs)}
    write_npz(path, named | {f"expected{index}": array for index, array in enumerate(expected)})


def _values_of(
    other: str, program: Executable, function: str, inputs: Mapping[str, Given], values: ProgramValues
) -> ByNode:
    """Return the values of another program or model by node. Raise RelaxError if it has no node in common."""
    if not any(values.nodes):
        raise OptionError(f"{values.name} has no names of nodes: nothing says which of its values are those of {other}")
    if other.endswith(PROGRAM):
        second = load(other)
        _check_inputs(values.name, program, other, second, function)
        by_node = ProgramValues(second, function, list(inputs.values()), other).by_node()
    else:
        by_node = _values_of_model(other, inputs, program.threads)
    if not any(node and node[-1] in by_node for node in values.nodes):
        raise OptionError(f"{values.name} and {other} have no node in common: they are of different models")
    return by_node


def _check_inputs(name: str, program: Executable, other: str, second: Executable, function: str) -> None:
    one, two = (parse_signature(executable.signature(function)).inputs for executable in (program, second))
    if list(map(_kind, one)) != list(map(_kind, two)):
        ours, theirs = (", ".join(map(_text, each)) or "nothing" for each in (one, two))
        raise OptionError(f"{function} of {name} takes {ours}, that of {other} {theirs}: they are of different models")


def _kind(value: PassedValue) -> tuple[object, ...]:
    """Return the properties that must agree. Sizes may differ, as they may be bound in one of the programs."""
    return value.name, value.kind, value.dtype, value.holds, len(value.shape), len(value.items)


def _text(value: PassedValue) -> str:
    return f"{value.name} ({value.holds or value.dtype or value.kind} {shape_text(value.shape)})"


def _values_of_model(path: str, inputs: Mapping[str, Given], threads: int) -> ByNode:
    """Return the values of an ONNX model's nodes, computed by onnxruntime."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError:
        raise OptionError("--compare=model.onnx needs onnx: pip install onnx") from None
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf raises various exceptions for invalid files
        raise OptionError(f"cannot read '{path}': {(str(error).splitlines() or [''])[0]}") from None
    shown = {each.name for each in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in shown]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    outputs = Reference(path, inputs, threads, model.SerializeToString()).outputs
    values: dict[str, list[list[object]]] = {}
    for node in model.graph.node:
        arrays = [outputs[name] for name in node.output if hasattr(outputs.get(name), "shape")]
        values.setdefault(name_of(node), []).append(arrays)
    return values
