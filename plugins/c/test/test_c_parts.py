# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of models through C: values, sizes, errors, the compiler's messages. (Apache TVM: test_codegen_c.py)"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from blocks import Weights, transformer_block
from c_programs import needs_compiler
from compiling import array, floats, module_with
from relax_mlir import relax
from relax_mlir.support.c_compiler import find_compiler
from relax_mlir_c.parts.codegen import part_sources


def partitioned(inputs: Any, body: Callable[..., Any], codegen: str = "c", **options: Any) -> rx.runtime.Executable:
    program = rx.compile(module_with(inputs, body), partition=[codegen], strict_partition=True, **options)
    assert "1 part by c" in repr(program)
    return program


def agree(inputs: Any, body: Callable[..., Any], *arguments: Any, tolerance: float = 1e-5) -> None:
    """Compare the part's results with the target's."""
    given = partitioned(inputs, body, "c{flags=-O1}")["main"](*arguments)
    expected = rx.compile(module_with(inputs, body), opt_level=0)["main"](*arguments)
    for one, other in zip(_several(given), _several(expected), strict=True):
        numpy.testing.assert_allclose(array(one), array(other), rtol=tolerance, atol=tolerance)


def _several(values: Any) -> list[Any]:
    return [values] if hasattr(values, "__dlpack__") else list(values)


@needs_compiler
def test_a_part_with_symbolic_sizes_and_several_results() -> None:
    def body(x: Any, w: Any) -> tuple[Any, Any]:
        y = relax.matmul(x, w)
        return relax.nn.softmax(y, axis=-1), relax.sum(relax.exp(y), axis=[0])

    for n in (1, 5):
        agree([rx.tensor(("n", 6)), rx.tensor((6, 3))], body, floats(n, 6), floats(6, 3))


@needs_compiler
def test_element_types() -> None:
    def body(x: Any, i: Any, b: Any) -> Any:
        halves = relax.astype(relax.multiply(x, x), dtype="float32")
        return relax.where(b, halves, relax.astype(relax.add(i, i), dtype="float32"))

    inputs = [rx.tensor((2, 3), "float16"), rx.tensor((2, 3), "uint8"), rx.tensor((2, 3), "bool")]
    x, i = floats(2, 3).astype("float16"), numpy.arange(6, dtype="uint8").reshape(2, 3) + 125
    agree(inputs, body, x, i, floats(2, 3) > 0)


@needs_compiler
@pytest.mark.slow
def test_a_transformer_block() -> None:
    inputs = [rx.tensor((1, 6, 16)), rx.tensor((1, 1, 6, 6))]
    agree(inputs, lambda x, mask: transformer_block(x, mask, Weights(3), 6, 16), floats(1, 6, 16), floats(1, 1, 6, 6))


@needs_compiler
def test_errors_at_run_time_state_index_and_size() -> None:
    def body(x: Any, i: Any) -> Any:
        return relax.take(relax.exp(x), i, axis=0)

    program = partitioned([rx.tensor((3, 4)), rx.tensor((2,), "int64")], body, "c{flags=-O0}")
    with pytest.raises(IndexError, match=r"relax.take .*index 7 is out of range for axis 0 of size 3"):
        program["main"](floats(3, 4), numpy.array([0, 7], "int64"))
    given = program["main"](floats(3, 4), numpy.array([2, -1], "int64"))
    numpy.testing.assert_allclose(array(given), numpy.exp(floats(3, 4))[[2, 2]], rtol=1e-6)


@needs_compiler
def test_parts_of_one_name_in_one_process() -> None:
    programs = [
        partitioned([rx.tensor((4,))], lambda x, by=by: relax.add(relax.exp(x), relax.const(by)), "c{flags=-O0}")
        for by in (1.0, 2.0)
    ]
    first, second = (array(each["main"](numpy.zeros(4, "float32"))) for each in programs)
    assert first.tolist() == [2.0] * 4 and second.tolist() == [3.0] * 4


@needs_compiler
def test_several_parts_next_to_what_stays() -> None:
    """Keep an operator that C cannot allocate memory for in the target, between two parts."""

    def body(x: Any) -> Any:
        wanted = relax.nonzero(relax.greater(relax.exp(x), relax.const(1.0)))
        return relax.negative(wanted), relax.sum(x, axis=[0])

    module = module_with([rx.tensor((5,))], body)
    program = rx.compile(module, partition=["c{flags=-O0}"])
    assert " by c" in repr(program)
    places, total = program["main"](numpy.array([-1, 2, 0, 3, -4], "float32"))
    assert array(places).ravel().tolist() == [-1, -3] and array(total) == 0


