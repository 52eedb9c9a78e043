# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of tensor intrinsics, implemented by a function that emits code or by a PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....bindings.ir import Block as IrBlock
from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_in, operations_of, symbol_name
from ....bindings.rewriting import copy_operation
from ....dialects.tir.prim_func import prim_funcs_in
from ....support.errors import RelaxError
from ....support.suggest import suggest
from .intrins import Engine, TensorIntrin, add_intrin, described
from .memories import COMMON, all_memories, find_memory
from .schedule import Schedule
from .tree import Tree
from .tree_writer import Writer

#: Operations on a parameter with result types that do not depend on its layout: actual layouts may differ from the
#: PrimFunc's.
_ON_ANY_LAYOUT = frozenset(
    "memref.load memref.store memref.dim memref.extract_aligned_pointer_as_index memref.extract_strided_metadata "
    "tir.call_extern tir.call_pure_extern".split()
)


def register_tensor_intrin(
    name: str,
    description: object,
    implementation: object = None,
    *,
    cost: float | Callable[[int], float] = 1.0,
    memories: Mapping[str, str] | None = None,
    wait: Callable[..., object] | None = None,
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register an intrinsic, `sch.tensorize(loop, name)`, with the function that emits it; use as a decorator.

    The description is a module with one PrimFunc (@T.prim_func, te.create_prim_func, rx.Module.parse). It has one block
    of known sizes, without an init, and uses all of its parameters. Instead of a decorated function, another PrimFunc
    with the same parameters, the `implementation`, may compute the intrinsic. Refuses a name that is taken.

    `memories` maps the description's operands to the memories where they have to be: {"A": "npu.sram"}. auto_tensorize
    compares `cost`, such as the cycles of one run, or a function from the number of runs to the cost of all. With
    `wait`, the intrinsic is asynchronous: the emitted code starts it, and it may access its operands while the code
    behind it runs. `wait(pending)` emits a wait until all but the last `pending` runs are done, as in register_memory.
    """
    tree = described(description)
    _check_memories(name, tree, memories or {})
    options = Engine(cost, dict(memories or {}), wait)

    def register(emit: Callable[..., object]) -> Callable[..., object]:
        add_intrin(name, TensorIntrin(emit, tree, engine=options))
        return emit

    if implementation is not None:
        made = _Implementation(name, implementation, tree)
        add_intrin(name, TensorIntrin(made, tree, needs_stack=True, engine=options))
    return register


def _check_memories(name: str, tree: Tree, memories: Mapping[str, str]) -> None:
    operands = [buffer.name for buffer in tree.buffers]
    for operand, memory in memories.items():
        if operand not in operands:
            listed = ", ".join(operands)
            raise RelaxError(f"tensor intrinsic '{name}' has no operand '{operand}' that could be in '{memory}' "
                             f"({listed}){suggest(operand, operands)}")  # fmt: skip
        if memory not in COMMON and find_memory(memory) is None:
            known = [*COMMON, *(registered.name for registered in all_memories())]
            raise RelaxError(f"tensor intrinsic '{name}': there is no memory '{memory}'{suggest(memory, known)}; "
                             "register_memory registers a memory")  # fmt: skip


class _Implementation:
    """Emitter of a PrimFunc's body on other memory."""

    def __init__(self, name: str, module: Any, tree: Tree):
        functions = prim_funcs_in(module.operation)
        if len(functions) != 1:
            raise RelaxError(
                f"tensor intrinsic '{name}': the implementation must be one PrimFunc, not {len(functions)}"
            )
        # Locations contain the names of blocks.
        self._text = module.operation.get_asm(enable_debug_info=True)
        _check_parameters(name, functions[0], tree)
        if _is_over_memory(functions[0]):
            _check_over_memory(name, functions[0])
        else:
            Schedule(functions[0]).read_of(symbol_name(functions[0]))  # refuses a PrimFunc that cannot be read as loops

    def __call__(self, *memrefs_and_stack: Any) -> None:
        """Emit the code at the insertion point, on memrefs. The last argument is the block for stack allocations."""
        *memrefs, stack = memrefs_and_stack
        # Parse again, in the context of the function that is compiled.
        module = ir.Module.parse(self._text)
        (function,) = prim_funcs_in(module.operation)
        if _is_over_memory(function):
            made = dict(zip(body_of(function).arguments, memrefs, strict=True))
            for op in operations_of(body_of(function))[:-1]:
                copy_operation(op, made)
        else:
            _write(function, memrefs, stack)


def _is_over_memory(function: Operation) -> bool:
    return all(not isinstance(argument.type, ir.RankedTensorType) for argument in body_of(function).arguments)


def _check_parameters(name: str, function: Operation, tree: Tree) -> None:
    found = [(list(argument.type.shape), str(argument.type.element_type)) for argument in body_of(function).arguments]
    wanted = [(list(buffer.shape), str(buffer.element)) for buffer in tree.buffers if buffer.is_given]
    if found != wanted:
        shown = (", ".join(f"{element} {tuple(shape)}" for shape, element in each) for each in (found, wanted))
        raise RelaxError(f"tensor intrinsic '{name}': its implementation has the parameters {{}}, its description {{}}"
                         .format(*shown))  # fmt: skip


def _check_over_memory(name: str, function: Operation) -> None:
    parameters = set(body_of(function).arguments)
    for op in operations_in(function):
        if op.name not in _ON_ANY_LAYOUT and any(operand in parameters for operand in op.operands):
            raise RelaxError(
                f"tensor intrinsic '{name}': its implementation has {op.name} of a parameter, which is a part of a "
                "larger buffer: elements are loaded and stored, and C functions are called (T.call_extern)"
            )


def _write(function: Operation, memrefs: list[Value], stack: IrBlock) -> None:
    """Emit the loops of the PrimFunc's schedule."""
    schedule, name = Schedule(function), symbol_name(function)
    read, tree = schedule.read_of(name)
    buffers = [buffer for buffer in read.tree.buffers if buffer.is_given]
    Writer(read._replace(memory=dict(zip(buffers, memrefs, strict=True))), tree).write(stack)
