# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters that become constants, sizes that become numbers, work on weights that is done once, weights as a list.

Situations of Apache TVM's tests/python/relax: test_transform_bind_params.py, test_transform_bind_symbolic_vars.py,
test_transform_lift_transform_params.py, test_transform_bundle_model_params.py; in scripts: test/passes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import before_after
import blocks
import ml_dtypes
import numpy
import pytest
from before_after import op_names, random_arrays, results_of
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.substitute import symbols_in
from relax_mlir.passes.graph.relax_bind_params import BindParams
from relax_mlir.passes.graph.relax_bind_symbolic_vars import BindSymbolicVars, SymbolRange, symbol_ranges
from relax_mlir.passes.graph.relax_lift_transform_params import LiftTransformParams
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

GRAPHS = st.one_of(blocks.images(), blocks.sequences())


def same(ones: Any, others: Any) -> None:
    for one, other in zip(ones, others, strict=True):
        numpy.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=1e-4, atol=1e-4)


@draws(20)
@given(GRAPHS, st.booleans())
def test_random_graphs_whose_inputs_are_known(module: rx.Module, are_all_known: bool) -> None:
    x, y = random_arrays(module)
    expected = results_of(module, [x, y])
    BindParams(arrays={"x": x, "y": y} if are_all_known else {"y": y})(module)
    rx.Pipeline("relax-fold-constant").run(module)
    assert not (are_all_known and op_names(module)) or set(op_names(module)) <= {"relax.shape_expr", "relax.astype"}
    same(results_of(module, [] if are_all_known else [x]), expected)


@draws(20)
@given(GRAPHS)
def test_random_graphs_of_which_one_input_is_a_weight(module: rx.Module) -> None:
    x, y = random_arrays(module)
    expected = results_of(module, [x, y])
    LiftTransformParams(inputs=1)(module)
    transformed = rx.compile(module)["main_transform_params"](y)
    weights = transformed if isinstance(transformed, tuple) else [each for each in (transformed,) if each is not None]
    same(results_of(module, [x, *weights]), expected)
    after = set(before_after.functions_by_name(module))
    assert after == {"main", "main_transform_params"}


@draws(10)
@given(GRAPHS, st.sampled_from(["relax-canonicalize", "relax-decompose-ops{ops=nn.batch_norm,nn.layer_norm,nn.gelu}"]))
def test_random_graphs_that_share_their_weights(module: rx.Module, change: str) -> None:
    """Transform one of the two functions so that it shares only a part of its work with the other one."""
    x, y = random_arrays(module)
    expected = results_of(module, [x, y])
    main = module.body.operations[0].operation
    other = main.clone(ip=rx.ir.InsertionPoint.after(main)).operation
    other.attributes["sym_name"] = rx.ir.StringAttr.get("other", module.context)
    rx.Pipeline(f"func.func{{sym_name=other}}({change})").run(module)
    LiftTransformParams(inputs=1, function=("main", "other"))(module)
    program = rx.compile(module, opt_level=0)
    transformed = program["transform_params"](y)
    weights = transformed if isinstance(transformed, tuple) else [each for each in (transformed,) if each is not None]
    for name in ("main", "other"):
        results = program[name](x, *weights)
        same(results if isinstance(results, tuple) else [results], expected)


@draws(15)
@given(GRAPHS, st.integers(0, 2))
def test_random_graphs_whose_weights_are_a_list(module: rx.Module, inputs: int) -> None:
    x, y = random_arrays(module)
    expected = results_of(module, [x, y])
    rx.Pipeline(f"relax-bundle-params{{inputs={inputs} results}}").run(module)
    (found,) = [rx.compile(module, opt_level=0)["main"](*[x, y][:inputs], [x, y][inputs:])]
    same(found, expected)


@draws(15)
@given(GRAPHS)
def test_random_graphs_whose_weights_become_parameters(module: rx.Module) -> None:
    x, y = random_arrays(module)
    expected = results_of(module, [x, y])
    before = module.copy()
    try:
        weights = rx.unbind_params(module)
    except rx.RelaxError as error:
        assert "has no constants" in str(error) and str(module) == str(before)
        return
    same(results_of(module, [x, y, *weights.values()]), expected)
    BindParams(arrays=weights)(module)
    same(results_of(module, [x, y]), expected)


