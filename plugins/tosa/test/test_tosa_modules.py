# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole modules of TOSA: sources, sizes, names, shapes, refusals, custom operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir_tosa.registry import CONVERTERS
from tosa_program import constant, operation, shape

_X = numpy.arange(24, dtype="float32").reshape(2, 3, 4)


def run(text: str, *given: Any) -> Any:
    return rx.compile(rx.from_tosa(text))["main"](*given)


def written(given: str, result: str, *body: str) -> str:
    return "\n".join([f"func.func @main({given}) -> {result} {{", *body, f"return %r : {result}", "}"])


def refused(text: str) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_tosa(text)
    return str(caught.value)


ADD = written("%a: tensor<?x4xf32>, %b: tensor<1x4xf32>", "tensor<?x4xf32>",
              "%r = tosa.add %a, %b : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>")  # fmt: skip


def test_text_bytes_and_files(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    rows, row = _X[0], _X[1, :1].copy()
    for source in (ADD, ADD.encode(), path, str(path), rx.Module.parse(ADD).bytecode()):
        made = rx.compile(rx.from_tosa(source))["main"](rows, row)
        assert (made == rows + row).all()
    with pytest.raises(rx.RelaxError, match=r"cannot read '.*none\.mlir': No such file"):
        rx.from_tosa(tmp_path / "none.mlir")
    with pytest.raises(rx.RelaxError, match="cannot read '<tosa>'"):
        rx.from_tosa("func.func @main(")
    with pytest.raises(rx.RelaxError, match="no public function with a body"):
        rx.from_tosa("module {}")


def test_names_of_arguments_and_results() -> None:
    text = written(
        '%a: tensor<3xf32> {tosa.tensor_name = "x"}', '(tensor<3xf32> {tosa.tensor_name = "y"})',
        "%r = tosa.exp %a : (tensor<3xf32>) -> tensor<3xf32>",
    ).replace("return %r : (tensor<3xf32> {tosa.tensor_name = \"y\"})", "return %r : tensor<3xf32>")  # fmt: skip
    shown = str(rx.from_tosa(text))
    assert 'relax.name = "x"' in shown and 'relax.result_names = ["y"]' in shown


def test_calls_are_where_they_stand() -> None:
    inner = "func.func private @twice(%a: tensor<3xf32>) -> tensor<3xf32> {\n%r = tosa.add %a, %a : " \
            "(tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\nreturn %r : tensor<3xf32>\n}\n"  # fmt: skip
    text = inner + written(
        "%a: tensor<3xf32>", "tensor<3xf32>", "%r = call @twice(%a) : (tensor<3xf32>) -> tensor<3xf32>"
    )
    assert run(text, numpy.ones(3, "float32")).tolist() == [2, 2, 2]


# ---- sizes and shapes ----


def test_dynamic_sizes() -> None:
    """Reshape [n, 3, 4] to [3, 4 * n] by arithmetic on shapes."""
    text = written(
        "%a: tensor<?x3x4xf32>", "tensor<3x?xf32>",
        "%t = tosa.transpose %a {perms = array<i32: 1, 0, 2>} : (tensor<?x3x4xf32>) -> tensor<3x?x4xf32>",
        '%n = "tosa.dim"(%a) {axis = 0 : i32} : (tensor<?x3x4xf32>) -> !tosa.shape<1>',
        shape("four", [4]), shape("three", [3]),
        operation("mul_shape", [("%n", "!tosa.shape<1>"), ("%four", "!tosa.shape<1>")], "!tosa.shape<1>", to="%m"),
        operation("concat_shape", [("%three", "!tosa.shape<1>"), ("%m", "!tosa.shape<1>")], "!tosa.shape<2>", to="%s"),
        operation("reshape", [("%t", "tensor<3x?x4xf32>"), ("%s", "!tosa.shape<2>")], "tensor<3x?xf32>"),
    )  # fmt: skip
    module = rx.from_tosa(text)
    assert '#relax.sym<[3, "4*size_0"]>' in str(module)
    for count in (1, 2):
        x = _X[:count].copy()
        expected = x.transpose(1, 0, 2).reshape(3, -1)
        assert (rx.compile(module)["main"](x) == expected).all()


@pytest.mark.parametrize(
    ("op", "given", "expected"),
    [
        ("add_shape", [[7, 2], [3, 2]], [10, 4]),
        ("sub_shape", [[7, 2], [3, 2]], [4, 0]),
        ("mul_shape", [[7, 2], [3, 2]], [21, 4]),
        ("div_floor_shape", [[7, 2], [3, 2]], [2, 1]),
        ("div_ceil_shape", [[7, 2], [3, 2]], [3, 1]),
        ("mod_shape", [[7, 2], [3, 2]], [1, 0]),
        ("max_shape", [[7, 2], [3, 2]], [7, 2]),
        ("min_shape", [[7, 2], [3, 2]], [3, 2]),
        ("exp2_shape", [[3, 1]], [8, 2]),
        ("log2_floor_shape", [[9, 8]], [3, 3]),
        ("log2_ceil_shape", [[9, 8]], [4, 3]),
    ],
)
def test_arithmetic_on_shapes(op: str, given: list[list[int]], expected: list[int]) -> None:
    """Tile a tensor of one element by computed sizes."""
    kind = "!tosa.shape<2>"
    names = [f"s{place}" for place in range(len(given))]
    text = written(
        "%a: tensor<1x1xf32>", "tensor<?x?xf32>",
        *(shape(name, values) for name, values in zip(names, given, strict=True)),
        operation(op, [(f"%{name}", kind) for name in names], kind, to="%m"),
        operation("tile", [("%a", "tensor<1x1xf32>"), ("%m", kind)], "tensor<?x?xf32>"),
    )  # fmt: skip
    assert list(run(text, numpy.ones((1, 1), "float32")).shape) == expected


# ---- operators without a program in tosa_programs ----


def test_more_operators() -> None:
    a, b = _X, numpy.arange(40, dtype="float32").reshape(2, 5, 4)
    zeros = [constant("y", [0.0], "f32"), constant("z", [0.0], "f32")]
    pair = [("%a", "tensor<2x3x4xf32>"), ("%b", "tensor<2x5x4xf32>"), ("%y", "tensor<1xf32>"), ("%z", "tensor<1xf32>")]
    text = written("%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>", "tensor<2x3x5xf32>", *zeros,
                   operation("matmul_t", pair, "tensor<2x3x5xf32>"))  # fmt: skip
    numpy.testing.assert_allclose(run(text, a, b), a @ b.transpose(0, 2, 1), rtol=1e-5)


def test_constants_of_4_bits() -> None:
    text = written(
        "%a: tensor<2xi32>", "tensor<2xi32>",
        '%c = "tosa.const"() {values = dense<[-8, 7]> : tensor<2xi4>} : () -> tensor<2xi4>',
        '%d = "tosa.cast"(%c) : (tensor<2xi4>) -> tensor<2xi32>',
        "%r = tosa.add %a, %d : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>",
    )  # fmt: skip
    assert run(text, numpy.array([1, 2], "int32")).tolist() == [-7, 9]


def test_integers_pooled_adaptively() -> None:
    text = written(
        "%a: tensor<1x4x4x1xi8>", "tensor<1x2x2x1xi8>",
        constant("y", [0], "i8"), constant("z", [0], "i8"), shape("k", [2, 2]), shape("p", [0, 0, 0, 0]),
        operation("avg_pool2d_adaptive", [("%a", "tensor<1x4x4x1xi8>"), ("%y", "tensor<1xi8>"), ("%z", "tensor<1xi8>"),
                  ("%k", "!tosa.shape<2>"), ("%k", "!tosa.shape<2>"), ("%p", "!tosa.shape<4>")], "tensor<1x2x2x1xi8>",
                  "acc_type = i32"),
    )  # fmt: skip
    x = numpy.arange(16, dtype="int8").reshape(1, 4, 4, 1)
    assert run(text, x).ravel().tolist() == [3, 5, 11, 13]


# ---- refusals and custom operators ----


def test_all_that_cannot_be_imported_is_said_at_once() -> None:
    message = refused(
        written(
            "%a: tensor<3xf32>", "tensor<3xf32>",
            '%0 = "tosa.custom"(%a) {operator_name = "swish", domain_name = "acme", implementation_attrs = ""} : '
            "(tensor<3xf32>) -> tensor<3xf32>",
            '%1 = "acme.exponent"(%a) : (tensor<3xf32>) -> tensor<3xf32>',
            "%r = tosa.add %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
        )
    )  # fmt: skip
    assert "2 operations of the module cannot be imported" in message
    assert "tosa.custom @acme.swish" in message and "acme.exponent" in message
    assert "<tosa>:2" in message or "line 2" in message
    assert '@rx.register_tosa("tosa.custom @acme.swish")' in message


def test_variables_are_refused() -> None:
    text = written("%a: tensor<3xf32>", "tensor<3xf32>",
                   "%r = tosa.variable_read @state : tensor<3xf32>")  # fmt: skip
    message = refused("tosa.variable @state = dense<0.0> : tensor<3xf32>\n" + text)
    assert "a program has no variables: make the state an argument and a result of the function" in message


def test_quantized_types_are_refused() -> None:
    text = written("%a: tensor<3x!quant.uniform<i8:f32, 0.5>>", "tensor<3x!quant.uniform<i8:f32, 0.5>>", "").replace(
        "%r", "%a"
    )
    assert "argument #0 of 'main': elements of type !quant.uniform<i8:f32" in refused(text)


@pytest.fixture
def taught() -> Iterator[Callable[..., Any]]:
    before = dict(CONVERTERS.entries)
    yield rx.register_tosa
    CONVERTERS.entries.clear()
    CONVERTERS.entries.update(before)


def test_a_custom_operator(taught: Callable[..., Any]) -> None:
    @taught("tosa.custom @acme.scaled")
    def scaled(node: Any) -> Any:
        factor = float(node.attr("implementation_attrs"))
        return rx.relax.multiply(node.tensor(0), rx.relax.const(factor, "f32"))

    text = written(
        "%a: tensor<3xf32>", "tensor<3xf32>",
        '%r = "tosa.custom"(%a) {operator_name = "scaled", domain_name = "acme", implementation_attrs = "2.5"} : '
        "(tensor<3xf32>) -> tensor<3xf32>",
    )  # fmt: skip
    assert run(text, numpy.ones(3, "float32")).tolist() == [2.5, 2.5, 2.5]
    with pytest.raises(rx.RelaxError, match="has a converter already"):
        taught("tosa.add")(scaled)


def test_relax_compile_takes_tosa_by_what_is_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from relax_mlir.bindings.mlir import ir
    from relax_mlir.tools import relax_compile

    text = written("%x: tensor<2xf32>", "tensor<2xf32>", "%r = tosa.abs %x : (tensor<2xf32>) -> tensor<2xf32>")
    with ir.Context(), open(tmp_path / "abs.mlirbc", "wb") as file:
        ir.Module.parse(text).operation.write_bytecode(file)
    (tmp_path / "abs.mlir").write_text(text)
    for name in ("abs.mlir", "abs.mlirbc"):
        program = tmp_path / f"{name}.rxa"
        assert relax_compile.run([str(tmp_path / name), "--check"]) == 0
        assert relax_compile.run([str(tmp_path / name), "-o", str(program), "--no-cache", "--jobs=1"]) == 0
        assert rx.runtime.load(program)["main"](numpy.float32([-1, 2])).tolist() == [1, 2]
    (tmp_path / "abs.mlir").write_text(
        text.replace("return %r", '%s = "acme.op"(%r) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %s')
    )
    capsys.readouterr()
    assert relax_compile.run([str(tmp_path / "abs.mlir"), "--check"]) == 1
    assert "acme.op" in capsys.readouterr().out
    assert relax_compile.run(["--list-tosa-operators"]) == 0
    assert "tosa.conv2d" in capsys.readouterr().out
