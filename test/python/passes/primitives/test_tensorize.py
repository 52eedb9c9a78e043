# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensorize: an intrinsic replaces the nest that its description matches, and no other."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.emit import vectors
from schedule_kernels import check, kernel

import relax_mlir as rx
from relax_mlir import te

ROWS, COLUMNS, STEPS = 4, 16, 8


def product(rows: int, columns: int, steps: int, dtype: str = "float32") -> rx.Module:
    """Return C + A @ B without an init."""
    text = f"""
from relax_mlir.script import tir as T

@T.prim_func
def tile(A: T.Buffer(({rows}, {steps}), "{dtype}"), B: T.Buffer(({steps}, {columns}), "{dtype}"),
         C: T.Buffer(({rows}, {columns}), "{dtype}")):
    for i, j, k in T.grid({rows}, {columns}, {steps}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = A[vi, vk] * B[vk, vj] + C[vi, vj]
"""
    return rx.Module.from_script(text)


def emit(a: Any, b: Any, c: Any) -> None:
    row = vectors.vector_of(COLUMNS, c.type.element_type)
    sums = [vectors.load(row, c, i, 0) for i in range(ROWS)]
    for k in range(STEPS):
        here = vectors.load(row, b, k, 0)
        each = [vectors.spread(row, rx.loops.load(a, i, k)) for i in range(ROWS)]
        sums = [vectors.multiply_add(here, value, total) for value, total in zip(each, sums, strict=True)]
    for i, total in enumerate(sums):
        vectors.store(total, c, i, 0)


rx.register_tensor_intrin("tests.tile", product(ROWS, COLUMNS, STEPS))(emit)
rx.register_tensor_intrin("tests.short", product(ROWS, COLUMNS, 4))(lambda a, b, c: None)
rx.register_tensor_intrin("tests.double", product(ROWS, COLUMNS, STEPS, "float64"))(lambda a, b, c: None)


def tiled(name: str = "matmul_relu") -> tuple[rx.Schedule, Any, list[Any]]:
    sch = rx.Schedule(kernel(name).module())
    block = sch.get_block("Y" if name == "matmul_relu" else "C")
    i, j, k = sch.get_loops(block)
    i, rows = sch.split(i, [None, ROWS])
    j, columns = sch.split(j, [None, COLUMNS])
    k, steps = sch.split(k, [None, STEPS])
    sch.reorder(i, j, k, rows, columns, steps)
    return sch, block, [i, j, k, rows, columns, steps]


def test_an_intrinsic_replaces_the_nest() -> None:
    sch, block, (_, j, k, rows, _, _) = tiled()
    sch.decompose_reduction(block, k)
    sch.tensorize(rows, "tests.tile")
    sch.parallel(sch.get_loops(block)[0])
    check(kernel("matmul_relu"), sch)
    again = rx.Schedule(kernel("matmul_relu").module(), trace=sch.trace)
    assert again.show() == sch.show()
    del j