@draws(20)
@given(blocks.sequences())
def test_random_graphs_of_a_length_that_is_known(module: rx.Module) -> None:
    if "n" in symbols_in(module.operation):
        before_after.keeps_results(module, BindSymbolicVars(vars={"n": 5}))


def linear() -> rx.Module:
    module = rx.Module()
    inputs = {"x": rx.tensor(("n", "k")), "weight": rx.tensor(("k", "m")), "bias": rx.tensor(("m",))}
    with module.function("main", inputs) as f:
        x, weight, bias = f
        f.returns(relax.add(relax.matmul(x, weight), bias))
    return module


WEIGHT, BIAS = numpy.arange(12, dtype="f4").reshape(4, 3), numpy.ones(3, "f4")


def test_an_array_that_cannot_change_is_the_constant() -> None:
    weight = numpy.arange(4000, dtype="f4").reshape(40, 100)
    module = linear()
    BindParams(arrays={"weight": weight})(module)
    before = results_of(module, [numpy.ones((2, 40), "f4"), numpy.ones(100, "f4")])
    weight[:] = 0  # the caller's own
    same(results_of(module, [numpy.ones((2, 40), "f4"), numpy.ones(100, "f4")]), before)
    weight.flags.writeable = False
    module = linear()
    BindParams(arrays={"weight": weight})(module)
    weight.flags.writeable = True
    weight[:] = 1
    assert results_of(module, [numpy.ones((1, 40), "f4"), numpy.zeros(100, "f4")])[0].tolist() == [[40] * 100]


def test_arguments_are_checked_by_what_weights_tell() -> None:
    module = linear()
    BindParams(arrays={"weight": WEIGHT})(module)
    program = rx.compile(module)
    assert [each["shape"] for each in program.signature("main")["inputs"]] == [["n", 4], [3]]
    with pytest.raises(ValueError, match="x"):
        program["main"](numpy.ones((2, 5), "f4"), BIAS)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"wieght": WEIGHT}, "no parameter 'wieght'.*did you mean 'weight'"),
        ({"weight": WEIGHT.astype("f8")}, "'weight' is .*the array has element type float64"),
        ({"weight": WEIGHT[0]}, r"'weight' is .*shape \(3,\)"),
        ({"bias": BIAS, "weight": WEIGHT[:, :2]}, r"'weight' is .*shape \(4, 2\) \('m' is 3 already\)"),
        ({"bias": {"a": 1}}, "'bias' is a dict, not an array"),
        ({"bias": numpy.array(["a"] * 3)}, "'bias' is .*the array has element type str"),
    ],
)
def test_unsuitable_arrays_are_refused_without_changes(arrays: dict[str, Any], problem: str) -> None:
    module = linear()
    text = str(module)
    with pytest.raises(rx.RelaxError, match=problem):
        BindParams(arrays=arrays)(module)
    assert str(module) == text


def test_sizes_that_formulas_tell_are_bound_before() -> None:
    def built() -> rx.Module:
        module = rx.Module()
        with module.function("main", {"x": rx.tensor(("n",)), "w": rx.tensor((2 * rx.sym("n"),))}) as f:
            f.returns(relax.concat(list(f), axis=0))
        return module

    arrays = {"w": numpy.ones(6, "f4")}
    with pytest.raises(
        rx.RelaxError, match="'2\\*n' is not known to be 6: bind its symbols with relax-bind-symbolic-vars"
    ):
        BindParams(arrays=arrays)(built())
    module = built()
    BindSymbolicVars(vars={"n": 3})(module)
    BindParams(arrays=arrays)(module)
    assert results_of(module, [numpy.zeros(3, "f4")])[0].tolist() == [0] * 3 + [1] * 6
    with pytest.raises(rx.RelaxError, match=r"'w' is .*shape \(8,\) \('2\*n' is 6\)"):
        BindParams(arrays={"x": numpy.ones(3, "f4"), "w": numpy.ones(8, "f4")})(built())


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint8", "bool", "int64", "bfloat16", "float8_e4m3fn", "uint16"])
def test_files_hold_every_element_type(tmp_path: Path, dtype: str) -> None:
    array = numpy.arange(700).reshape(7, 100).astype(getattr(ml_dtypes, dtype, dtype))
    numpy.savez(tmp_path / "weights.npz", w=array)
    module = rx.Module()
    with module.function("main", {"w": rx.tensor((7, 100), dtype)}) as f:
        f.returns(relax.permute_dims(*f))
    rx.Pipeline(f"relax-bind-params{{params={tmp_path}/weights.npz}}").run(module)
    (found,) = results_of(module, [])
    assert found.dtype == array.dtype and found.tobytes() == array.T.tobytes()


