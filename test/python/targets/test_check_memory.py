# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of kernels: each allocation of every operator's kernels fails once, without a crash or a leak."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from compiling import array, built, floats, module_with
from failing_memory import FailingMemory, problems
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME, ScalarInfo, TensorInfo
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.targets.host.passes import host_check_memory as host_check_memory

import relax_mlir as rx
from relax_mlir import relax

sys.path.append(str(Path(__file__).resolve().parents[2] / "fuzz"))
import corpus  # of the fuzzer: the operations in the lit tests

_NAMES = {short: long for long, short in DTYPE_BY_NAME.items()} | {"i1": "bool"}
_SIZE = 3  # of every symbol
_SQUARE = rx.tensor((3, 4))
#: Operators that the lit tests have only with tensors of unknown rank or with shapes as arguments.
_MORE: dict[str, tuple[list[Any], Callable[..., Any]]] = {
    "relax.broadcast_to": ([rx.tensor((4,))], lambda x: relax.broadcast_to(x, (3, 4))),
    "relax.collapse_sum_to": ([_SQUARE], lambda x: relax.collapse_sum_to(x, (4,))),
    "relax.ewise_fma": ([_SQUARE] * 3, relax.ewise_fma),
    "relax.full": ([_SQUARE], lambda x: relax.add(x, relax.full((3, 4), relax.const(1.0)))),
    "relax.hamming_window": (
        [_SQUARE],
        lambda x: relax.add(x, relax.hamming_window(4, True, 0.5, 0.5, dtype="float32")),
    ),
    "relax.min": ([_SQUARE], lambda x: relax.min(x, axis=[1])),
    "relax.nn.pixel_shuffle": ([rx.tensor((1, 8, 3, 3))], lambda x: relax.nn.pixel_shuffle(x, 2)),
    "relax.zeros_like": ([_SQUARE], relax.zeros_like),
}


@pytest.fixture
def no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small memory is allocated as well."""
    monkeypatch.setattr(host_check_memory, "MOST_SMALL_BYTES", 0)


@functools.cache
def samples() -> dict[str, list[Any]]:
    """Return operations of the lit tests by name."""
    found: dict[str, list[Any]] = {}
    for sample in corpus.load().operations:
        found.setdefault(sample.name, []).append(sample)
    return found


def modules(name: str) -> list[rx.Module]:
    """Return functions that return an operator's results and whose arguments `arrays_for` supports."""
    if name in _MORE:
        infos, body = _MORE[name]
        return [module_with(infos, body)]
    return [module for module in map(module_of, samples()[name]) if arrays_for(module) is not None]


def module_of(sample: Any) -> rx.Module:
    made = [operand.maker for operand in sample.operands]
    arguments = ", ".join(f"%{i}: {operand.type}" for i, operand in enumerate(sample.operands) if not operand.maker)
    constants = "".join(f"  %{i} = {maker}\n" for i, maker in enumerate(made) if maker)
    operands = ", ".join(f"%{i}" for i in range(len(made)))
    attributes = ", ".join(f"{name} = {value}" for name, value in sample.attributes)
    types, results = ", ".join(operand.type for operand in sample.operands), ", ".join(sample.results)
    values = ", ".join(f"%r#{i}" for i in range(len(sample.results)))
    return rx.Module.parse(
        f"func.func @main({arguments}) -> ({results}) {{\n{constants}"
        f'  %r:{len(sample.results)} = "{sample.name}"({operands}) {{{attributes}}} : ({types}) -> ({results})\n'
        f"  return {values} : {results}\n}}\n"
    )


