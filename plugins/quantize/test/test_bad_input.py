# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors about samples, recipes and models: each names the input, the node or the entry, and what would help."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from partitioning import codegen
from relax_mlir import relax
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Fixed, Float, Op, Share
from relax_mlir_quantize.quantize import QuantizationWarning

RANDOM = numpy.random.default_rng(0)
LINEAR = is_op("relax.matmul")(wildcard().named("x"), is_const().named("w"))
RECIPE = rx.Recipe(Op("linear", pattern=LINEAR, x="i8", w="i8 symmetric"))


def model(rows: object = "n", weights: Any = None) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"data": rx.tensor((rows, 8))}) as f:
        given = RANDOM.normal(size=(8, 4)).astype("float32") if weights is None else weights
        f.returns(relax.matmul(*f, relax.const(given)))
    return module


def rows(*shape: int, dtype: str = "float32") -> numpy.ndarray:
    return RANDOM.normal(size=shape).astype(dtype)


GOOD = [rows(2, 8) for _ in range(8)]


def refusal(data: object, for_: Any = RECIPE, module: rx.Module | None = None, **options: Any) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.quantize(model() if module is None else module, data, for_=for_, **options)
    return str(caught.value)


# ---- samples ----


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "no sample to calibrate with: `data` is empty\nnote: pass a hundred typical inputs"),
        ({"data": rows(0, 8)}, "no sample to calibrate with: `data` is empty\nnote: pass a hundred typical inputs"),
        ([rows(2, 7)], "sample 0: input 'data': the shape is [2, 7], expected [n, 8]"),
        ([*GOOD, rows(8)], "sample 8: input 'data': the shape is [8], expected [n, 8]"),
        (
            [rows(2, 8, dtype="float64")],
            "sample 0: input 'data': elements are float64, expected float32\n"
            "note: convert them as the model's inputs are made, such as by array.astype('float32')",
        ),
        ([rows(2, 8) * numpy.nan], "sample 0: input 'data': has NaN or infinite numbers"),
        ([*GOOD, rows(2, 8) / numpy.float32(0)], "sample 8: input 'data': has NaN or infinite numbers"),
        ([{"date": rows(2, 8)}], "sample 0: the model has no input 'date'; did you mean 'data'?; it has data"),
        ([{}], "sample 0: the input 'data' is missing; the sample has nothing"),
        ([(rows(2, 8), rows(2, 8))], "sample 0: 2 arrays, but the model has 1 input"),
        (
            {"data": rows(9, 8), "mask": rows(8, 8)},
            "arrays of samples have different numbers of rows: data: 9, mask: 8",
        ),
        (
            rows(9, 8),
            "data is one array: pass a list of samples, or {'input': array} with a sample per row along the first axis",
        ),
        (7, "data has to be samples, arrays by name, or a .npz file, got int"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_samples(data: object, message: str) -> None:
    assert refusal(data) == message


def test_rows_of_a_static_batch_are_taken_together() -> None:
    assert refusal({"data": rows(3, 8)}, module=model(4)) == "the arrays have 3 rows, but a call takes 4"
    counts: list[int] = []
    rx.quantize(model(4), {"data": rows(35, 8)}, for_=RECIPE, progress=lambda done, count: counts.append(count))
    assert counts == [8] * 8


def test_a_number_is_a_sample() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("rows", 8)), "factor": rx.tensor(())}) as f:
        x, factor = f
        f.returns(relax.multiply(relax.matmul(x, relax.const(rows(8, 4))), factor))
    samples = [[rows(5, 8), numpy.float32(2)], [rows(5, 8), numpy.float32(3).reshape(())]]
    assert [sorted(row.types) for row in rx.quantize(module, samples, for_=RECIPE).report.rows] == [["w", "x", "y"]]


def test_files(tmp_path: Path) -> None:
    missing, text, cut = tmp_path / "missing.npz", tmp_path / "text.npz", tmp_path / "cut.npz"
    text.write_text("no arrays")
    numpy.savez(cut, data=rows(9, 8))
    cut.write_bytes(cut.read_bytes()[:100])
    numpy.save(tmp_path / "one.npy", rows(9, 8))
    assert refusal(missing) == f"cannot read {missing}: No such file or directory"
    assert refusal(text) == f"cannot read {text}: it is no file of numpy arrays"
    assert refusal(cut).startswith(f"cannot read {cut}: ")
    one = tmp_path / "one.npy"
    assert refusal(one) == f"{one}: expected a .npz file with an array per input, or a folder"
    both, empty = tmp_path, tmp_path / "empty"
    empty.mkdir()
    assert refusal(both).startswith(f"{both}: has .npy files and .npz files\nnote: write a .npy file per input")
    assert refusal(empty) == f"{empty}: the folder has no .npy or .npz file"


