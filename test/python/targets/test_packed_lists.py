# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with lists and optionals as arguments and results, described by attributes of a graph function."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from compiling import array, compiled, floats, resident_kb
from relax_mlir.runtime.arguments import prepared
from relax_mlir.runtime.manifest import PassedValue, Signature

import relax_mlir as rx


def _group(kind: str, count: int, *flags: str) -> str:
    return f'{{kind = "{kind}", size = {count} : i64, name = "{kind}"{"".join(f", {flag}" for flag in flags)}}}'


def _attribute(*groups: str) -> str:
    return f"[{', '.join(groups)}]"


_LIST, _VALUE, _NOTHING = _group("list", 2), _group("value", 1), _group("nothing", 0)
_VECTOR = 'tensor<?xf32, #relax.sym<["n"]>>'


def _function(inputs: str, results: str) -> str:
    return f"""
func.func @main(%a: {_VECTOR}, %b: {_VECTOR}, %c: tensor<2xf32>) -> ({_VECTOR}, tensor<?x?xi64>, tensor<2xf32>)
    attributes {{relax.input_groups = {inputs}, relax.result_groups = {results}}} {{
  %0 = "relax.add"(%a, %b) : ({_VECTOR}, {_VECTOR}) -> {_VECTOR}
  %1 = "relax.nonzero"(%a) : ({_VECTOR}) -> tensor<?x?xi64>
  return %0, %1, %c : {_VECTOR}, tensor<?x?xi64>, tensor<2xf32>
}}"""


def test_lists_values_and_nothing() -> None:
    inputs, results = _attribute(_LIST, _NOTHING, _VALUE), _attribute(_group("list", 0), _LIST, _NOTHING, _VALUE)
    executable = compiled(_function(inputs, results))
    x, c = floats(3), floats(2)
    empty, both, nothing, same = executable["main"]([x, x], None, c)
    assert len(empty) == 0 and nothing is None
    numpy.testing.assert_array_equal(array(both[0]), 2 * x)
    numpy.testing.assert_array_equal(array(both[1]), [[0, 1, 2]])
    numpy.testing.assert_array_equal(array(same), c)
    signature = executable.signature("main")
    assert [each["kind"] for each in signature["inputs"]] == ["list", "nothing", "tensor"]
    assert [each["kind"] for each in signature["outputs"]] == ["list", "list", "nothing", "tensor"]
    assert [each["kind"] for each in signature["outputs"][1]["items"]] == ["tensor", "object"]


def test_objects_in_lists_are_passed_as_they_are() -> None:
    executable = compiled("""
func.func @main(%any: !relax.object, %x: tensor<2xf32>) -> (tensor<2xf32>, !relax.object)
    attributes {relax.input_groups = [{kind = "list", size = 2 : i64, name = "xs"}]} {
  return %x, %any : tensor<2xf32>, !relax.object
}""")
    x, same = executable["main"]([7, [1, 2]])
    assert x.tolist() == [1, 2] and same == 7


def test_a_list_that_is_written_to_is_one_of_arrays() -> None:
    tensor = PassedValue("tensor", dtype="float32", shape=(2,))
    signature = Signature("main", (PassedValue("list", "xs", items=(tensor,), written=True),), ())
    with pytest.raises(rx.runtime.UnsupportedArray, match="'xs' item #0 is written to, which would not be seen"):
        prepared(signature, [[[1.0, 2.0]]])
    (given,) = prepared(signature._replace(inputs=(signature.inputs[0]._replace(written=False),)), [[[1.0, 2.0]]])
    assert numpy.from_dlpack(given[0]).tolist() == [1, 2]


_JOINED = """
func.func @main(%first: tensor<2xf32>, %data: tensor<?xf32>, %rows: tensor<?x3xi64>, %there: tensor<i1>)
    -> (tensor<i1>, tensor<2xf32>, tensor<?xf32>, tensor<?x3xi64>) attributes {
      relax.result_groups = [{kind = "list", size = 4 : i64, name = "", optional, rest}]} {
  return %there, %first, %data, %rows : tensor<i1>, tensor<2xf32>, tensor<?xf32>, tensor<?x3xi64>
}"""


