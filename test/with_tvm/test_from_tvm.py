# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.from_tvm beside TVM's own virtual machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
import tvm_modules
from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm_modules import MODELS, PRIM_FUNCS, STAGES, by_tvm, exported, flat, floats, prim_func

import relax_mlir as rx


def agree(got: Any, wanted: list[np.ndarray]) -> None:
    for one, other in zip(flat(got), wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", MODELS)
def test_models_at_stages(name: str, stage: str) -> None:
    make, shape, sizes = MODELS[name]
    module, arguments = exported(make(), *shape)
    given = arguments(*sizes)
    wanted = by_tvm(module, given)
    module = tvm.transform.Sequential(STAGES[stage])(module)
    agree(rx.compile(rx.from_tvm(module))["main"](*given), wanted)


@pytest.mark.parametrize("name", PRIM_FUNCS)
def test_prim_funcs_of_topi(name: str) -> None:
    inputs, make = PRIM_FUNCS[name]
    output = make()
    function = prim_func(inputs, output)
    given = [floats(*map(int, each.shape)) for each in inputs]
    results = tvm.runtime.empty(tuple(map(int, output.shape)), str(output.dtype))
    tvm.compile(tvm.IRModule({"main": function}), "llvm")["main"](*map(tvm.runtime.tensor, given), results)
    agree(rx.compile(rx.from_tvm(function))["main"](*given), [results.numpy()])


def test_a_schedule_of_tvms() -> None:
    inputs, make = PRIM_FUNCS["matmul"]
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": prim_func(inputs, make())}))
    block = schedule.get_sblock("T_matmul")
    i, j, k = schedule.get_loops(block)
    outer, inner = schedule.split(j, [None, 4])
    schedule.reorder(i, outer, k, inner)
    schedule.vectorize(inner)
    schedule.parallel(i)
    schedule.decompose_reduction(block, k)
    a, b = floats(5, 7), floats(7, 6)
    agree(rx.compile(rx.from_tvm(schedule.mod))["main"](a, b), [a @ b])


def test_parts_of_graphs() -> None:
    x, y = floats(3, 4), floats(5, 4)
    module = rx.from_tvm(tvm_modules.Parts)
    executable = rx.compile(module)
    assert list(executable) == ["main"]
    for up in (True, False):
        got = executable["main"](x, y, np.array(up), 2)
        moved = x + np.float32(0.5)
        left, right = moved[:, :2], moved[:, 2:]
        chosen = left + right if up else left - np.float32(0.1)
        agree(got[:2], [np.stack([chosen, chosen]), y])
        assert tuple(got[2]) == (5, 4)


def test_functions_alone() -> None:
    x = floats(2, 3)
    function = tvm_modules.with_constants()["main"]
    value = np.arange(6, dtype="float32").reshape(2, 3)
    agree(rx.compile(rx.from_tvm(function))["main"](x)[0], [x * value + value])
    assert "func.func @first" not in str(rx.from_tvm(function))


# ---- constants ----


def test_constants_are_what_they_were() -> None:
    module, x = tvm_modules.with_constants(), floats(2, 3)
    executable = rx.compile(rx.from_tvm(module))
    for name in ("first", "main"):
        wanted = [each.value.numpy() for each in module[name].body.body.fields[1:]]
        got = executable[name](x)[1:]
        for one, other in zip(got, wanted, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_constants_of_small_floats(dtype: str) -> None:
    values = np.arange(200).reshape(2, 100).astype(getattr(ml_dtypes, dtype))
    x = relax.Var("x", R.Tensor((1,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(relax.const(values))
    got = rx.compile(rx.from_tvm(builder.finalize()))["main"](floats(1))
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got, values)


def test_many_constants_of_one_shape() -> None:
    values = [np.full((2, 2), i, "float32") for i in range(40)]
    builder, x = relax.BlockBuilder(), relax.Var("x", R.Tensor((2, 2), "float32"))
    with builder.function("main", [x]):
        y = x
        for value in values:
            half = relax.const(np.full((2, 2), 0.5, "float32"))
            y = builder.emit(relax.op.add(relax.op.multiply(y, half), relax.const(value)))
        builder.emit_func_output(y)
    wanted = given = floats(2, 2)
    for value in values:
        wanted = wanted * np.float32(0.5) + value
    agree(rx.compile(rx.from_tvm(builder.finalize()))["main"](given), [wanted])


def test_large_constants_are_not_copied() -> None:
    tensor = tvm.runtime.tensor(np.ones((512, 512), "float32"))
    x = relax.Var("x", R.Tensor((512, 512), "float32"))
    module = rx.from_tvm(relax.Function([x], relax.op.add(x, relax.const(tensor)), R.Tensor((512, 512), "float32")))
    tensor.copyfrom(np.full((512, 512), 3, "float32"))  # the copy must not happen: it shows whose memory this is
    agree(rx.compile(module)["main"](np.zeros((512, 512), "float32")), [np.full((512, 512), 3, "float32")])


# ---- TVM's codegens ----


def partitioned() -> Any:
    model, arguments = exported(tvm_modules.Convolutions(), 1, 3, 12, 12)
    pattern = is_op("relax.nn.relu")(is_op("relax.add")(is_op("relax.nn.conv2d")(wildcard(), wildcard()), wildcard()))
    passes = [
        relax.transform.FuseOpsByPattern([("mynpu.conv_relu", pattern)], bind_constants=False),
        relax.transform.MergeCompositeFunctions(),
    ]
    return tvm.transform.Sequential(passes)(model), by_tvm(model, given := arguments(1, 3, 12, 12)), given


def test_functions_of_a_codegen() -> None:
    module, wanted, given = partitioned()
    assert '"Codegen": "mynpu"' in module.script()
    agree(rx.compile(rx.from_tvm(module))["main"](*given), wanted)


# ---- refusals ----


def refusal(module: Any) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_tvm(module)
    return str(caught.value)


def test_refusals_show_the_line() -> None:
    @I.ir_module
    class Distributed:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            y: R.Tensor((4, 4), "float32") = R.ccl.allreduce(x, "sum")
            return y

    text = refusal(Distributed)
    assert text.startswith("<tvm>:8:")
    assert "R has no 'ccl.allreduce'" in text
    assert "= R.ccl.allreduce(x, op_type=" in text


def test_recursion() -> None:
    @I.ir_module
    class Recursive:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y: R.Tensor((4,), "float32") = Recursive.main(x)
            return y

    assert "'main' calls itself: main -> main" in refusal(Recursive)


def test_lowered_tvm_functions_are_refused() -> None:
    @T.prim_func(s_tir=True)
    def one(A: T.Buffer((4,), "float32")) -> None:
        for i in range(4):
            A[i] = T.float32(1)

    lowered = tvm.tirx.transform.MakePackedAPI()(
        tvm.tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(
            tvm.IRModule({"one": one.with_attr("global_symbol", "one")})
        )
    )
    assert "'one' is already lowered" in refusal(lowered)


def test_an_old_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm, "__version__", "0.25.0.post1")
    text = refusal(tvm_modules.Parts)
    assert text.startswith("from_tvm needs TVM 0.26 or newer, this is 0.25.0.post1: write mod.script(show_meta=True)")


@pytest.mark.parametrize("given", ["@R.function", 3, None, tvm.target.Target("llvm")])
def test_objects_that_are_no_modules_are_refused(given: object) -> None:
    text = refusal(given)
    assert "from_tvm takes a tvm.IRModule, a relax.Function or a PrimFunc, got " in text
    assert ("rx.Module.from_script reads text" in text) == isinstance(given, str)


def test_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "from-tvm.md"
    blocks = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 2
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
