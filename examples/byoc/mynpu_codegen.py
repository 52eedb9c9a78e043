# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen with its runtime, for an accelerator that computes layers and softmax. NumPy simulates the accelerator."""

import functools
import io
import json

import numpy

import relax_mlir as rx
from relax_mlir.patterns import is_const, is_op, wildcard


def fits(match):
    return match["w"].type.shape[1] <= 1024 or "the unit has 1024 columns"


def softmax(x):
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


UNIT = {"mynpu.layer": ("xwb", lambda x, w, b: numpy.maximum(x @ w + b, 0)), "mynpu.softmax": ("x", softmax)}
product = is_op("relax.matmul")(wildcard().has_rank(2).named("x"), is_const().named("w"))
layer = is_op("relax.nn.relu")(is_op("relax.add")(product, is_const().has_rank(1).named("b")))
by_rows = is_op("relax.nn.softmax")(wildcard().named("x")).has_attr(axis=lambda axis: axis in (-1, 1)).has_rank(2)


@rx.codegens.register_codegen("mynpu")
class MyNpu(rx.codegens.Codegen):
    """Layers, and softmax of rows."""

    patterns = (("mynpu.layer", layer, fits), ("mynpu.softmax", by_rows))
    pipeline = "relax-fold-constant"  # runs on its parts only, before compile

    def compile(self, module, options):
        """Return the bytes of a part: inputs, steps (values by name), outputs and constants of each function."""
        programs, arrays = {}, {}
        for name, part in self.steps(module).items():
            steps = [(each.composite, [each[x] for x in UNIT[each.composite][0]], each.outputs) for each in part.steps]
            programs[name] = part.inputs, list(part.constants), steps, part.outputs
            arrays |= {f"{name}:{number}": array for number, array in part.constants.items()}
        numpy.savez(file := io.BytesIO(), programs=json.dumps(programs), **arrays)
        return file.getvalue()

    def load(self, data):
        """Return the functions by name in the process that runs the program. Called once."""
        arrays = dict(numpy.load(io.BytesIO(data)))
        programs = json.loads(str(arrays["programs"]))
        return {name: functools.partial(run, name, arrays, *program) for name, program in programs.items()}


def run(name, arrays, inputs, constants, steps, outputs, *tensors):
    """Run a call with the tensors of inputs and outputs. Outputs are written in place."""
    values = {number: arrays[f"{name}:{number}"] for number in constants}
    values |= dict(zip(inputs, map(numpy.from_dlpack, tensors), strict=False))
    for composite, read, (made,) in steps:
        values[made] = UNIT[composite][1](*(values[number] for number in read))
    for number, tensor in zip(outputs, tensors[len(inputs) :], strict=True):
        numpy.from_dlpack(tensor)[...] = values[number]
