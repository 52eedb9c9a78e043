# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of operators on known elements: equal to the compiled program to the last bit, and equal with symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.symbols import SymExpr, sym
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.passes.evaluate import registry
from relax_mlir.passes.evaluate.elements import is_symbolic, objects
from relax_mlir.passes.evaluate.operations import compute
from relax_mlir.passes.evaluate.ratios import NotExact, Ratio
from relax_mlir.passes.evaluate.registry import EvaluationCall, all_evaluations, evaluate
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


class Case(NamedTuple):
    """Operator on arrays. With `always` an evaluation has to exist; otherwise the program may compute the result."""

    op: str
    arrays: list[Any]
    attributes: Mapping[str, Any] = MappingProxyType({})
    shape: tuple[Any, ...] = ()
    always: bool = True


def _elements(random: Any, dtype: str, *shape: int) -> Any:
    """Return numbers of all kinds, with limits, infinities and NaN."""
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype in FLOATS:
        special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 0.5, 1.5, -2.5, 1e-7, 6e4], dtype)
        plain = (random.normal(size=shape) * 10).astype(dtype)
        return numpy.where(random.random(shape) < 0.3, random.choice(special, shape), plain)
    limits = numpy.iinfo(dtype)
    plain = random.integers(max(limits.min, -9), 9, shape, dtype)
    far = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = random.choice(numpy.array([limits.min, limits.max, 0, 1], dtype), shape)
    return numpy.choose(random.integers(0, 3, shape), [plain, far, ends])


def _elementwise(random: Any, dtype: str) -> Iterator[Case]:
    any_of = lambda: _elements(random, dtype, 3, 5)  # noqa: E731
    for op in ("equal", "not_equal"):
        yield Case(op, [any_of(), any_of()])
    yield Case("where", [_elements(random, "bool", 3, 5), any_of(), any_of()])
    if dtype == "bool":
        for op in ("logical_and", "logical_or", "logical_xor"):
            yield Case(op, [any_of(), any_of()])
        yield Case("logical_not", [any_of()])
        return
    for op in ("add", "subtract", "multiply", "less", "less_equal", "greater", "greater_equal"):
        yield Case(op, [any_of(), any_of()[0]])
    for op in ("maximum", "minimum"):
        yield Case(op, [any_of(), any_of()], always=dtype not in FLOATS)
    for op in ("abs", "square", "negative", "round", *(("sign",) if dtype in INTEGERS else ())):
        yield Case(op, [any_of()])
    if dtype in FLOATS:
        for op in ("ceil", "floor", "trunc", "sqrt", "isnan", "isinf", "isfinite"):
            yield Case(op, [any_of()])
        yield Case("divide", [any_of(), any_of()])
        return
    divisors = random.integers(2, 9, (3, 5), dtype) * numpy.asarray(random.choice([1, -1] if dtype[0] == "i" else [1]))
    for op in ("divide", "floor_divide", "floor_mod", "mod"):
        yield Case(op, [any_of(), divisors.astype(dtype)])
    for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield Case(op, [any_of(), any_of()])
    yield Case("bitwise_not", [any_of()])
    bits = numpy.dtype(dtype).itemsize * 8
    for op in ("left_shift", "right_shift"):
        yield Case(op, [any_of(), random.integers(0, bits, (3, 5)).astype(dtype)])


def _conversions(random: Any, dtype: str) -> Iterator[Case]:
    size = numpy.dtype(dtype).itemsize
    for target in (each for each in (*INTEGERS, *FLOATS) if numpy.dtype(each).itemsize == size and dtype != "bool"):
        yield Case("bitcast", [_elements(random, dtype, 3, 5)], {"dtype": target})
    for target in random.choice(DTYPES, 4, replace=False).tolist():
        known = dtype not in FLOATS or target in (*FLOATS, "bool")
        yield Case("astype", [_elements(random, dtype, 3, 5)], {"dtype": target}, always=known)
    if dtype in ("int8", "uint8", "int16", "uint16"):
        scale, zero = numpy.float32(random.uniform(1e-2, 2, 5)), _elements(random, dtype, 5)
        yield Case("dequantize", [_elements(random, dtype, 3, 5), scale, zero], {"axis": 1})
        reals = _elements(random, "float32", 3, 5)
        yield Case("quantize", [reals, scale, zero], {"axis": 1, "out_dtype": dtype})


def _of_scalars(random: Any, dtype: str) -> Iterator[Case]:
    """Yield cases on tensors of rank 0, for which numpy's functions return numbers."""
    for case in (*_elementwise(random, dtype), *_conversions(random, dtype)):
        attributes = {name: 0 if name == "axis" else value for name, value in case.attributes.items()}
        arrays = [numpy.asarray(array.flat[0]) for array in case.arrays]
        yield case._replace(arrays=arrays, attributes=attributes)


