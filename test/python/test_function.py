# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module.function: functions built from Python."""

from __future__ import annotations

import pytest

import relax_mlir as rx
from relax_mlir import relax


def test_a_function_gets_its_type_from_what_it_returns() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 4)), rx.tensor((4,))]) as f:
        x, bias = f
        f.returns(relax.add(x, bias), relax.exp(x))
    module.verify()
    text = str(module)
    assert 'func.func @main(%arg0: tensor<?x4xf32, #relax.sym<["n", 4]>>, %arg1: tensor<4xf32>)' in text
    assert text.count('tensor<?x4xf32, #relax.sym<["n", 4]>>') > 4
    assert str(rx.Module.parse(text)) == text


def test_arguments_are_texts_infos_and_types_and_may_be_none() -> None:
    module = rx.Module()
    with module.function("f", ["tensor<2xi8>", rx.tensor(None, "bool"), rx.ScalarInfo("i64")], private=True) as f:
        assert [str(value.type) for value in f.args] == ["tensor<2xi8>", "tensor<*xi1>", "i64"]
        f.returns()
    with module.function("g") as g:
        g.returns()
    module.verify()
    assert "func.func private @f" in str(module) and "func.func @g() {" in str(module)


def test_sizes_are_written_in_one_way() -> None:
    module = rx.Module()
    with module.function("f", ['tensor<?xf32, #relax.sym<["1+n"]>>', rx.tensor(("n + 1",))]) as f:
        x, y = f
        cast = relax.match_cast(x, ty='tensor<?xf32, #relax.sym<["1 + n"]>>')
        assert x.type == y.type == relax.exp(x).type == cast.type
        f.returns()


def test_locations_around_are_the_operations_locations() -> None:
    module = rx.Module()
    with module.context, rx.ir.Location.file("net.py", 3, 7), module.function("f", [rx.tensor((2,))]) as f:
        f.returns(relax.exp(*f))
    assert 'loc("net.py":3:7)' in module.print(debug_info=True)


def test_a_failure_inside_leaves_nothing_behind() -> None:
    module = rx.Module()
    with pytest.raises(rx.RelaxError, match="x2"), module.function("f", [rx.tensor((2,))]) as f:
        relax.add(*f)
    assert "func.func" not in str(module)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["tensor<"], "'tensor<' is not a type"),
        ([3], "got int"),
        (["tensor<3xf32, #relax.sym<[4]>>"], "dimension 0 is 3 in the tensor but 4 in #relax.sym"),
        (['tensor<3x?xf32, #relax.sym<["n"]>>'], "names 1 dimensions, but the tensor has 2"),
        ([rx.tensor((2**40, 2**40))], "more than 2[*][*]63 - 1"),
    ],
)
def test_bad_types_are_refused(inputs: list[object], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message), rx.Module().function("f", inputs):
        pass


def test_a_name_is_taken_once_and_a_function_returns_once() -> None:
    module = rx.Module()
    with module.function("f") as f:
        f.returns()
    with pytest.raises(rx.RelaxError, match="@f already"), module.function("f"):
        pass
    with pytest.raises(rx.RelaxError, match="returns twice"), module.function("g", [rx.tensor((2,))]) as g:
        g.returns(*g)
        g.returns(*g)
    with pytest.raises(rx.RelaxError, match="must return values, got float"), module.function("h") as h:
        h.returns(1.0)


def test_a_function_says_what_it_returns() -> None:
    module = rx.Module()
    message = r"@f does not say what it returns: call f\.returns"
    with pytest.raises(rx.RelaxError, match=message), module.function("f", [rx.tensor((2,))]) as f:
        y = relax.exp(*f)
    assert "func.func" not in str(module)
    assert "was erased by the error in function @f" in str(y)
    with pytest.raises(KeyError), module.function("f"):
        raise KeyError
    with module.function("f") as f:
        f.returns()
    module.verify()


def test_repr() -> None:
    module = rx.Module()
    f = module.function("main", {"x": rx.tensor(("n", 4))})
    assert repr(f) == "<function @main, not begun>"
    with f:
        f.returns(relax.exp(*f))
    assert repr(f) == '<function main(x: Tensor((n, 4), "float32")) -> Tensor((n, 4), "float32")>'