def test_of_a_copy_in_another_layout() -> None:
    sch, block, (i, j, k, rows, _, _) = tiled()
    copied = sch.cache_read(block, "B", "global")
    sch.transform_layout(copied, ("write", 0), lambda k, j: (j // 16, k, j % 16))
    sch.decompose_reduction(block, k)
    sch.tensorize(rows, "tests.tile")
    check(kernel("matmul_relu"), sch)
    del i, j


def test_the_initial_value_of_a_tensorized_reduction_is_written_before() -> None:
    sch, _, (*_, rows, _, _) = tiled()
    sch.tensorize(rows, "tests.tile")
    check(kernel("matmul_relu"), sch)


def test_of_an_unknown_intrinsic() -> None:
    sch, _, (*_, rows, _, _) = tiled()
    with pytest.raises(rx.RelaxError, match=r"unknown tensor intrinsic 'tests\.til'; did you mean 'tests\.tile'\?"):
        sch.tensorize(rows, "tests.til")


def refusal(name: str, prepare: Any = lambda sch, loops: loops[3], kernel_name: str = "matmul_relu") -> str:
    sch, block, loops = tiled(kernel_name)
    sch.decompose_reduction(block, loops[2])
    loop, before = prepare(sch, loops), sch.show()
    with pytest.raises(rx.RelaxError) as error:
        sch.tensorize(loop, name)
    assert sch.show() == before
    return str(error.value)


def test_refusals_tell_the_difference() -> None:
    assert "'vk' has 8 steps, but the intrinsic's 'vk' has 4" in refusal("tests.short")
    assert "'Y' computes Y[vi, vj] + A[vi, vk] * B[vk, vj], the intrinsic A[vi, vk]" in refusal("tests.double")
    fewer = refusal("tests.tile", lambda _, loops: loops[4])
    assert "2 variables of 'Y' move inside of the loop, the intrinsic has 3" in fewer

    def unrolled(sch: rx.Schedule, loops: list[Any]) -> Any:
        sch.unroll(loops[5])
        return loops[3]

    assert "is unrolled: an intrinsic replaces serial loops" in refusal("tests.tile", unrolled)
    assert "has points only where" in refusal("tests.tile", kernel_name="matmul")


def test_loops_inside_of_an_intrinsic_cannot_change() -> None:
    sch, block, (_, _, k, rows, columns, steps) = tiled()
    sch.decompose_reduction(block, k)
    sch.tensorize(rows, "tests.tile")
    before = sch.show()
    for spoil in (lambda: sch.unroll(steps), lambda: sch.vectorize(columns), lambda: sch.rfactor(steps, 0)):
        with pytest.raises(rx.RelaxError):
            spoil()
        assert sch.show() == before


def described(parameters: str, body: str) -> rx.Module:
    head = "from relax_mlir.script import tir as T\n\n@T.prim_func\ndef described"
    return rx.Module.from_script(f"{head}({parameters}):\n{textwrap.indent(textwrap.dedent(body), '    ')}")


AB = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
COPY = """
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
"""


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (kernel("matmul").module(), "one block without an init; decompose_reduction removes an init"),
        (kernel("softmax").module(), "one block without an init"),
        (rx.Module(), "description must be one PrimFunc, not 0"),
        (kernel("rows").module(), "one block without an init"),
        (
            described(
                "a: T.handle, b: T.handle",
                """
                n = T.int64()
                A = T.match_buffer(a, (n,), "float32")
                B = T.match_buffer(b, (n,), "float32")
                for i in range(n):
                    with T.block("B"):
                        vi = T.axis.spatial(n, i)
                        B[vi] = A[vi] * T.float32(2)
                """,
            ),
            "the sizes of an intrinsic's description must be numbers",
        ),
        (
            described(AB.replace("A: T.Buffer((8,)", "A: T.Buffer((9,)"), COPY.replace("A[vi]", "A[vi + 1]")),
            "must use its block's variables as indices, 'A' is used at vi + 1",
        ),
        (
            described(
                AB.replace("A: T.Buffer((8,)", "A: T.Buffer((8, 2)"), COPY.replace("A[vi]", "A[vi, 0] + A[vi, 1]")
            ),
            "must use its block's variables as indices, 'A' is used at 0",
        ),
        (
            described('I: T.Buffer((8,), "int64"), ' + AB, COPY.replace("A[vi]", "A[T.max(I[vi], T.int64(0))]")),
            "must use its block's variables as indices, 'A' is read at computed indices",
        ),
        (
            rx.Module.parse("""
func.func @own(%a: memref<8xf32>) attributes {tir.prim_func} {
  %b = memref.alloc() : memref<8xf32>
  linalg.copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  return
}"""),
            "must not allocate memory, such as 'own': make the buffer a parameter",
        ),
        (
            described(AB.replace("A: T.Buffer((8,)", "A: T.Buffer((9,)"), COPY),
            "must use all of each parameter: 'A' has 9 elements along 'vi', which has 8 steps",
        ),
        (described('C: T.Buffer((8,), "float32"), ' + AB, COPY), "must use all parameters: 'C' is unused"),
    ],
)
def test_malformed_descriptions_of_intrinsics_are_refused(description: rx.Module, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=re.escape(message)):
        rx.register_tensor_intrin("tests.bad", description)(emit)


def test_a_second_one_of_a_name_is_refused() -> None:
    with pytest.raises(rx.RelaxError, match=r"there is a tensor intrinsic 'tests\.tile' already"):
        rx.register_tensor_intrin("tests.tile", product(1, 1, 1))(lambda a, b, c: None)


def test_te_can_describe_an_intrinsic() -> None:
    a = te.placeholder((8,), name="A")
    doubled = te.compute((8,), lambda i: a[i] * 2.0, name="B")

    @rx.register_tensor_intrin("tests.twice", te.create_prim_func([a, doubled]))
    def twice(x: Any, y: Any) -> None:
        here = vectors.load(vectors.vector_of(8, x.type.element_type), x, 0)
        vectors.store(here + here, y, 0)

    sch = rx.Schedule(kernel("blur").module())
    before = sch.show()
    with pytest.raises(rx.RelaxError, match="'vj' has 20 steps, but the intrinsic's 'vi' has 8"):
        sch.tensorize(sch.get_loops(sch.get_block("B"))[1], "tests.twice")
    assert sch.show() == before
    x = te.placeholder((4, 16), name="X")
    module = te.create_prim_func([x, te.compute((4, 16), lambda i, j: x[i, j] * 2.0, name="Y")])
    sch = rx.Schedule(module)
    sch.tensorize(sch.split(sch.get_loops(sch.get_block("Y"))[1], [None, 8])[1], "tests.twice")
    array = np.random.default_rng(0).standard_normal((4, 16)).astype("float32")
    np.testing.assert_array_equal(rx.compile(sch.mod)["main"](array), array * 2)


@rx.register_tensor_intrin("tests.of_no_dialect", product(ROWS, COLUMNS, STEPS))
def emit_of_no_dialect(a: Any, b: Any, c: Any) -> None:
    ir.Operation.create("x86vector.nothing_like_it", operands=[a, b, c])


def test_emitting_an_unloaded_dialect_is_refused() -> None:
    """Load the dialect: MLIR would make unregistered operations of it, and crash on them later."""
    sch, block, (_, _, k, rows, _, _) = tiled()
    sch.decompose_reduction(block, k)
    sch.tensorize(rows, "tests.of_no_dialect")
    with pytest.raises(rx.RelaxError) as refused:
        rx.compile(sch.mod)
    assert "emits 'x86vector.nothing_like_it', but its dialect is not loaded" in str(refused.value)
    assert "load_dialects(context, ['x86vector'])" in str(refused.value)
