# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of the report: the model's nodes, the operators, the kernel calls. Edges lead from producers to users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .links import Links, Row


class Graph:
    """Boxes and edges between them."""

    def __init__(self, name: str, what: str) -> None:
        self.name, self.what = name, what
        #: Rows with kind, label, index, or the name of an input or output.
        self.boxes: list[Row] = []
        self.edges: list[list[int]] = []
        self._inputs: dict[str, int] = {}

    def box(self, kind: str, label: str, detail: str, number: int | None = None, kernel: int | None = None) -> int:
        self.boxes.append({"kind": kind, "label": label, "detail": detail, "number": number, "kernel": kernel})
        return len(self.boxes) - 1

    def input(self, name: str, detail: str = "") -> int:
        """Return the box of a graph input. The box is created on first use."""
        if name not in self._inputs:
            self._inputs[name] = self.box("input", name, detail)
        return self._inputs[name]

    def connect(self, source: int, target: int) -> None:
        if source != target and [source, target] not in self.edges[-32:]:
            self.edges.append([source, target])

    def described(self) -> Row:
        return {"name": self.name, "what": self.what, "boxes": self.boxes, "edges": self.edges}


def graphs(links: Links, model: Row | None, memory: Sequence[Row]) -> list[Row]:
    """Return the graphs with boxes, the nearest to the model first."""
    made = [_model_graph(links, model), _operator_graph(links), _call_graph(links, memory)]
    return [graph.described() for graph in made if graph.boxes]


def _first_kernel(calls: Sequence[int], links: Links) -> int | None:
    return next((links.calls[number]["kernel"] for number in calls if links.calls[number]["kernel"] is not None), None)


def _model_graph(links: Links, model: Row | None) -> Graph:
    graph = Graph("Model", "node")
    makers: dict[str, int] = {}
    for each in model["inputs"] if model is not None else ():
        makers[each["name"]] = graph.input(each["name"], each["type"])
    for number, node in enumerate(links.nodes):
        box = graph.box("node", node["op"], node["name"], number, _first_kernel(node["calls"], links))
        for name in node["inputs"]:
            if name in makers:
                graph.connect(makers[name], box)
        makers.update((output["name"], box) for output in node["outputs"])
    for name in model["outputs"] if model is not None else ():
        if name in makers:
            graph.connect(makers[name], graph.box("output", name, ""))
    return graph


def _operator_graph(links: Links) -> Graph:
    graph = Graph("Operators", "operator")
    boxes: dict[int, int] = {}
    for number, operator in enumerate(links.operators):
        if operator.get("made"):
            continue
        detail = ", ".join(operator.get("results", ()))
        label = operator["operator"].removeprefix("relax.")
        boxes[number] = graph.box("operator", label, detail, number, _first_kernel(operator["calls"], links))
        for source in operator["inputs"]:
            made = boxes.get(source) if isinstance(source, int) else graph.input(source)
            if made is not None:
                graph.connect(made, boxes[number])
    return graph


def _call_graph(links: Links, memory: Sequence[Row]) -> Graph:
    graph = Graph("Kernel calls", "call")
    writers: dict[tuple[str, int], int] = {}
    for number, call in enumerate(links.calls):
        if call["kernel"] is None:
            continue
        name = links.kernels[call["kernel"]]["name"]
        detail = ", ".join(output["type"] for output in call["outputs"])
        box = graph.box("call", _short(name, links.kernels[call["kernel"]]["operator"]), detail, number, call["kernel"])
        for place in call["inputs"]:
            if (source := _source(place, call["function"], writers, graph)) is not None:
                graph.connect(source, box)
        for place in call["outputs"]:
            if "buffer" in place:
                writers[call["function"], place["buffer"]] = box
    for plan in memory:
        for buffer in plan["buffers"]:
            writer = writers.get((plan["function"], buffer["number"]))
            if buffer["output"] is not None and writer is not None:
                graph.connect(writer, graph.box("output", f"result {buffer['output']}", buffer["type"]))
    return graph


def _short(name: str, operators: str) -> str:
    """Return a kernel's label by its operators: `conv2d + relu`."""
    return " + ".join(operator.rpartition(".")[2] for operator in operators.split("+")) if operators else name


def _source(place: Row, function: str, writers: Mapping[tuple[str, int], int], graph: Graph) -> int | None:
    if "buffer" in place:
        return writers.get((function, place["buffer"]))
    return graph.input(place["input"], place["type"]) if place.get("input") else None