def _moving(random: Any, dtype: str) -> Iterator[Case]:
    x = _elements(random, dtype, 3, 4, 1)
    yield Case("reshape", [x], shape=(2, 6))
    yield Case("broadcast_to", [x], shape=(2, 3, 4, 5))
    yield Case("flatten", [x])
    yield Case("expand_dims", [x], {"axis": [0, 2]})
    yield Case("squeeze", [x], {"axis": [-1]})
    yield Case("permute_dims", [x], {"axes": [2, 0, 1]})
    yield Case("permute_dims", [x])
    yield Case("flip", [x], {"axis": -2})
    yield Case("tile", [x], {"repeats": [2, 1, 3]})
    yield Case("concat", [x, x[:, :1], x], {"axis": 1})
    yield Case("stack", [x, x[::-1]], {"axis": -1})
    yield Case("split", [x], {"indices_or_sections": 3, "axis": 1})
    yield Case("split", [x], {"indices_or_sections": [1, 3], "axis": -2})
    bounds = random.integers(-6, 6, (2, 2)).tolist()
    yield Case("strided_slice", [x], {"axes": [0, 1], "begin": bounds[0], "end": bounds[1], "strides": [1, -2]})
    indices = random.integers(-4, 4, (2, 2))
    yield Case("take", [x, indices], {"axis": 1})
    yield Case("take", [x, indices + 5])
    places = numpy.argsort(random.random((3, 4)), axis=1)[:, :2] - random.choice([0, 4])
    yield Case("scatter_elements", [x[..., 0], places, _elements(random, dtype, 3, 2)], {"axis": 1})
    yield Case("scatter_nd", [x, numpy.array([[2], [-3]]), _elements(random, dtype, 2, 4, 1)])
    yield Case("nonzero", [x])
    for op in ("sum", "prod", "max", "min"):
        axes = random.choice([None, 0, 2])
        given = (
            {"axis": None if axes is None else [0, -axes // 2 - 1]} if axes != 2 else {"axis": [1], "keepdims": True}
        )
        yield Case(op, [x], given, always=dtype not in FLOATS)


def _creation(random: Any, dtype: str) -> Iterator[Case]:
    number = _elements(random, dtype)
    yield Case("full", [], {"fill_value": number}, (2, 3))
    yield Case("full_like", [_elements(random, dtype, 2, 3), number])
    for op in ("zeros", "ones"):
        yield Case(op, [], {"dtype": dtype}, (2, 3))
        yield Case(f"{op}_like", [_elements(random, dtype, 2, 3)])


def _cases(random: Any, dtype: str) -> list[Case]:
    made = [_elementwise, _conversions, _of_scalars, _moving, _creation]
    return [case for family in made for case in family(random, dtype)]


def _built(cases: list[Case]) -> tuple[rx.Module, list[Any]]:
    """Return a function with all cases on its parameters, and the operations."""
    arrays = [array for case in cases for array in case.arrays]
    module = rx.Module()
    results, operations = [], []
    with module.function("main", [rx.tensor(array.shape, array.dtype.name) for array in arrays]) as f:
        given = iter(f)
        for case in cases:
            attributes = dict(case.attributes)
            operands = [next(given) for _ in case.arrays]
            operands += [case.shape] if case.shape else []
            operands += [relax.const(attributes.pop("fill_value"))] if "fill_value" in attributes else []
            made = rx.find_op(f"relax.{case.op}")(*operands, **attributes)
            several = made if isinstance(made, tuple) else (made,)
            results += several
            operations.append(several[0].owner.operation)
        f.returns(*results)
    return module, operations


def _evaluated(case: Case, operation: Any) -> list[Any] | None:
    tail = [case.attributes["fill_value"]] if "fill_value" in case.attributes else []
    arrays = [*case.arrays, *[None] * bool(case.shape), *tail]
    return compute(operation, arrays)


@draws(24)
@given(st.sampled_from(DTYPES), st.integers(0, 10**6))
def test_to_the_last_bit_what_the_program_computes(dtype: str, seed: int) -> None:
    cases = _cases(numpy.random.default_rng(seed), dtype)
    module, operations = _built(cases)
    program = rx.compile(module, opt_level=0, cache=False, jobs=1)
    arrays = [array for case in cases for array in case.arrays]
    computed = iter(program["main"](*arrays))
    for case, operation in zip(cases, operations, strict=True):
        of_program = [next(computed) for _ in operation.results]
        found = _evaluated(case, operation)
        assert found is not None or not case.always, f"it is unknown what {case.op} makes of {dtype}"
        for own, other in zip(found or (), of_program, strict=found is not None):
            expected = to_numpy(other, own.dtype.name)
            assert own.dtype == expected.dtype and own.shape == expected.shape, case
            same = (own == expected) | ((own != own) & (expected != expected))
            assert same.all(), (case, own, expected)
            signs = numpy.signbit(own) == numpy.signbit(expected) if own.dtype.kind == "f" else same
            assert (signs | (own != own)).all(), (case, own, expected)


#: Operators on scalars and shapes, which other tests cover.
ELSEWHERE = {"relax.arange", "relax.clip", "relax.scalar_to_tensor", "relax.shape_to_tensor"}


def test_every_operator_of_the_table_has_a_case() -> None:
    random = numpy.random.default_rng(0)
    tried = {f"relax.{case.op}" for dtype in DTYPES for case in _cases(random, dtype)}
    assert {rule.op for rule in all_evaluations() if rule.op.startswith("relax.")} == tried | ELSEWHERE


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ranges_bounds_and_sizes(dtype: str) -> None:
    """Evaluate operators on scalars, which are Python's numbers."""
    module = rx.Module()
    x = numpy.arange(-3 if dtype[0] == "i" else 0, 9).astype(dtype)
    with module.function("main", [rx.tensor(x.shape, dtype)]) as f:
        made = [relax.arange(2, 17, 4, dtype=dtype), relax.clip(*f, 1, 5), relax.shape_to_tensor((3, 0, 7))]
        f.returns(*made)
    scalars = [[numpy.array(each) for each in (2, 17, 4)], [x, numpy.array(1), numpy.array(5)], [None]]
    computed = rx.compile(module, opt_level=0, cache=False, jobs=1)["main"](x)
    for result, arrays, other in zip(made, scalars, computed, strict=True):
        found = compute(result.owner.operation, arrays)
        assert found is not None and found[0].dtype == to_numpy(other, found[0].dtype.name).dtype
        numpy.testing.assert_array_equal(found[0], to_numpy(other, found[0].dtype.name))


# ---- symbols ----

_SIZES = [sym("n"), sym("m"), sym("n") + 3, sym("n") * 2 + sym("m"), 0, 1, 5, -7]
_BINARY = "add subtract multiply maximum minimum floor_divide floor_mod mod divide equal not_equal less greater".split()


def _numbers(array: Any, values: dict[str, int]) -> Any:
    """Return the elements with numbers for symbols."""

    def number(each: Any) -> Any:
        if isinstance(each, Ratio):
            return number(each.number) / each.divisor
        return each.substitute(values) if isinstance(each, SymExpr) else each

    return numpy.array([number(each) for each in array.ravel().tolist()]).reshape(array.shape)


def _of_symbols(result: Any, *arrays: Any) -> Any:
    operation = result.owner.operation
    row = rx.find_op(operation.name)
    call = EvaluationCall(call_of(row, operation), [decode(type_) for type_ in operation.results.types])
    operands = row.segment(list(arrays), None)
    found = evaluate(call, list(operands.values()))
    return None if found is None else found[0]


@draws(80)
@given(st.data())
def test_with_symbols_the_same_as_with_numbers(data: Any) -> None:
    pick = lambda: objects(data.draw(st.lists(st.sampled_from(_SIZES), min_size=3, max_size=3)))  # noqa: E731
    left, right = pick(), pick()
    op = data.draw(st.sampled_from([*_BINARY, "sum", "prod", "max", "abs", "concat", "take", "where", "float"]))
    module = rx.Module()
    with module.function("main", [rx.tensor((3,), "int64")] * 2) as f:
        x, y = f
        if op in _BINARY:
            found = _of_symbols(rx.find_op(f"relax.{op}")(x, y), left, right)
        elif op == "take":
            found = _of_symbols(relax.take(x, y, axis=0), left, numpy.array([2, -2, 0]))
        elif op == "where":
            condition = relax.const(numpy.array([True, False, True]))
            found = _of_symbols(relax.where(condition, x, y), numpy.array([True, False, True]), left, right)
        elif op == "concat":
            found = _of_symbols(relax.concat([x, y]), left, right)
        elif op == "float":
            real = relax.astype(x, "float64")
            steps = [relax.multiply(real, relax.const(2.5, "float64")), relax.floor(real), relax.astype(real, "int64")]
            found = _of_symbols(steps[0], _of_symbols(real, left), numpy.array(2.5))
            found = None if found is None else _of_symbols(steps[2], _of_symbols(steps[1], found))
        else:
            found = _of_symbols(rx.find_op(f"relax.{op}")(x), left)
        f.returns(x)
    # Divisors are not zero: that is assumed of sizes everywhere.
    least = 1 if op in ("floor_divide", "floor_mod", "mod", "divide") else 0
    values = {"n": data.draw(st.integers(least, 40)), "m": data.draw(st.integers(least, 7))}
    own, other = _numbers(left, values), _numbers(right, values)
    if found is None:
        assert op not in ("add", "multiply", "maximum", "minimum", "sum", "prod", "max", "concat", "take", "where")
        return
    with numpy.errstate(all="ignore"):
        expected = _EXPECTED[op](own, other) if op in _EXPECTED else getattr(numpy, op)(own, other)
    numpy.testing.assert_array_equal(_numbers(found, values), expected)


_EXPECTED: dict[str, Any] = {
    "floor_mod": numpy.mod,
    "mod": numpy.fmod,
    "divide": lambda left, right: numpy.trunc(left / right),
    "sum": lambda left, _: left.sum(),
    "prod": lambda left, _: left.prod(),
    "max": lambda left, _: left.max(),
    "abs": lambda left, _: abs(left),
    "concat": lambda left, right: numpy.concatenate([left, right]),
    "take": lambda left, _: left[[2, 1, 0]],
    "where": lambda left, right: numpy.where([True, False, True], left, right),
    "float": lambda left, _: (left * 5 // 2).astype("int64"),
}


def test_integers_with_symbols_are_divided_towards_zero() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((5,), "int64")] * 2) as f:
        left, right = objects([-7, -7, 7, -7, 7]), objects([sym("n"), 2, -2, -2, 2])
        x, y = f
        found = [_of_symbols(made, left, right) for made in (relax.divide(x, y), relax.mod(x, y))]
        f.returns(x)
    assert found[0].tolist() == [-(7 // sym("n")), -3, -3, 3, 3]
    assert found[1].tolist()[1:] == [-1, 1, -1, 1]


def test_a_zero_whose_sign_depends_on_a_size_is_left_to_the_run() -> None:
    """Leave 0 times a negative number, -0.0, to the run: no ratio represents it."""
    n = Ratio(sym("n"))
    for compute_it in (lambda: n * Ratio(-1), lambda: -n, lambda: Ratio(sym("n") - 5).ceil()):
        with pytest.raises(NotExact):
            compute_it()
    assert (n * Ratio(5, 2)).floor() == Ratio(sym("n") * 5 // 2)
    assert -Ratio(sym("n") + 1) == Ratio(-sym("n") - 1)


def test_rules_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip a rule without support for symbols if there are symbols, and check that results have the inferred type."""
    monkeypatch.setattr(registry._EVALUATIONS, "entries", {})
    asked: list[Any] = []

    @rx.register_evaluation("relax.erf")
    def erf(call: Any, x: Any) -> Any:
        asked.append(x)
        if x.size > 2:
            raise rx.NotKnown
        return x + numpy.asarray(1, call.result.dtype.replace("f", "float") if x.size < 2 else "float64")

    module = rx.Module()
    with module.function("main", [rx.tensor((1,)), rx.tensor((2,)), rx.tensor((3,))]) as f:
        one, two, three = map(relax.erf, f)
        f.returns(one)
    assert _of_symbols(one, objects([Ratio(sym("n"))])) is None and not asked
    assert _of_symbols(one, numpy.float32([1])) == 2
    assert _of_symbols(three, numpy.float32([1, 2, 3])) is None
    with pytest.raises(rx.RelaxError, match=r"relax.erf \(passes/test_evaluate.py:\d+\) gave elements of float64"):
        _of_symbols(two, numpy.float32([1, 2]))
    with pytest.raises(rx.RelaxError, match=r"'relax.erf' has an evaluation already: passes/test_evaluate.py"):
        rx.register_evaluation("relax.erf")(lambda call, x: x)
    assert is_symbolic(objects([sym("n")])) and not is_symbolic(numpy.zeros(1))


def test_an_evaluation_that_is_registered_later_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a rule between two runs: the cached pattern set must include it in the second run."""
    everything = registry._EVALUATIONS.entries
    others = {name: of_name for name, of_name in everything.items() if name != "relax.erf"}
    monkeypatch.setattr(registry._EVALUATIONS, "entries", others)

    def folded() -> bool:
        module = rx.Module()
        with module.function("main", []) as f:
            f.returns(rx.relax.erf(rx.relax.const([0.5, 1.5], "f32")))
        rx.Pipeline("relax-canonicalize").run(module)
        return "relax.erf" not in str(module)

    assert not folded()
    rx.register_evaluation("relax.erf")(lambda call, x: numpy.float32([1, 2]))
    assert folded()