def test_folders(tmp_path: Path) -> None:
    arrays, files = tmp_path / "arrays", tmp_path / "files"
    arrays.mkdir()
    files.mkdir()
    numpy.save(arrays / "data.npy", rows(9, 8))
    for number in range(9):
        numpy.savez(files / f"{number}.npz", data=numpy.load(arrays / "data.npy")[number : number + 1])
    made = [rx.quantize(model(weights=numpy.ones((8, 4), "float32")), each, for_=RECIPE) for each in (arrays, files)]
    assert made[0].report.to_dict() == made[1].report.to_dict()
    numpy.savez(files / "0.npz", other=rows(1, 8))
    assert refusal(files) == "sample 0: the model has no input 'other'; it has data"


def test_few_samples_are_told() -> None:
    with pytest.warns(QuantizationWarning, match="^3 samples rarely show the ranges of a model: use about a hundred$"):
        rx.quantize(model(), [rows(1, 8)] * 3, for_=RECIPE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rx.quantize(model(), [rows(8, 8)], for_=RECIPE)  # eight rows


def test_nan_inside_of_the_model() -> None:
    module = rx.Module()
    with module.function("main", {"data": rx.tensor((2, 8))}) as f:
        f.returns(relax.matmul(relax.log(*f), relax.const(rows(8, 4))))
    assert re.fullmatch(r".*: computes NaN or infinite numbers for the samples", refusal(GOOD, module=module))


# ---- models ----


def test_nan_in_weights() -> None:
    found = refusal(GOOD, module=model(weights=numpy.full((8, 4), numpy.nan, "float32")))
    assert re.fullmatch(r".*: the constant 'w' has NaN or infinite numbers", found)


def test_a_tensor_that_is_always_0_has_the_scale_1() -> None:
    module = model(weights=numpy.zeros((8, 4), "float32"))
    with pytest.warns(QuantizationWarning, match="all samples give 0, so the scale is 1$"):
        quantized = rx.quantize(module, GOOD, for_=RECIPE)
    assert quantized.report.rows[0].scale == 1
    assert quantized.report.notes[0].endswith("all samples give 0, so the scale is 1")
    assert not rx.compile(quantized.module)["main"](rows(2, 8)).any()


def test_a_quantized_model() -> None:
    quantized = rx.quantize(model(), GOOD, for_=RECIPE)
    found = refusal(GOOD, module=quantized.module)
    assert re.fullmatch(
        r"the model is quantized already: relax.quantize \(.*\)\n"
        r"note: quantize the model in floating point that it was made of",
        found,
    )


def test_a_model_without_such_layers() -> None:
    module = rx.Module()
    with module.function("main", {"data": rx.tensor((2, 8))}) as f:
        f.returns(relax.tanh(*f))
    found = refusal(GOOD, module=module)
    assert found.startswith("no layer of @main matches the recipe, so nothing is quantized\nnote: ")
    assert found.endswith("(relax.tanh): no pattern of the recipe has relax.tanh")


def test_an_entry_that_matches_nothing_is_told() -> None:
    conv = is_op("relax.nn.conv2d")(wildcard().named("x"), is_const().named("w"))
    recipe = rx.Recipe(*RECIPE.entries, Op("conv", pattern=conv, x="i8", w="i8"))
    report = rx.quantize(model(), GOOD, for_=recipe).report
    assert report.notes == ["recipe: Op('conv') matches no layer of the model"]


def test_names() -> None:
    assert refusal(GOOD, "llvn") == "'llvn' is neither a codegen nor a target; did you mean 'llvm'?"
    assert refusal(GOOD, "cuda").startswith("target 'cuda' has no recipe")
    assert refusal(GOOD, calibrate="max") == (
        "calibrate='max': expected one of minmax, percentile, mse, entropy; did you mean 'minmax'?"
    )
    assert refusal(GOOD, function="mian") == "the module has no function @mian; did you mean 'main'?; it has main"
    assert refusal(GOOD, keep=["matmull"]) == (
        "keep='matmull': no operator and no node of the model has this name; did you mean 'matmul'?"
    )
    assert refusal(GOOD, keep="matmul").startswith("no layer of @main matches the recipe")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples=0: expected a number of at least 1, or None for all"),
        ({"samples": -3}, "samples=-3: expected a number of at least 1, or None for all"),
        ({"snr": -5}, "snr=-5: expected a number of at least 0"),
        ({"bytes": -1}, "bytes=-1: expected a number of at least 0"),
        ({"layout": "NHC"}, "rx.quantize: layout='NHC': expected the layout of data, such as 'NHWC', or of data and"),
        ({"layout": "NHWC:HWO"}, "rx.quantize: layout='NHWC:HWO': expected the layout of data"),
        ({"layout": "NHWC:"}, "rx.quantize: layout='NHWC:': expected the layout of data"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    assert refusal(GOOD, **options).startswith(message)


def test_a_file_in_place_of_a_module() -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.quantize("model.onnx", GOOD)  # type: ignore[arg-type]
    assert str(caught.value) == "rx.quantize takes an rx.Module, got str\nnote: rx.from_onnx(path) reads it"


# ---- recipes ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rx.Recipe(), "a recipe has at least one entry Op, which says what computes on integers"),
        (lambda: rx.Recipe("i8"), "a recipe has entries Op, Share, Fixed, Float and Tensor, got 'i8'"),
        (
            lambda: rx.Recipe(*RECIPE.entries, Share("relax.concat"), Fixed("relax.concat", scale=1)),
            "recipe: Fixed('relax.concat', scale=1, zero=0) contradicts Share('relax.concat'): 'relax.concat' is in",
        ),
        (
            lambda: rx.Recipe(*RECIPE.entries, *RECIPE.entries),
            "recipe: Op('linear') contradicts Op('linear'): 'linear' is in both",
        ),
        (
            lambda: rx.Recipe(Op("linear", pattern=LINEAR, x="i8"), Float("linear")),
            "recipe: Float('linear') contradicts Op('linear'): 'linear' is in both",
        ),
        (
            lambda: Fixed("relax.sigmoid", scale=1 / 256, zero=3, type="i8 symmetric"),
            "Fixed('relax.sigmoid', scale=0.00390625, zero=3): the zero point of 'i8 symmetric' has to be 0, got 3",
        ),
        (
            lambda: Fixed("relax.sigmoid", scale=0),
            "Fixed('relax.sigmoid', scale=0, zero=0): scale has to be a positive number, got 0",
        ),
        (
            lambda: Fixed("relax.sigmoid", scale=1 / 256, zero=256),
            "Fixed('relax.sigmoid', scale=0.00390625, zero=256): the zero point of 'u8' has to be between 0 and 255",
        ),
        (lambda: Op("a"), "Op('a'): an entry states the type of at least one operand, such as x='i8'"),
        (lambda: Op("a", x="i9"), "Op('a'), x: 'i9': expected one of i4, u4, i8, u8, i16, u16, i32, e4m3, e5m2"),
        (
            lambda: Op("a", x="i8 symetric"),
            "Op('a'), x: 'i8 symetric': unknown word 'symetric'; did you mean 'symmetric'?",
        ),
        (
            lambda: Op("a", x="u8 symmetric"),
            "Op('a'), x: 'u8 symmetric': an unsigned type has no symmetric range: use 'i8'",
        ),
        (lambda: Op("a", x="e4m3 reduced"), "Op('a'), x: 'e4m3 reduced': 'reduced' is for integers"),
        (
            lambda: Op("a", x="i8@chanel"),
            "Op('a'), x: 'i8@chanel': '@chanel': expected one of tensor, channel, block<numbers>, mx<numbers>, such as "
            "@block32",
        ),
        (lambda: Op("a", x="i8@block0"), "Op('a'), x: 'i8@block0': '@block0': expected one of tensor, channel, block"),
        (lambda: Op("a", x="i32"), "Op('a'), x: 'i32': 32 bits are for a bias with a derived scale: 'i32 derived'"),
        (lambda: Op("a", x=()), "Op('a'), x: expected at least one type, got none"),
        (lambda: Op("a", x=8), "Op('a'), x: a type is text like 'i8@channel symmetric', got 8"),
        (lambda: Share(), "Share() names no operator"),
        (
            lambda: Float("relax.nn.layernorm"),
            "unknown operator 'relax.nn.layernorm'; did you mean 'relax.nn.layer_norm'?",
        ),
    ],
)
def test_recipes(make: Callable[[], object], message: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        make()
    assert str(caught.value).startswith(message), str(caught.value)


def test_names_in_recipes() -> None:
    part = rx.Recipe(Op("linear", pattern=LINEAR, x="i8", weights="i8"))
    found = "recipe: Op('linear'): the pattern has no part named 'weights'; its parts are w, x"
    assert refusal(GOOD, part) == found
    unknown = rx.Recipe(Op("mynpu.linear", x="i8"))
    assert refusal(GOOD, unknown) == "recipe: Op('mynpu.linear'): no pattern has this name; there are none"
    operator = rx.Recipe(Op("relax.matmul", x1="i8", b="i8"))
    assert refusal(GOOD, operator).startswith(
        "recipe: Op('relax.matmul'): relax.matmul has no operand 'b'; it has x1, x2"
    )
    shared = rx.Recipe(*RECIPE.entries, Share("concat"))
    assert refusal(GOOD, shared).startswith("recipe: Share('concat'): ")


def test_a_scale_derived_of_nothing() -> None:
    biased = is_op("relax.add")(LINEAR, is_const().named("bias"))
    module = rx.Module()
    with module.function("main", {"data": rx.tensor((2, 8))}) as f:
        f.returns(relax.add(relax.matmul(*f, relax.const(rows(8, 4))), relax.const(rows(4))))
    recipe = rx.Recipe(Op("linear", pattern=biased, w="i8 symmetric", bias="i32 derived", y="i8"))
    found = refusal(GOOD, recipe, module)
    assert "the scale of 'bias' is derived from the scales of 'x' and of constant weights" in found


def test_a_derived_scale_is_of_sums() -> None:
    with pytest.raises(
        rx.RelaxError, match=r"Op\('linear'\), bias: 'i8 derived': a derived scale is for a bias .* 'i32 d"
    ):
        Op("linear", pattern=LINEAR, x="i8", bias="i8 derived")


def quantized_pattern(x: str, y: str = "int8") -> Any:
    """Return the pattern of a quantized product with these element types."""
    data = is_op("relax.dequantize")(wildcard().has_dtype(x).named("x"), ...)
    weights = is_op("relax.dequantize")(is_const().named("w").has_dtype("int8"), ...)
    return is_op("relax.quantize")(is_op("relax.matmul")(data, weights), is_const(), is_const()).has_dtype(y)


@pytest.mark.parametrize(
    ("pattern", "types", "message"),
    [
        (quantized_pattern("int8"), {"x": "u8"}, "x is 'u8', and the pattern's x has elements of i8: state one of"),
        (quantized_pattern("int8"), {"x": ("i8", "i16")}, "x is 'i16', and the pattern's x has elements of i8"),
        (quantized_pattern("int8"), {"w": "u8"}, "w is 'u8', and the pattern's w has elements of i8"),
        (quantized_pattern("int8", "uint8"), {"x": "i8"}, "y is 'i8', and the pattern's y has elements of ui8"),
        (LINEAR | quantized_pattern("uint8"), {"x": "i8"}, "x is 'i8', and the pattern's x has elements of ui8"),
    ],
)
def test_types_that_contradict_the_pattern(pattern: Any, types: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.codegens.register_codegen("contradicting")(
            type("Npu", (rx.codegens.Codegen,), {"patterns": [("contradicting.linear", pattern)],
                                                 "recipe": rx.Recipe(Op("contradicting.linear", **types))})
        )  # fmt: skip
    assert str(caught.value).startswith(f"recipe: Op('contradicting.linear'): {message}")


def test_types_that_the_pattern_takes() -> None:
    for pattern in (quantized_pattern("uint8", "integer"), LINEAR, quantized_pattern("uint8", "uint8")):
        recipe = rx.Recipe(Op("linear", pattern=pattern, x="u8", w="i8"))
        assert recipe.patterns({})[0][1] is pattern


def test_a_check_that_raises() -> None:
    def check(match: Any) -> bool:
        return bool(match.op("product").lost)

    pattern = is_op("relax.matmul")(wildcard().named("x"), is_const().named("w")).named("product")
    with codegen([("npu.linear", pattern, check)], recipe=rx.Recipe(Op("npu.linear", x="i8", w="i8"))) as npu:
        found = refusal(GOOD, npu)
    assert "codegen 'npu', pattern 'npu.linear': " in found and "check: AttributeError: " in found
    assert re.search(r"layer test_bad_input\.py:\d+: codegen", found) and "test_bad_input.py" in found
    assert found.endswith("the reason against a match; here it was called with the quantized layer")


def test_sums_of_another_type() -> None:
    with pytest.raises(rx.RelaxError, match=r"Op\('linear'\): accumulate='i64': sums are 'i32'"):
        Op("linear", pattern=LINEAR, x="i8", accumulate="i64")