def test_files_that_are_none(tmp_path: Path) -> None:
    numpy.save(tmp_path / "one.npy", WEIGHT)
    numpy.savez(tmp_path / "objects.npz", weight=numpy.array([{}]))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "objects.npz").read_bytes()[:40])
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("one.npy", "objects.npz", "cut.npz", "empty.npz", "none.npz", "."):
        with pytest.raises(rx.RelaxError, match="cannot read"):
            BindParams(params=str(tmp_path / name))(linear())


def test_unnamed_dynamic_sizes_stay_dynamic() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((None,))}) as f:
        f.returns(relax.exp(*f))
    BindParams(arrays={"x": numpy.zeros(3, "f4")})(module)
    assert op_names(module) == ["relax.match_cast", "relax.exp"]
    assert results_of(module, [])[0].tolist() == [1] * 3


def test_lists_of_parameters_lose_those_that_are_bound() -> None:
    module = linear()
    rx.Pipeline("relax-bundle-params{inputs=1}").run(module)
    BindParams(arrays={"weight": WEIGHT})(module)
    program = rx.compile(module)
    same([program["main"](numpy.ones((2, 4), "f4"), [BIAS])], [numpy.ones((2, 4), "f4") @ WEIGHT + BIAS])
    x = numpy.ones((2, 4), "f4")
    BindParams(arrays={"bias": BIAS})(module)
    same([rx.compile(module)["main"](x, [])], [x @ WEIGHT + BIAS])
    BindParams(arrays={"x": x})(module)
    same([rx.compile(module)["main"]([])], [x @ WEIGHT + BIAS])


def test_weights_are_transformed_once_and_passed_as_a_list() -> None:
    module = linear()
    with module.function("other", {"x": rx.tensor(("n",))}) as f:
        f.returns(relax.exp(*f))
    text = str(module).partition("@other")[2]
    steps = "relax-lift-transform-params{inputs=1},relax-bundle-params"
    rx.Pipeline(f"{steps},relax-bundle-params{{function=main_transform_params results}}").run(module)
    program = rx.compile(module)
    x = numpy.ones((2, 4), "f4")
    same([program["main"](x, program["main_transform_params"]([WEIGHT, BIAS]))], [x @ WEIGHT + BIAS])
    assert str(module).partition("@other")[2] == text


def test_ranges_are_kept_with_the_function() -> None:
    module = linear()
    BindSymbolicVars(vars={"n": "1..64"})(module)
    BindSymbolicVars(vars={"n": "8..100", "m": "0..3"})(module)
    function = module.body.operations[0].operation
    assert symbol_ranges(function) == {"m": SymbolRange(0, 3), "n": SymbolRange(8, 64)}
    same(results_of(module, [numpy.ones((9, 4), "f4"), WEIGHT, BIAS]), [numpy.ones((9, 4), "f4") @ WEIGHT + BIAS])
    BindSymbolicVars(vars={"n": 8, "m": 3})(module)
    assert symbol_ranges(function := module.body.operations[0].operation) == {}
    assert "relax.symbol_ranges" not in function.attributes


def test_sizes_that_would_be_wrong_are_refused_and_change_nothing() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n",))}) as f:
        f.returns(relax.exp(relax.match_cast(*f, rx.tensor((4,)))))
    text = str(module)
    with pytest.raises(rx.RelaxError, match="can never hold"):
        BindSymbolicVars(vars={"n": 9})(module)
    assert str(module) == text