def arrays_for(module: rx.Module) -> list[Any] | None:
    """Return arguments of `main`: random floats, small integers. Return None if numpy lacks a type."""
    function = next(op for op in operations_in(module.owner.operation) if op.name == "func.func")
    infos: list[Any] = [decode(argument.type) for argument in function.regions[0].blocks[0].arguments]
    arrays: list[Any] = []
    for info in infos:
        if isinstance(info, ScalarInfo):
            arrays.append(1)
            continue
        if not isinstance(info, TensorInfo) or info.shape is None or not hasattr(numpy, _NAMES[info.dtype]):
            return None
        shape = tuple(_size(dim) for dim in info.shape)
        # Four integers are where sequences begin.
        whole = numpy.arange(4) if shape == (4,) else numpy.arange(1, 1 + numpy.prod(shape)).reshape(shape) % 2
        values = floats(*shape) if info.dtype[0] == "f" else whole
        arrays.append(numpy.array(values, _NAMES[info.dtype]))
    return arrays


def _size(dim: Any) -> int:
    """Return a size with the same number for each symbol and for unknown sizes."""
    text = re.sub(r"[A-Za-z_?]\w*", lambda word: word[0] if word[0] in ("min", "max") else str(_SIZE), str(dim or "?"))
    return int(eval(text))


def takes_memory(module: rx.Module) -> bool:
    """Check whether a kernel of the module allocates memory."""
    copy = module.copy()
    try:
        rx.stages("llvm").until("bufferize").run(copy, "llvm")
    except rx.RelaxError:  # unknown ranks and sizes
        return False
    functions = [op for op in copy.owner.operation.regions[0].blocks[0].operations if is_prim_func(op.operation)]
    return any(op.name == "memref.alloc" for function in functions for op in operations_in(function.operation))


# Other tests register rules of dialects of their own.
_OPERATORS = sorted({rule.op for rule in rx.all_rules("llvm") if rule.op.startswith("relax.")})


@pytest.mark.slow
@pytest.mark.parametrize("name", _OPERATORS)
def test_no_memory_for_an_operator(name: str, no_stack: None) -> None:
    """Fail each allocation once: the result is a MemoryError or right, without a leak."""
    found = modules(name)
    assert found, f"{name}: no lit test has it with arguments that can be made here, and _MORE has none"
    for module in filter(takes_memory, found):
        arrays = arrays_for(module)
        assert arrays is not None
        count, wrong = problems(module, arrays)
        assert wrong == [], f"{name}: {wrong}\n{module}"
        assert count > 0, f"{name}: nothing was allocated, the arguments do not fit it"


# ---- hand-written PrimFuncs ----

_COPY = """
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %t[%i] : TYPE
    }
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %t[%i] : TYPE
      memref.store %v, %o[%i] : memref<?xf32>
    }"""
_DYNAMIC, _LARGE = _COPY.replace("TYPE", "memref<?xf32>"), _COPY.replace("TYPE", "memref<65536xf32>")
_BY_HAND = {
    "alloc": f"%t = memref.alloc(%n) : memref<?xf32> {_DYNAMIC} memref.dealloc %t : memref<?xf32>",
    "in a loop": f"""
  scf.for %k = %c0 to %n step %c1 {{
    %t = memref.alloc(%n) : memref<?xf32> {_DYNAMIC}
    memref.dealloc %t : memref<?xf32>
  }}""",
    "stack": f"%t = memref.alloca(%n) : memref<?xf32> {_DYNAMIC}",
    "much stack in a loop": f"""
  scf.for %k = %c0 to %c1000 step %c1 {{
    %t = memref.alloca() : memref<65536xf32> {_LARGE}
  }}""",
    "stack in a scope": f"""
  %r = memref.alloca_scope -> (index) {{
    %t = memref.alloca(%n) : memref<?xf32> {_DYNAMIC}
    memref.alloca_scope.return %n : index
  }}
  memref.store %f, %o[%c0] : memref<?xf32>""",
    "a view given back": f"""
  %a = memref.alloc() : memref<65536xf32>
  %t = memref.cast %a : memref<65536xf32> to memref<?xf32> {_DYNAMIC}
  memref.dealloc %t : memref<?xf32>""",
    "vectors and indices": f"""
  %w = memref.alloc(%n) : memref<?xvector<3xf32>>
  %u = memref.alloc(%n) : memref<?xindex>
  %p = memref.alloc(%n) : memref<?xcomplex<f32>>
  %t = memref.alloc(%n) : memref<?xf32> {_DYNAMIC}
  memref.dealloc %p : memref<?xcomplex<f32>>
  memref.dealloc %w : memref<?xvector<3xf32>>
  memref.dealloc %u : memref<?xindex>
  memref.dealloc %t : memref<?xf32>""",
}
VECTOR = 'tensor<?xf32, #relax.sym<["n"]>>'


