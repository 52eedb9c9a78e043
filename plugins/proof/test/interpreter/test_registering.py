# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""References of another package's operators, and the errors about wrong references."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx

X = numpy.array([[1.0, -2.0, 3.0]], "float32")
_dialect = rx.Dialect("referred", doc="Of these tests.")


def declared(name: str, reference: Callable[..., Any] | None = None, **row: Any) -> Any:
    row = {"infer": lambda call: call.x, **row}
    return _dialect.op(name, "x", doc="Of a test.", reference=reference, **row)


def ran(*names: str) -> Any:
    module = rx.Module()
    with module.function("main", [rx.tensor(X.shape, "float32")]) as f:
        (value,) = f
        for name in names:
            value = rx.find_op(f"referred.{name}")(value)
        f.returns(value)
    return rx.reference(module)["main"](X)


def test_in_the_row() -> None:
    declared("scaled", lambda call, x: x * call.scale, attrs={"scale": rx.attrs.Float(3.0)})
    assert ran("scaled").tolist() == [[3.0, -6.0, 9.0]]


def test_registered() -> None:
    declared("halved")

    @rx.rules.register_reference("referred.halved")
    def halved(call: Any, x: Any) -> Any:
        assert (x.dtype, call.result.shape) == ("float64", (1, 3))
        return x / 2

    assert ran("halved").tolist() == [[0.5, -1.0, 1.5]]
    found = {each.op: each for each in rx.rules.all_references()}["referred.halved"]
    assert found.function is halved and re.fullmatch(r"interpreter/test_registering.py:\d+", found.place)
    with pytest.raises(
        rx.RelaxError, match=r"'referred.halved' has a reference already: interpreter/test_registering.py:\d+"
    ):
        rx.rules.register_reference("referred.halved")(lambda call, x: x)
    with pytest.raises(rx.RelaxError, match=r"^unknown operator 'referred.halve'; did you mean 'referred.halved'"):
        rx.rules.register_reference("referred.halve")(lambda call, x: x)


def test_elements_of_their_own_type() -> None:
    declared("stored")

    @rx.rules.register_reference("referred.stored", stored=True)
    def stored(call: Any, x: Any) -> Any:
        assert x.dtype == "float32"
        return x.view("int32").astype("float32")

    assert ran("stored")[0, 0] == 0x3F800000


def raises(call: Any, x: Any) -> Any:
    return x.no_such_thing


@pytest.mark.parametrize(
    "name, reference, message",
    [
        ("two", lambda call, x: [x, x], "gave 2 of 1 result"),
        ("nothing", lambda call, x: [], "gave 0 of 1 result"),
        ("turned", lambda call, x: x.T, r"gave shape \(3, 1\), the result's is \(1, 3\)"),
        ("text", lambda call, x: numpy.array(["a"]), "gave elements of <U1, the result's are f32"),
        ("complex", lambda call, x: x * 1j, "gave elements of complex128, the result's are f32"),
    ],
)
def test_wrong_results(name: str, reference: Any, message: str) -> None:
    declared(f"wrong_{name}", reference)
    place = r"^test_registering.py:\d+: reference: "
    with pytest.raises(rx.RefusalError, match=rf"{place}'referred.wrong_{name}': its reference \(.*py:\d+\) {message}"):
        ran(f"wrong_{name}")


def test_floats_are_no_integers() -> None:
    declared("whole", lambda call, x: x, infer=lambda call: call.x.with_dtype("i32"))
    with pytest.raises(rx.RefusalError, match="gave elements of float64, the result's are i32"):
        ran("whole")


def test_exceptions_name_the_line() -> None:
    declared("raising", raises)
    line = raises.__code__.co_firstlineno + 1
    message = (
        r"^test_registering.py:\d+: reference: 'referred.raising': the reference of 'referred.raising': "
        rf"AttributeError: .* has no attribute 'no_such_thing' \(at interpreter/test_registering.py:{line}\)"
    )
    with pytest.raises(rx.RefusalError, match=message):
        ran("raising")


def test_all_that_is_unknown_is_said_at_once() -> None:
    declared("unknown")
    declared("unknown_too")
    module = rx.Module.parse(
        """
func.func private @inner(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %0 = "referred.unknown_too"(%x) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %0 = "referred.unknown"(%x) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %1 = "relax.exp"(%0) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %2 = call @inner(%1) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  return %2 : tensor<1x3xf32>
}""",
        "model.mlir",
    )
    with pytest.raises(rx.RefusalError) as raised:
        rx.reference(module)["main"]
    texts = [each.message for each in raised.value.diagnostics]
    assert [text.partition(":")[0] for text in texts] == ["'referred.unknown'", "'referred.unknown_too'"]
    assert all("it has no reference: define one by rx.rules.register_reference" in text for text in texts)
    assert len({each.line for each in raised.value.diagnostics}) == 2
    assert str(raised.value).count("model.mlir:") == 2