@needs_compiler
def test_a_program_runs_without_python_of_the_codegen(tmp_path: Path) -> None:
    program = partitioned([rx.tensor((4,))], lambda x: relax.tanh(relax.exp(x)), "c{flags=-O0}")
    path = tmp_path / "model.rxa"
    program.save(path)
    code = (
        "import sys, numpy, relax_mlir.runtime as runtime\n"
        f"x = runtime.load({str(path)!r})['main'](numpy.zeros(4, 'float32'))\n"
        "print(numpy.from_dlpack(x).tolist())\n"
        "assert not [name for name in sys.modules if 'external.c' in name or 'torch_mlir' in name]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    numpy.testing.assert_allclose(eval(done.stdout), numpy.tanh(1.0), rtol=1e-6)


@needs_compiler
def test_the_same_part_gives_the_same_bytes() -> None:
    one, other = (partitioned([rx.tensor((4,))], lambda x: relax.exp(relax.exp(x)), "c{flags=-O0}") for _ in range(2))
    assert one._artifact.objects == other._artifact.objects


def test_without_a_compiler_the_part_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m32")
    module = module_with([rx.tensor((4,))], relax.exp)
    reason = r"this machine has no compiler of C: 'no-such-compiler' \(\$CC\) is not found"
    with pytest.raises(rx.RelaxError, match=reason):
        rx.compile(module, partition=["c"], strict_partition=True)
    with pytest.warns(RuntimeWarning, match=reason):
        program = rx.compile(module, partition=["c"])
    numpy.testing.assert_allclose(array(program["main"](numpy.zeros(4, "float32"))), 1.0)
    with pytest.raises(rx.RelaxError, match=r"'none-such' \(option cc\) is not found"):
        find_compiler("none-such")


@needs_compiler
def test_the_compilers_words_are_reported() -> None:
    module = module_with([rx.tensor((4,))], relax.exp)
    with pytest.raises(rx.RelaxError) as caught:
        rx.compile(module, partition=["c{flags=-fno-such-flag}"], strict_partition=True)
    assert "-fno-such-flag" in str(caught.value) and "codegen 'c' declined @" in str(caught.value)
    command = find_compiler(os.environ.get("CC", "cc"))
    assert Path(command[0]).is_absolute()


def test_a_part_has_c_files_a_header_and_an_interface() -> None:
    module = module_with({"x": rx.tensor(("n", 4)), "y": rx.tensor(("n", 4), "bfloat16")}, _mixed)
    files, constants = part_sources(module)
    assert sorted(files) == ["part_part.c", "part_part.h", "part_part_data.c", "part_part_ffi.c"]
    assert constants == {"main": []}
    entry = files["part_part_ffi.c"]
    assert '__asm__("__tvm_ffi_part.main");' in entry
    assert 'take_tensor(&args[1], "main: y", 4, 16, 2, &tensor1)' in entry
    assert 'check_size(tensor1, "main: dimension 0 of y:", 0, n)' in entry
    assert 'check_size(tensor2, "main: dimension 1 of result:", 1, 4)' in entry


def _mixed(x: Any, y: Any) -> Any:
    return relax.add(x, relax.astype(y, dtype="float32"))


def _classifier(x: Any) -> Any:
    """Return a classifier with a weight of 64 KiB that two products share, a folded weight, and a small constant."""
    shared = relax.const(floats(128, 128))
    folded = relax.permute_dims(relax.const(floats(32, 128)))
    y = relax.nn.relu(relax.matmul(relax.matmul(x, shared), shared))
    return relax.add(relax.matmul(y, folded), relax.const(floats(32)))


def test_large_constants_are_no_text_of_a_part() -> None:
    """Pass large constants as parameters after the others, each once, for any names."""
    files, constants = part_sources(module_with([rx.tensor((2, 128))], _classifier))
    assert [str(each.type) for each in constants["main"]] == ["tensor<128x128xf32>", "tensor<128x32xf32>"]
    assert "const float *constant_0, const float *constant_1, float *result" in files["part_part.h"]
    assert "[16384]" not in files["part_part_data.c"]


@needs_compiler
def test_large_constants_are_in_the_files_own_section(tmp_path: Path) -> None:
    """Map large constants. Two parts have separate constants, next to the target's constants."""

    def body(x: Any) -> Any:
        y = relax.nonzero(relax.greater(_classifier(x), relax.const(0.0)))
        z = relax.add(_classifier(relax.negative(x)), relax.const(floats(1024, 32)[:2]))
        return relax.negative(y), z

    module, path = module_with([rx.tensor((2, 128))], body), tmp_path / "model.rxa"
    rx.compile(module, partition=["c{flags=-O0}"]).save(path)
    program = rx.runtime.load(path)
    artifact = program._artifact
    assert sum(each.data.nbytes for each in artifact.constants) >= 128 * 128 * 4
    assert not any(floats(128, 128).tobytes() in bytes(each) for each in artifact.objects)
    x = floats(2, 128)
    for one, other in zip(program["main"](x), rx.compile(module, opt_level=0)["main"](x), strict=True):
        numpy.testing.assert_allclose(array(one), array(other), rtol=1e-3, atol=1e-3)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool"])
def test_large_constants_of_other_types(dtype: str) -> None:
    import ml_dtypes  # noqa: F401  # numpy knows its names then

    values = (floats(64, 128) * 40).astype(dtype) if dtype != "uint8" else (abs(floats(64, 128)) * 40).astype(dtype)
    agree(
        [rx.tensor((2,), "int64")],
        lambda i: relax.astype(relax.take(relax.const(values), i, axis=0), dtype="float32"),
        numpy.array([63, 0], "int64"),
    )
