# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translation of scheduled loops to instructions: an interpreter of the IR that emits copies and computations.

Loops run at compile time. Innermost nests of loads, arithmetic and stores become instructions of the vector unit, or
DMA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import relax_mlir as rx

from .isa import BYTES, TYPES
from .program import Program, Stream, Tensor
from .vector_unit import VECTOR_FUNCTIONS, Dim, Nest, Node, Ref, merged, pieces, starts

#: MLIR's number for an unknown offset or stride is smaller.
_UNKNOWN = -(2**62)
#: Limit of a program's length, since loops run at compile time.
_MOST_INSTRUCTIONS = 1_000_000
_INDEX: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
}


class Translator:
    def __init__(self, module: Any):
        self.stream, self.layers = Stream(), []
        self.constants, self.top = bytearray(), 0
        self._functions = {
            op.attributes["sym_name"].value: op for op in module.body if op.operation.name == "func.func"
        }
        self._globals = {
            op.attributes["sym_name"].value: op for op in module.body if op.operation.name == "memref.global"
        }
        self._addresses: dict[str, int] = {}
        self._read: dict[str, tuple[list[int], list[Node]]] = {}
        self._values: list[Any] = []
        self._site: Any = None

    def program(self) -> Program:
        for name, op in self._globals.items():
            type_ = op.attributes["type"].value
            array = rx.array_of_attribute(op.attributes["initial_value"], str(type_.element_type), tuple(type_.shape))
            data = array.tobytes()
            self._addresses[name] = self._take(len(data))
            self.constants += data.ljust(-(-len(data) // 64) * 64, b"\0")
        main = self._functions["main"]
        types = main.attributes["function_type"].value.inputs
        given = [Tensor(self._take(_size(type_)), list(type_.shape), str(type_.element_type)) for type_ in types]
        inputs = len(main.attributes["relax.inputs"])
        self._call("main", [self._ref(type_, "dram", each.address) for type_, each in zip(types, given, strict=True)])
        self.stream.add("HALT")
        return Program(self.stream.code, bytes(self.constants), self.top, given[:inputs], given[inputs:], self.layers)

    def _take(self, size: int) -> int:
        self.top += -(-size // 64) * 64
        return self.top - -(-size // 64) * 64

    def _ref(self, type_: Any, memory: str, address: int) -> Ref:
        size = BYTES.get(str(type_.element_type))
        if size is None:
            raise self._refused(f"no instruction reads or writes {type_.element_type}")
        strides, _ = type_.get_strides_and_offset()
        if min(strides, default=0) < _UNKNOWN:
            raise self._refused(f"the strides of {type_} are not known")
        return Ref(memory, address, tuple(stride * size for stride in strides), str(type_.element_type))

    def _refused(self, why: str) -> rx.RelaxError:
        """Return an error that names the operator of the model and its position."""
        if self._site is None:
            return rx.RelaxError(f"target 'npu', arguments and results of @main: {why}")
        site = self._site.attributes["relax.site"]
        operators, nodes = (", ".join(each.value for each in site[name]) for name in ("operators", "nodes"))
        return rx.RelaxError(f"target 'npu' cannot do {operators} ({nodes}): {why}")

    # ---- functions ----

    def _call(self, name: str, arguments: Sequence[object]) -> None:
        if name not in self._read:
            (block,) = self._functions[name].regions[0].blocks
            numbers: dict[Any, int] = {}
            parameters = [self._number(value, numbers) for value in block.arguments]
            self._read[name] = parameters, self._nodes(block, numbers)
        parameters, nodes = self._read[name]
        self._run(nodes, dict(zip(parameters, arguments, strict=True)))

    def _number(self, value: Any, numbers: dict[Any, int]) -> int:
        self._values.append(value)
        return numbers.setdefault(value, len(self._values) - 1)

    def _nodes(self, block: Any, numbers: dict[Any, int]) -> list[Node]:
        found = []
        for view in block.operations:
            op = view.operation
            operands = [numbers.get(value, -1) for value in op.operands]
            node = Node(op.name, operands, [self._number(value, numbers) for value in op.results], op)
            if op.name.startswith("tir.call"):
                node.name = op.attributes["func"].value
            if node.results:
                node.element = str(getattr(op.results[0].type, "element_type", op.results[0].type))
            if op.name == "scf.for":
                (inner,) = op.regions[0].blocks
                node.argument = self._number(inner.arguments[0], numbers)
                node.body = self._nodes(inner, numbers)
            if op.name not in ("scf.yield", "func.return"):
                found.append(node)
        return found

    def _run(self, nodes: Sequence[Node], env: dict[int, Any]) -> None:
        point: list[Node] = []
        for node in nodes:
            if self._scalar(node, env):
                continue
            if node.name in VECTOR_FUNCTIONS or node.name in ("memref.load", "memref.store"):
                point.append(node)
                if node.name == "memref.store":
                    self._leaf(point, [], env)
                    point = []
            else:
                self._step(node, env)

    def _scalar(self, node: Node, env: dict[int, Any]) -> bool:
        """Evaluate a scalar operation, and return False if the operation is not a known scalar."""
        if node.name == "arith.constant":
            value = node.op.attributes["value"].value
            env[node.results[0]] = value
        elif node.name in _INDEX and node.element == "index":
            env[node.results[0]] = _INDEX[node.name](*(self._known(each, env) for each in node.operands))
        else:
            return False
        return True

    def _step(self, node: Node, env: dict[int, Any]) -> None:
        op, given = node.op, [self._known(each, env) for each in node.operands]
        if node.name == "scf.for" and len(given) > 3:
            raise self._refused("a loop carries values from step to step")
        if node.name == "scf.for":
            nest, leaf = _nest(node)
            if leaf is not None:
                return self._leaf(leaf, nest, env)
            for step in range(*given):
                self._run(node.body, {**env, node.argument: step})
        elif node.name == "func.call":
            self._site = op
            site = op.attributes["relax.site"]
            names = (" ".join(each.value for each in site[name]) for name in ("operators", "nodes"))
            self.layers.append((*names, len(self.stream.code)))
            self._call(op.attributes["callee"].value, given)
        elif node.name == "memref.get_global":
            env[node.results[0]] = self._ref(op.results[0].type, "dram", self._addresses[op.attributes["name"].value])
        elif node.name == "memref.alloc":
            is_sram = "tir.memory" in op.attributes
            address = 0 if is_sram else self._take(_size(op.results[0].type))
            env[node.results[0]] = self._ref(op.results[0].type, "sram" if is_sram else "dram", address)
        elif node.name == "memref.view":
            env[node.results[0]] = self._ref(op.results[0].type, given[0].memory, given[0].address + given[1])
        elif node.name == "memref.subview":
            offsets, dynamic = list(op.attributes["static_offsets"]), iter(given[1:])
            known = [next(dynamic) if each < _UNKNOWN else each for each in offsets]
            env[node.results[0]] = self._ref(op.results[0].type, given[0].memory, given[0].at(known))
        elif node.name == "memref.extract_strided_metadata":
            env |= dict.fromkeys(node.results, 0) | {node.results[0]: given[0]}
        elif node.name == "memref.reinterpret_cast":
            (offset,), (_, own) = op.attributes["static_offsets"], op.operands[0].type.get_strides_and_offset()
            if own < _UNKNOWN:
                raise self._refused(f"where {op.operands[0].type} begins is not known")
            moved = ((given[1] if offset < _UNKNOWN else offset) - own) * BYTES[given[0].element]
            env[node.results[0]] = self._ref(op.results[0].type, given[0].memory, given[0].address + moved)
        elif node.name in ("memref.collapse_shape", "memref.expand_shape", "memref.cast"):
            env[node.results[0]] = self._ref(op.results[0].type, given[0].memory, given[0].address)
        elif node.name in _CALLED:
            _CALLED[node.name](self, op, *given)
        elif node.name != "memref.dealloc":
            raise self._refused(f"{node.name} becomes no instruction")
        return None

    # ---- the array: instructions of tensor intrinsics ----

    def _weights(self, op: Any, weights: Ref, transposed: int) -> None:
        rows, columns = op.operands[0].type.shape
        strides = weights.strides
        if transposed:
            (rows, columns), strides = (columns, rows), strides[::-1]
        fields = {"rows": rows, "columns": columns, "row_stride": strides[0], "column_stride": strides[1]}
        self.stream.add("LOAD_WEIGHTS", type=TYPES.index(weights.element), source=weights.address, **fields)

    def _matmul(self, op: Any, source: Ref, target: Ref) -> None:
        outer, inner = [1, 1, *op.operands[0].type.shape][-3:-1]
        fields = {"counts": inner | outer << 16, "source": source.address, "target": target.address}
        for name, ref in (("source", source), ("target", target)):
            fields[f"{name}_outer"], fields[f"{name}_inner"] = (0, 0, *ref.strides)[-3:-1]
        self.stream.add("MATMUL", type=TYPES.index(source.element), accumulate=1, **fields)

    # ---- DMA ----

    def _copy(self, op: Any, source: Ref, target: Ref) -> None:
        shape = op.operands[0].type.shape
        moves = zip(shape, source.strides, target.strides, strict=True)
        dims = merged([Dim(steps, (down, across)) for steps, down, across in moves])
        if source.memory == target.memory == "sram":
            return self._move(source, target, dims)
        return self.copy(source, target, dims)

    def _move(self, source: Ref, target: Ref, dims: Sequence[Dim]) -> None:
        """Copy in the scratchpad, through a register."""
        size, fields = BYTES[source.element], {"type": TYPES.index(source.element), "register": 0}
        for rows, columns, at in pieces(dims or [Dim(1, (size, size))], (source.address, target.address)):
            for number, name in enumerate(("VLOAD", "VSTORE")):
                strides = {"row_stride": rows.moves[number], "column_stride": columns.moves[number]}
                self.stream.add(name, **fields, address=at[number], rows=rows.steps, columns=columns.steps, **strides)

    def copy(self, source: Ref, target: Ref, dims: Sequence[Dim]) -> None:
        size = BYTES[source.element]
        *outer, last = dims or [Dim(1, (size, size))]
        if last.moves != (size, size):
            outer, last = [*outer, last], Dim(1, (size, size))
        *outer, row = outer or [Dim(1, (0, 0))]
        is_load = source.memory == "dram"
        if {source.memory, target.memory} != {"dram", "sram"}:
            raise self._refused(f"DMA copies between memories, not from {source.memory} to {target.memory}")
        names = ("dram", "sram") if is_load else ("sram", "dram")
        for places in starts(outer, (source.address, target.address)):
            fields = {"rows": row.steps, "bytes": last.steps * size, **dict(zip(names, places, strict=True))}
            strides = {f"{name}_stride": move for name, move in zip(names, row.moves, strict=True)}
            self.stream.add("DMA_LOAD" if is_load else "DMA_STORE", **fields, **strides)

    # ---- innermost nests: the vector unit ----

    def _leaf(self, nodes: Sequence[Node], loops: Sequence[Node], env: dict[int, Any]) -> None:
        if len(self.stream.code) > _MOST_INSTRUCTIONS:
            raise self._refused(f"the program comes to more than {_MOST_INSTRUCTIONS} instructions")
        steps = {loop.argument: range(*(self._known(each, env) for each in loop.operands)) for loop in loops}
        if not all(steps.values()):
            return
        begin = {**env, **{argument: each[0] for argument, each in steps.items()}}
        first = self._places(nodes, loops, dict(begin))
        dims = []
        for argument, each in steps.items():
            moved = self._places(nodes, loops, {**begin, argument: each[0] + each.step})
            dims.append(Dim(len(each), tuple(b - a for a, b in zip(first, moved, strict=True))))
        last = self._places(nodes, loops, {**env, **{argument: each[-1] for argument, each in steps.items()}})
        for place, (start, end) in enumerate(zip(first, last, strict=True)):
            if start + sum((dim.steps - 1) * dim.moves[place] for dim in dims) != end:
                raise self._refused("it comes to places that are no arithmetic sequence")
        computed = [node for node in nodes if not self._scalar(node, begin)]
        Nest(self.stream, computed, begin, self._refused, self.copy).emit(merged(dims), first)

    def _known(self, value: int, env: dict[int, Any]) -> Any:
        if value not in env:
            raise self._refused("the data say how far its loops go, or where they read and write")
        return env[value]

    def _places(self, nodes: Sequence[Node], loops: Sequence[Node], env: dict[int, Any]) -> list[int]:
        """Return the address of each load and store, at one step of the loops."""
        inside = {loop.argument for loop in loops}
        for node in [*(node for loop in loops[:-1] for node in loop.body), *nodes]:
            if self._scalar(node, env) and not inside.isdisjoint(node.operands):
                inside.update(node.results)
                if node.name in ("arith.divui", "arith.remui"):
                    raise self._refused("it comes to places that are no arithmetic sequence")
        found = []
        for node in nodes:
            if node.name in ("memref.load", "memref.store"):
                memref, *indices = node.operands[node.name == "memref.store" :]
                found.append(self._known(memref, env).at([self._known(each, env) for each in indices]))
        return found


_CALLED: dict[str, Callable[..., None]] = {
    "npu_weights": lambda to, op, ref: to._weights(op, ref, 0),
    "npu_weights_transposed": lambda to, op, ref: to._weights(op, ref, 1),
    "npu_matmul": Translator._matmul,
    "npu_copy": Translator._copy,
}


def _nest(loop: Node) -> tuple[list[Node], list[Node] | None]:
    """Return a loop with its nested loops, and the innermost body; None if the vector unit cannot run the body."""
    found = [loop]
    while True:
        body = found[-1].body
        loops = [node for node in body if node.name == "scf.for"]
        if any(len(each.operands) > 3 for each in (found[-1], *loops)):
            return found, None
        if not loops:
            is_leaf = any(node.name == "memref.store" for node in body)
            return found, body if is_leaf and not any(node.name in _CALLED or node.body for node in body) else None
        others = [node for node in body if node is not loops[0]]
        if not all(node.name == "arith.constant" or node.element == "index" for node in others):
            return found, None
        found.append(loops[0])


def _size(type_: Any) -> int:
    return max(math.prod(type_.shape), 1) * BYTES.get(str(type_.element_type), 4)
