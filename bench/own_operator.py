# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""User-defined operator with hand-written loops in a ResNet-18, against the generated code and onnxruntime.

    python bench/own_operator.py

Figures are milliseconds per call of a batch of one, f32, in turns in one run, the fastest call of each.
RELAX_NUM_THREADS is the number of threads, one by default. The operator and its integration into the network are from
docs/tutorials/own_operator.md, which runs first. Weights are random.
"""

from __future__ import annotations

import os

os.environ.setdefault("RELAX_NUM_THREADS", "1")

import re
import runpy
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
from onnx import TensorProto, helper

import relax_mlir as rx

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 12.0
#: Channels of the four stages, of two blocks each.
STAGES = (64, 128, 256, 512)


def tutorial() -> dict[str, Any]:
    """Return the variables that the page's programs define."""
    page = (ROOT / "docs" / "tutorials" / "own_operator.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:  # the source of a function must be in a file
        file = Path(folder) / "page.py"
        file.write_text("\n".join(blocks), encoding="utf-8")
        return runpy.run_path(str(file))


def resnet18(page: dict[str, Any]) -> Any:
    """Return the network in ONNX, in the form of exporters after folding batch norms."""
    nodes, weights, conv = page["nodes"], page["weights"], page["conv"]
    nodes.clear(), weights.clear()

    def node(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    conv("image", "first", 7, 3, STAGES[0], stride=2)
    here = node("MaxPool", [node("Relu", ["first"], "r")], "p", kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    into = STAGES[0]
    for number in range(2 * len(STAGES)):
        out = STAGES[number // 2]
        stride = 1 if out == into else 2
        conv(here, f"a{number}", 3, into, out, stride=stride)
        conv(node("Relu", [f"a{number}"], f"ar{number}"), f"b{number}", 3, out, out)
        shortcut = here
        if out != into:
            conv(here, f"d{number}", 1, into, out, stride=stride)
            shortcut = f"d{number}"
        total = node("Add", [f"b{number}", shortcut], f"s{number}")
        here, into = node("Relu", [total], f"o{number}"), out
    node("GlobalAveragePool", [here], "features")
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, 224, 224))
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, (1, STAGES[-1], 1, 1))
    graph = helper.make_graph(nodes, "resnet18", [image], [features], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def main() -> None:
    page = tutorial()
    model = resnet18(page)
    module = rx.from_onnx(model)
    rx.rewriting.apply_greedy(module, [rx.rewriting.rewrite(page["chain"], page["own_operator"])])
    rx.Pipeline([rx.ConvertLayout(dict.fromkeys(("own.conv_relu", "relax.nn.conv2d"), page["layouts"]))]).run(module)
    count = str(module).count("own.conv_relu")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["RELAX_NUM_THREADS"])
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    image = numpy.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype("float32")
    expected = session.run(None, {"image": image})[0]
    programs = {"by hand": rx.compile(module), "generated": rx.compile(rx.from_onnx(model))}
    cases = {name: lambda run=program: run["main"](image) for name, program in programs.items()}
    cases["onnxruntime"] = lambda: session.run(None, {"image": image})
    for program in programs.values():
        numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](image)), expected, rtol=1e-3, atol=1e-3)
    best = dict.fromkeys(cases, float("inf"))
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for name, call in cases.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"{count} of {sum(each.op_type == 'Conv' for each in model.graph.node)} convolutions by hand")
    for name, seconds in best.items():
        print(f"{name:<12}{seconds * 1e3:>8.2f} ms")


if __name__ == "__main__":
    main()