def _rows(*rows: Any) -> Any:
    return numpy.array(rows, "int64").reshape(-1, 3)


def test_tensors_that_a_function_has_joined() -> None:
    executable = compiled(_JOINED)
    main, first, data = executable["main"], floats(2), floats(8)
    (described,) = executable.signature("main")["outputs"]
    assert (described["optional"], described["rest"]["shape"], len(described["items"])) == (True, [None, None], 1)
    found = main(first, data, _rows((6, 2, 3), (0, 0, 5), (2, 2, 1)), numpy.array(True))
    expected = [first, data[:6].reshape(2, 3), numpy.zeros((0, 5), "float32"), data[6:].reshape(2, 1)]
    for actual, wanted in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(array(actual), wanted)
    assert len(main(first, data, _rows(), numpy.array(True))) == 1
    assert main(first, data, _rows((6, 2, 3)), numpy.array(False)) is None


@pytest.mark.parametrize(
    "row", [(9, 3, 3), (4, 2, 3), (-2, -2, 1), (0, -1, 0), (2**62, 2**31, 2**31), (0, 2**32, 2**32)]
)
def test_rows_that_do_not_tell_the_elements(row: Any) -> None:
    """Check that nothing is read outside of the elements."""
    with pytest.raises((ValueError, MemoryError)):
        compiled(_JOINED)["main"](floats(2), floats(8), _rows((1, 1, 1), row), numpy.array(True))


def test_nothing_is_kept() -> None:
    main = compiled(_JOINED)["main"]
    first, data = floats(2), floats(1 << 18)
    rows, wrong = _rows((1 << 17, 1 << 16, 2), (1 << 17, 2, 1 << 16)), _rows((1 << 17, 1 << 17, 1), (5, 1, 1))

    def calls(count: int) -> None:
        for _ in range(count):
            main(first, data, rows, numpy.array(True))
            main(first, data, rows, numpy.array(False))
            with pytest.raises(ValueError, match="the shape of a list's tensor #1 does not fit its elements"):
                main(first, data, wrong, numpy.array(True))

    calls(10)
    before = resident_kb()
    calls(50)
    assert resident_kb() - before < 8 * 1024  # a call makes two megabytes


@pytest.mark.parametrize(
    ("inputs", "results", "message"),
    [
        ('"x"', _attribute(_VALUE, _VALUE, _VALUE), "'relax.input_groups' that must be an array of dictionaries"),
        ("[1 : i64]", _attribute(_VALUE, _VALUE, _VALUE), "must be an array of dictionaries, got [1]"),
        ("[{size = 3 : i64}]", _attribute(_VALUE, _VALUE, _VALUE), "must hold dictionaries of kind, size and name"),
        ("[{kind = 1, size = 3 : i64, name = 1}]", _attribute(_LIST, _VALUE), "must hold dictionaries of kind (text)"),
        (_attribute(_LIST), _attribute(_LIST, _VALUE), "'relax.input_groups' is of 2 values, the function has 3"),
        (_attribute(_LIST, _VALUE), _attribute(_LIST), "'relax.result_groups' is of 2 values, the function has 3"),
        (_attribute(_group("pair", 3)), _attribute(_LIST, _VALUE), "holds a group of kind 'pair' with 3 values"),
        (_attribute(_group("value", 3)), _attribute(_LIST, _VALUE), "holds a group of kind 'value' with 3 values"),
        (_attribute(_group("list", 4), _group("list", -1)), _attribute(_LIST, _VALUE), "kind 'list' with -1 values"),
        (_attribute(_group("list", 3, "rest")), _attribute(_LIST, _VALUE), "that is for results"),
        (_attribute(_LIST, _VALUE), _attribute(_group("list", 3, "rest")), "does not end with elements and rows"),
        (_attribute(_LIST, _VALUE), _attribute(_group("list", 3, "optional")), "an optional without a 0-D bool"),
    ],
)
def test_attributes_that_are_wrong(inputs: str, results: str, message: str) -> None:
    with pytest.raises(rx.RelaxError) as raised:
        compiled(_function(inputs, results))
    assert message in str(raised.value)
