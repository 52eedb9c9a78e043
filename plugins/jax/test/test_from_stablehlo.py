# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of modules: forms of sources, sizes that jax names, checks, custom operations, and refusals."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.runtime import load

ADD = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.add %x, %x : tensor<3xf32>
  return %y : tensor<3xf32>
}"""
#: As jax.export writes a function with sizes "b" and "2*b".
SYMBOLIC = """module {
  func.func public @main(%arg0: tensor<?x4xf32>, %arg1: tensor<?xf32>) -> tensor<?x4xf32> {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %2 = stablehlo.compare GE, %0, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %0) {error_message = "b is {0}, at least 2 is expected"}
      : (tensor<i1>, tensor<i32>) -> ()
    %3 = stablehlo.multiply %0, %c : tensor<i32>
    %4 = stablehlo.compare EQ, %1, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %1) {error_message = "not twice"} : (tensor<i1>, tensor<i32>) -> ()
    %5 = call @inner(%0, %arg0, %arg1) : (tensor<i32>, tensor<?x4xf32>, tensor<?xf32>) -> tensor<?x4xf32>
    return %5 : tensor<?x4xf32>
  }
  func.func private @inner(%b: tensor<i32> {jax.global_constant = "b"}, %x: tensor<?x4xf32> loc("x"),
                           %y: tensor<?xf32> loc("y")) -> tensor<?x4xf32> {
    %c = stablehlo.constant dense<2> : tensor<1xi32>
    %0 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %0, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %2 = stablehlo.dynamic_reshape %y, %1 : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x2xf32>
    %3 = stablehlo.concatenate %2, %2, dim = 1 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
    %4 = stablehlo.add %x, %3 : tensor<?x4xf32>
    return %4 : tensor<?x4xf32>
  }
}"""


def test_text_bytes_and_files(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(ADD)
    for source in (ADD, ADD.encode(), path, str(path)):
        made = rx.compile(rx.from_stablehlo(source))["main"](numpy.float32([1, 2, 3]))
        assert made.tolist() == [2, 4, 6]


def test_sizes_have_the_names_of_jax() -> None:
    module = rx.from_stablehlo(SYMBOLIC)
    text = str(module)
    assert re.search(r'%arg0: tensor<\?x4xf32, #relax.sym<\["b", 4\]>> \{relax.name = "x"\}', text)
    assert '%arg1: tensor<?xf32, #relax.sym<["2*b"]>> {relax.name = "y"}' in text
    assert text.count("relax.assert_op") == 1  # the other one is in the types
    program = rx.compile(module)
    x, y = numpy.ones((3, 4), "float32"), numpy.arange(6, dtype="float32")
    expected = x + numpy.tile(y.reshape(3, 2), 2)
    numpy.testing.assert_array_equal(program["main"](x, y), expected)
    with pytest.raises(ValueError, match=r"2\*b = 6, got 5"):
        program["main"](x, y[:5])
    with pytest.raises(AssertionError, match="b is 1, at least 2 is expected"):
        program["main"](x[:1], y[:2])


def test_checks_of_test_data() -> None:
    def text(check: str, value: str) -> str:
        return f"""func.func @main() {{
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<{value}> : tensor<2xf32>
  stablehlo.custom_call @check.{check}(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}}"""

    for check, right, wrong in (
        ("expect_eq", "[1.0, 2.0]", "[1.0, 2.0000002]"),
        ("expect_almost_eq", "[1.0, 2.0001]", "[1.0, 2.1]"),
        ("expect_close", "[1.0, 2.0000004]", "[1.0, 2.00001]"),
    ):
        rx.compile(rx.from_stablehlo(text(check, right)))["main"]()
        with pytest.raises(AssertionError, match=f"check.{check} expects"):
            rx.compile(rx.from_stablehlo(text(check, wrong)))["main"]()


def test_quantized_operations_are_floats_between_quantize_and_dequantize() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %s = stablehlo.add %q, %q : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>)
    -> tensor<4x!quant.uniform<i8:f32, 1.0:0>>
  %d = stablehlo.uniform_dequantize %s : (tensor<4x!quant.uniform<i8:f32, 1.0:0>>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}"""
    made = rx.compile(rx.from_stablehlo(text))["main"](numpy.float32([0.2, 1.0, -2.4, 500]))
    assert made.tolist() == [0, 2, -5, 124]


def test_complex_numbers_at_the_border_are_pairs() -> None:
    text = """func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %c = stablehlo.constant dense<[(1.0, 2.0), (0.0, -1.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.multiply %x, %c : tensor<2xcomplex<f32>>
  return %y : tensor<2xcomplex<f32>>
}"""
    x = numpy.complex64([1 + 1j, 2 - 3j])
    made = numpy.asarray(rx.compile(rx.from_stablehlo(text))["main"](x.view("float32").reshape(2, 2)))
    numpy.testing.assert_allclose(made[:, 0] + 1j * made[:, 1], x * numpy.complex64([1 + 2j, -1j]))


def test_own_operations() -> None:
    @rx.register_stablehlo("custom_call @acme.twice", "composite @acme.thrice")
    def convert(node):  # type: ignore[no-untyped-def]
        times = 2.0 if node.op.endswith("twice") else 3.0
        return relax.multiply(node.tensor(0), relax.const(times))

    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.custom_call @acme.twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %z = stablehlo.composite "acme.thrice" %y {decomposition = @parts} : (tensor<3xf32>) -> tensor<3xf32>
  %w = stablehlo.composite "acme.other" %z {decomposition = @parts} : (tensor<3xf32>) -> tensor<3xf32>
  return %w : tensor<3xf32>
}
func.func private @parts(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.negate %x : tensor<3xf32>
  return %y : tensor<3xf32>
}"""
    made = rx.compile(rx.from_stablehlo(text))["main"](numpy.float32([1, 2, 3]))
    assert made.tolist() == [-6, -12, -18]


def test_all_that_cannot_be_imported_is_told_at_once() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.custom_call @nobodys.op(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %z = stablehlo.add %y, %y : tensor<3xf32>
  %w = stablehlo.custom_call @nobodys.other(%z) : (tensor<3xf32>) -> tensor<3xf32>
  return %w : tensor<3xf32>
}"""
    with pytest.raises(rx.RelaxError) as raised:
        rx.from_stablehlo(text)
    message = str(raised.value)
    assert "2 operations of the module cannot be imported" in message
    assert "custom_call @nobodys.op " in message and "custom_call @nobodys.other" in message and "line 2" in message
    assert "register_stablehlo" in str(raised.value.notes)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("module {", "cannot read"),
        (b"ML\xefR\rStableHLO_v1.13.0\x00rubbish", "cannot read"),
        (b"ML\xefRrubbish", "cannot read"),
        ("module {}", "no public function"),
        (7, "takes text, bytes, a path"),
        ("nowhere.mlir", "cannot read 'nowhere.mlir'"),
        ("func.func @main(%x: tuple<tensor<f32>>) {\n  return\n}", "argument #0"),
    ],
)
def test_sources_that_are_no_modules_are_refused(source: object, expected: str) -> None:
    with pytest.raises(rx.RelaxError, match=expected):
        rx.from_stablehlo(source)