def by_hand(body: str) -> rx.Module:
    return rx.Module.parse(
        f"""
func.func @kernel(%x: memref<?xf32>, %o: memref<?xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %f = arith.constant 7.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  {body}
  return
}}
func.func @main(%x: {VECTOR}) -> {VECTOR} {{
  %0 = "relax.call_tir"(%x) {{func = @kernel}} : ({VECTOR}) -> {VECTOR} loc("here"("m.py":5:6))
  return %0 : {VECTOR}
}}"""
    )


@pytest.mark.parametrize("kind", _BY_HAND)
def test_no_memory_for_a_hand_written_kernel(kind: str, no_stack: None) -> None:
    module, x = by_hand(_BY_HAND[kind]), floats(5)
    count, wrong = problems(module, [x])
    assert wrong == [] and count > 1
    result = array(rx.compile(module)["main"](x))
    numpy.testing.assert_array_equal(result[1:], x[1:])


def test_the_error_names_the_operator_and_its_place() -> None:
    program = FailingMemory(by_hand(_BY_HAND["alloc"]))
    error = next(each for each in (program.call([floats(5)], number) for number in (1, 2)) if "temporary" in str(each))
    assert str(error) == '@kernel "here" at m.py:5:6: out of memory: no room for a temporary of 20 bytes'


def test_what_is_too_large_for_the_stack_and_leaves_its_block_is_refused() -> None:
    body = """
  %some = arith.cmpi sgt, %n, %c1 : index
  %t = scf.if %some -> (memref<?xf32>) {
    %a = memref.alloca(%n) : memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    scf.yield %x : memref<?xf32>
  }
  memref.store %f, %t[%c0] : memref<?xf32>"""
    with pytest.raises(
        rx.RelaxError, match=r"'memref.alloca' op \(memref<\?xf32>\) is too large for the stack, and used"
    ):
        rx.compile(by_hand(body))


# ---- PrimFuncs on tensors, with memory from upstream's bufferization ----

_GENERIC = """linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins({0} : TYPE) outs({1} : TYPE) {{
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    }} -> TYPE"""
_EMPTY = {"tensor<4xf32>": "tensor.empty() : tensor<4xf32>", "tensor<?xf32>": "tensor.empty(%n) : tensor<?xf32>"}


def carrying(type_: str, yielded: str) -> rx.Module:
    """Return a kernel with a loop that carries two tensors, and makes another one in each iteration."""
    doubled = _GENERIC.format("%p", "%e").replace("TYPE", type_)
    summed = _GENERIC.format("%r#0", "%o").replace("TYPE", type_)
    shown = type_.replace(">", ', #relax.sym<["n"]>>') if "?" in type_ else type_
    return rx.Module.parse(
        f"""
func.func @kernel(%x: {type_}, %o: {type_}) -> {type_} attributes {{tir.prim_func, tir.op_pattern = "opaque"}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : {type_}
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %x, %z = %x) -> ({type_}, {type_}) {{
    %e = {_EMPTY[type_]}
    %q = {doubled}
    scf.yield {yielded} : {type_}, {type_}
  }}
  %y = {summed}
  %d = linalg.add ins(%y, %r#1 : {type_}, {type_}) outs(%y : {type_}) -> {type_}
  return %d : {type_}
}}
func.func @main(%x: {shown}) -> {shown} {{
  %0 = "relax.call_tir"(%x) {{func = @kernel}} : ({shown}) -> {shown}
  %1 = "relax.nn.softmax"(%0) : ({shown}) -> {shown}
  return %0 : {shown}
}}"""
    )


@pytest.mark.parametrize("type_", _EMPTY)
@pytest.mark.parametrize("yielded", ["%q, %p", "%q, %q", "%z, %q", "%q, %z"])
def test_no_memory_for_what_a_loop_carries_on(type_: str, yielded: str, no_stack: None) -> None:
    module, x = carrying(type_, yielded), floats(4)
    values = {"%p": x, "%z": x}
    for _ in range(3):
        values["%q"] = 2 * values["%p"]
        values["%p"], values["%z"] = (values[name] for name in yielded.split(", "))
    numpy.testing.assert_allclose(array(rx.compile(module)["main"](x)), 2 * values["%p"] + values["%z"], rtol=1e-6)
    count, wrong = problems(module, [x])
    assert wrong == [] and count > 1


# ---- graph functions ----


def test_no_memory_for_what_loops_of_a_graph_carry_on() -> None:
    """Release the memory that a block owns if another allocation of the block fails."""
    module = rx.Module.parse(
        f"""
func.func @main(%x: {VECTOR}, %k: i64) -> ({VECTOR}, {VECTOR}) {{
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:3 = scf.while (%a = %x, %b = %x, %i = %c0) : ({VECTOR}, {VECTOR}, i64) -> ({VECTOR}, {VECTOR}, i64) {{
    %n = "relax.negative"(%a) : ({VECTOR}) -> {VECTOR}
    %c = arith.cmpi slt, %i, %k : i64
    scf.condition(%c) %n, %b, %i : {VECTOR}, {VECTOR}, i64
  }} do {{
  ^bb0(%a: {VECTOR}, %b: {VECTOR}, %i: i64):
    %f:2 = scf.for %j = %c0 to %k step %c1 iter_args(%p = %b, %q = %a) -> ({VECTOR}, {VECTOR}) : i64 {{
      %e = arith.cmpi eq, %i, %j : i64
      %s:2 = scf.if %e -> ({VECTOR}, {VECTOR}) {{
        %u = "relax.add"(%p, %q) : ({VECTOR}, {VECTOR}) -> {VECTOR}
        scf.yield %u, %p : {VECTOR}, {VECTOR}
      }} else {{
        scf.yield %q, %b : {VECTOR}, {VECTOR}
      }}
      scf.yield %s#0, %s#1 : {VECTOR}, {VECTOR}
    }}
    %next = arith.addi %i, %c1 : i64
    scf.yield %f#0, %f#1, %next : {VECTOR}, {VECTOR}, i64
  }}
  return %r#0, %r#1 : {VECTOR}, {VECTOR}
}}"""
    )
    count, wrong = problems(module, [floats(5), 2])
    assert wrong == [] and count > 20


# ---- sizes that no memory has ----


@pytest.mark.parametrize(("rows", "dtype"), [(2**40, "float32"), (2**60, "float32"), (2**62, "int8")])
def test_rows_without_elements(rows: int, dtype: str) -> None:
    """Request more memory for a row's results than exists, with a number of bytes that wraps around."""
    body = relax.nn.softmax if dtype == "float32" else lambda x: relax.argsort(x, axis=0)
    executable = built([rx.tensor(("n", "m"), dtype)], body)
    with pytest.raises((MemoryError, ValueError), match=r"no room for a temporary of \d+ bytes|are too large"):
        executable["main"](numpy.empty((rows, 0), dtype))
    assert array(executable["main"](numpy.empty((3, 0), dtype))).shape == (3, 0)


def test_a_temporary_whose_bytes_wrap_around() -> None:
    """Allocate 2^61 x 8 elements of 4 bytes, which are 0 bytes in 64 bits."""
    body = """
  %long = arith.constant 2305843009213693952 : index
  %r = arith.muli %n, %long : index
  %t = memref.alloc(%r, %n) : memref<?x?xf32>
  memref.store %f, %t[%c0, %c0] : memref<?x?xf32>
  memref.dealloc %t : memref<?x?xf32>"""
    with pytest.raises(MemoryError, match="no room for a temporary of 4611686018427387904 bytes"):
        rx.compile(by_hand(body))["main"](floats(2))