def test_functions_that_call_themselves_are_refused() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = call @main(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}"""
    with pytest.raises(rx.RelaxError, match="is a function recursive"):
        rx.from_stablehlo(text)


def test_relax_compile_recognizes_stablehlo_by_its_operations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from relax_mlir.tools import relax_compile

    path, program = tmp_path / "add.mlir", tmp_path / "add.rxa"
    path.write_text(ADD)
    assert relax_compile.run([str(path), "-o", str(program), "--no-cache", "--jobs=1"]) == 0
    assert load(program)["main"](numpy.float32([1, 2, 3])).tolist() == [2, 4, 6]
    assert relax_compile.run([str(path), "--check"]) == 0
    path.write_text(ADD.replace("stablehlo.add %x, %x :", "stablehlo.custom_call @nobodys.op(%x) :").replace(
        ": tensor<3xf32>\n  return", ": (tensor<3xf32>) -> tensor<3xf32>\n  return"))  # fmt: skip
    capsys.readouterr()
    assert relax_compile.run([str(path), "--check"]) == 1
    assert "nobodys.op" in capsys.readouterr().out
    assert relax_compile.run(["--list-stablehlo-operators"]) == 0
    assert "stablehlo.dot_general" in capsys.readouterr().out


_SEVERAL_DEVICES = """
func.func @main(%x: tensor<4xf32>, %t: !stablehlo.token) -> tensor<4xf32> {
  %a = "stablehlo.all_reduce"(%x) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %b = "stablehlo.all_gather"(%x) {
    all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
  } : (tensor<4xf32>) -> tensor<8xf32>
  %c = "stablehlo.collective_permute"(%x) {
    source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %d = "stablehlo.all_to_all"(%x) {
    split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %e = stablehlo.partition_id : tensor<ui32>
  %f = stablehlo.replica_id : tensor<ui32>
  %g = "stablehlo.send"(%x, %t) {
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
  } : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %h:2 = "stablehlo.recv"(%g) {
    channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true
  } : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %i:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %j = "stablehlo.outfeed"(%x, %t) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %a : tensor<4xf32>
}
"""


def test_operators_of_several_devices_or_hosts_are_all_reported() -> None:
    with pytest.raises(rx.ModelError) as caught:
        rx.from_stablehlo(_SEVERAL_DEVICES)
    text = str(caught.value)
    for name in "all_reduce all_gather collective_permute all_to_all partition_id replica_id".split():
        (line,) = [each for each in text.splitlines() if each.startswith(f"stablehlo.{name} ")]
        assert "line " in line and "it is for several devices: mhlo.num_partitions or" in line, line
    for name in ("send", "recv", "infeed", "outfeed"):
        (line,) = [each for each in text.splitlines() if each.startswith(f"stablehlo.{name} ")]
        assert "line " in line and "it passes data to a host or another device while it runs" in line, line


def test_tokens_are_arrays_without_elements() -> None:
    module = rx.from_stablehlo("""
func.func @main(%t: !stablehlo.token, %x: tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>) {
  %u = stablehlo.after_all %t : !stablehlo.token
  return %u, %x : !stablehlo.token, tensor<4xf32>
}""")
    token, x = rx.compile(module)["main"](numpy.zeros(0, bool), numpy.ones(4, "float32"))
    assert token.shape == (0,) and list(x) == [1, 1, 1, 1]


@pytest.mark.parametrize("elements", ["(0xFF800000,0.0)", "[(1.0,2.0), (-0.5,0xFF800000)]"])
def test_constants_of_complex_numbers(elements: str) -> None:
    type_ = "tensor<2xcomplex<f32>>" if "[" in elements else "tensor<complex<f32>>"
    module = rx.from_stablehlo(f"""
func.func @main() -> {type_} {{
  %x = stablehlo.constant dense<{elements}> : {type_}
  return %x : {type_}
}}""")
    found = numpy.from_dlpack(rx.compile(module)["main"]()).ravel().tolist()
    assert found == ([1, 2, -0.5, -numpy.inf] if "[" in elements else [-numpy.inf, 0])


def test_plain_bytecode_is_told_by_its_dialects(tmp_path: Path) -> None:
    from relax_mlir.tools.common.models import kind_of, read_model
    from test_hostile import artifact, bytecode

    for name, data in (("plain.mlirbc", bytecode(ADD)), ("portable.mlir", artifact(ADD))):
        path = tmp_path / name
        path.write_bytes(data)
        assert kind_of(str(path)) == "stablehlo"
        assert rx.compile(read_model(str(path)))["main"](numpy.float32([1, 2, 3])).tolist() == [2, 4, 6]
    path.write_bytes(rx.from_stablehlo(ADD).bytecode())
    assert kind_of(str(path)) == "module"
    path.write_bytes(data[:30])
    assert kind_of(str(path)) == "module"
