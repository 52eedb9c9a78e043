# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # tables of one line per case read best
"""Recipe files of other quantizers: AIMET's quantsim configurations, and litert-quantizer's policies and steps."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.recipes import Fixed, Op, Recipe, from_aimet, from_litert

RANDOM = numpy.random.default_rng(0)


def written(folder: Path, content: object) -> Path:
    path = folder / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def told(path: Path, text: object) -> str:
    """Return a message without the file and the line, after a check that the line has the innermost name."""
    place, _, message = str(text).partition(": ")
    line = place.removeprefix(str(path)).removeprefix(":")
    name = message.partition(": ")[0].rpartition(".")[2]
    if line and name.isidentifier() and f'"{name}"' in path.read_text():
        assert f'"{name}"' in path.read_text().splitlines()[int(line) - 1], text
    return message


def types(recipe: Recipe, name: str) -> dict[str, list[str]]:
    """Return the types of an entry, as text."""
    entry = recipe.entry(name)
    assert entry is not None, recipe
    return {operand: list(map(str, found)) for operand, found in entry.types.items()}


def normal(*shape: int) -> Any:
    return relax.const((RANDOM.normal(size=shape) / 4).astype("float32"))


def small_net() -> rx.Module:
    """Return a convolution with a bias and a relu, a product with a bias, and a softmax that another product reads."""
    with rx.Module() as module, module.function("main", {"x": rx.tensor(("n", 3, 8, 8))}) as f:
        (x,) = f
        y = relax.nn.conv2d(x, normal(4, 3, 3, 3), padding=1)
        y = relax.nn.relu(relax.add(y, normal(4, 1, 1)))
        y = relax.reshape(y, [-1, 256])
        y = relax.nn.softmax(relax.add(relax.matmul(y, normal(256, 8)), normal(8)))
        f.returns(relax.matmul(y, normal(8, 8)))
    return module


DATA = [RANDOM.normal(size=(2, 3, 8, 8)).astype("float32") for _ in range(8)]

# ---- AIMET ----

AIMET: dict[str, Any] = {
    "defaults": {
        "hw_version": "V73",
        "ops": {"is_output_quantized": "True"},
        "params": {"is_quantized": "True", "is_symmetric": "True"},
        "per_channel_quantization": "False",
        "strict_symmetric": "False",
        "unsigned_symmetric": "False",
    },
    "params": {"bias": {"is_quantized": "False"}},
    "op_type": {
        "Conv": {"per_channel_quantization": "True"},
        "Cast": {"is_output_quantized": "False"},
        "Gelu": {"is_output_quantized": "False"},
        "LayerNormalization": {"params": {"weight": {"is_symmetric": "False"}}},
        "Relu": {"encoding_constraints": {"min": 0.0}},
        "Softmax": {"encoding_constraints": {"min": 0.0, "max": 1.0}},
        "Tanh": {"encoding_constraints": {"min": -1.0, "max": 1.0}},
    },
    "supergroup_pass_list": ["MatmulAdd"],
    "supergroups": [
        {"op_list": ["Conv", "Relu"]},
        {"op_list": ["Conv", "BatchNormalization", "Clip"]},
        {"op_list": ["Conv", "Transpose", "Relu"]},
        {"op_list": ["Add", "Relu"]},
    ],
    "model_input": {"is_input_quantized": "True"},
    "model_output": {},
}


def changed(*names: str, to: object) -> dict[str, Any]:
    """Return the configuration with another value at these names, or without a name if the value is None."""
    made = json.loads(json.dumps(AIMET))
    inner = made
    for name in names[:-1]:
        inner = inner.setdefault(name, {})
    inner[names[-1]] = to
    return {key: each for key, each in made.items() if each is not None}


@pytest.mark.filterwarnings("error")
def test_aimet(tmp_path: Path) -> None:
    recipe = from_aimet(written(tmp_path, AIMET))
    assert types(recipe, "conv") == {"x": ["u8"], "w": ["i8@channel symmetric"], "y": ["u8"]}
    assert types(recipe, "linear") == {"x": ["u8"], "w": ["i8 symmetric"], "y": ["u8"]}
    assert types(recipe, "product") == {"x": ["u8"], "other": ["u8"], "y": ["u8"]}
    assert types(recipe, "relax.nn.layer_norm") == {"x": ["u8"], "w": ["u8"], "y": ["u8"]}
    fixed = {name: (each.scale * 255, each.zero) for name, each in recipe.fixed.items()}
    assert fixed == {"relax.nn.softmax": (1, 0), "relax.tanh": (2, 128)}
    assert recipe.floats == {"relax.nn.gelu"}
    assert "relax.concat" in recipe.shares


def test_aimet_quantizes(tmp_path: Path) -> None:
    """A supergroup is one layer, a bias stays real, and the softmax has its fixed range."""
    report = rx.quantize(small_net(), DATA, from_aimet(written(tmp_path, AIMET))).report
    assert [row.pattern for row in report.rows] == ["conv", "linear", "linear"]
    assert report.rows[0].types == {"x": "u8", "w": "i8@channel symmetric", "y": "u8"}


@pytest.mark.parametrize(
    ("names", "value", "expected"),
    [
        (("defaults", "strict_symmetric"), "True", {"x": ["u8"], "w": ["i8@channel symmetric narrow"], "y": ["u8"]}),
        (("op_type", "Conv"), {}, {"x": ["u8"], "w": ["i8 symmetric"], "y": ["u8"]}),
        (("defaults", "ops", "is_symmetric"), "True", {"x": ["i8 symmetric"], "w": ["i8@channel symmetric"], "y": ["i8 symmetric"]}),
        (("params", "bias", "is_quantized"), "True", {"x": ["u8"], "w": ["i8@channel symmetric"], "bias": ["i32 derived"], "y": ["u8"]}),
        (("params", "weight"), {"is_quantized": "False"}, {"x": ["u8"], "y": ["u8"]}),
        (("op_type", "Conv"), {"is_output_quantized": "False", "is_input_quantized": "True"}, {"x": ["u8"], "w": ["i8 symmetric"]}),
        (
            ("defaults", "supported_kernels"),
            [
                {"activation": {"bitwidth": 16, "dtype": "int"}, "param": {"bitwidth": 4, "dtype": "int"}},
                {"activation": {"bitwidth": 16, "dtype": "float"}, "param": {"bitwidth": 16, "dtype": "float"}},
            ],
            {"x": ["u8", "u16"], "w": ["i8@channel symmetric", "i4@channel symmetric"], "y": ["u8", "u16"]},
        ),
    ],
)  # fmt: skip
def test_aimet_flags(tmp_path: Path, names: tuple[str, ...], value: object, expected: object) -> None:
    assert types(from_aimet(written(tmp_path, changed(*names, to=value))), "conv") == expected


def test_aimet_widths(tmp_path: Path) -> None:
    recipe = from_aimet(written(tmp_path, AIMET), activation_bits=16, weight_bits=4)
    assert types(recipe, "conv") == {"x": ["u16"], "w": ["i4@channel symmetric"], "y": ["u16"]}
    assert isinstance(recipe.fixed["relax.nn.softmax"], Fixed)
    with pytest.raises(rx.RelaxError, match="from_aimet: activations of 32 bits: expected 4, 8 or 16"):
        from_aimet(written(tmp_path, AIMET), activation_bits=32)


@pytest.mark.parametrize(
    ("names", "value", "message"),
    [
        (("op_type", "GroupNormalization"), {}, "op_type.GroupNormalization: left out: a recipe has no such operator, so it stays real"),
        (("op_type", "Sin"), {"encoding_constraints": {"min": -1}}, "op_type.Sin.encoding_constraints: left out: a recipe fixes both ends of a range, or none"),
        (("op_type", "Conv"), {"encoding_constraints": {"min": 0, "max": 6}}, "op_type.Conv.encoding_constraints: left out: a recipe fixes the range of operators without weights only"),
        (("supergroups",), [{"op_list": ["Conv", "HardSwish"]}, {"op_list": ["Add", "HardSwish"]}], "supergroups.0.Conv.HardSwish: left out, as all groups with 'HardSwish'"),
        (("supergroups",), [{"op_list": ["MaxPool", "Relu"]}], "supergroups.0.MaxPool.Relu: left out, as all groups with 'MaxPool'"),
        (("defaults", "unsigned_symmetric"), "True", "defaults.unsigned_symmetric: left out: symmetric types of recipes are signed"),
        (("model_input",), None, "model_input: left out: layers of recipes quantize the inputs that they read"),
        (("op_type", "Gemm"), {"per_channel_quantization": "True"}, "op_type: weights of MatMul have the types of Gemm's: a recipe has one entry for products with weights"),
    ],
)  # fmt: skip
def test_aimet_warns(tmp_path: Path, names: tuple[str, ...], value: object, message: str) -> None:
    path = written(tmp_path, changed(*names, to=value))
    with pytest.warns(UserWarning) as caught:
        from_aimet(path)
    assert [told(path, each.message) for each in caught] == [message]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes"),
        ("[" * 100000, "not a recipe: values are nested too deeply"),
        ("{}", "not a quantsim configuration of AIMET: it has no 'defaults'"),
        (changed("defaults", "ops", "is_output_quantised", to="True"), "defaults.ops.is_output_quantised: unknown name; expected is_output_quantized, is_input_quantized, is_symmetric"),
        (changed("op_type", "Conv", to={"per_channel_quantization": "yes"}), "op_type.Conv.per_channel_quantization: expected 'True' or 'False', got 'yes'"),
        (changed("op_type", "Conv", to=1), "op_type.Conv: expected an object, got 1"),
        (changed("op_type", to=[]), "op_type: expected an object, got []"),
        (changed("op_type", "Tanh", to={"encoding_constraints": {"min": 1, "max": 2}}), "op_type.Tanh.encoding_constraints: expected a range that includes 0, got 1 to 2"),
        (changed("op_type", "Tanh", to={"encoding_constraints": {"min": "a", "max": 2}}), "op_type.Tanh.encoding_constraints.min: expected a number, got 'a'"),
        (changed("supergroups", to=["Conv"]), "supergroups.0.op_list: expected a list of operators, got None"),
        (changed("op_type", "Conv", to={"supported_kernels": [{"param": 1}]}), "op_type.Conv.supported_kernels: expected kernels with a 'bitwidth' of 'activation', got {'param': 1}"),
    ],
)  # fmt: skip
def test_aimet_errors(tmp_path: Path, content: object, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(rx.RelaxError) as caught:
        from_aimet(path)
    assert told(path, caught.value) == message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing, binary = tmp_path / "missing.json", tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    for read in (from_aimet, from_litert):
        with pytest.raises(rx.RelaxError, match=r"cannot read .*missing\.json: No such file"):
            read(missing)
        with pytest.raises(rx.RelaxError, match=r"cannot read .*binary\.json: it is no text"):
            read(binary)


# ---- litert-quantizer ----


def tensor(bits: int, symmetric: object, granularity: object, dtype: str = "INT") -> dict[str, object]:
    return {"num_bits": bits, "symmetric": symmetric, "granularity": granularity, "dtype": dtype}


def config(weights: object, activations: object = None, precision: str = "INTEGER") -> dict[str, object]:
    made = {
        "weight_tensor_config": weights,
        "explicit_dequantize": precision == "FLOAT",
        "compute_precision": precision,
    }
    return made if activations is None else {"activation_tensor_config": activations, **made}


CHANNELS = tensor(8, [True], ["CHANNELWISE", "TENSORWISE"])
POLICY: dict[str, Any] = {
    "configs": {
        "dynamic_wi4": config(tensor(4, [True], ["BLOCKWISE_32"])),
        "static_wi8_ai8": config(CHANNELS, tensor(8, [True, False], ["TENSORWISE"])),
        "weightonly_wi8": config(CHANNELS, precision="FLOAT"),
    },
    "ops_per_config": {
        "static_wi8_ai8": [*"ADD CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED SOFTMAX TANH RESHAPE CONCATENATION".split()],
        "dynamic_wi4": ["FULLY_CONNECTED"],
        "weightonly_wi8": ["CONV_2D_TRANSPOSE"],
    },
}


@pytest.mark.filterwarnings("error")
def test_litert_policies(tmp_path: Path) -> None:
    recipe = from_litert(written(tmp_path, POLICY))
    i8 = ["i8 symmetric", "i8"]
    weights = ["i8@channel symmetric narrow", "i8 symmetric narrow"]
    assert types(recipe, "conv") == {"x": i8, "w": weights, "bias": ["i32 derived"], "y": i8}
    assert types(recipe, "linear") == {"x": [*i8, "i8 dynamic"], "w": [*weights, "i4@block32 symmetric narrow"]}
    assert types(recipe, "conv_transpose") == {"w": weights}
    assert types(recipe, "relax.add") == {"x": i8, "other": i8, "y": i8}
    assert recipe.fixed["relax.nn.softmax"].zero == -128 and recipe.fixed["relax.tanh"].scale == 1 / 128
    assert recipe.shares == {"relax.concat"}
    only = from_litert(written(tmp_path, POLICY), "dynamic_wi4")
    assert [types(only, each.name) for each in only.ops] == [
        {"x": ["i8 dynamic"], "w": ["i4@block32 symmetric narrow"]}
    ]


@pytest.mark.parametrize("name", ["static_wi8_ai8", "dynamic_wi4"])
def test_litert_quantizes(tmp_path: Path, name: str) -> None:
    module = small_net()
    made = rx.quantize(module, DATA, from_litert(written(tmp_path, POLICY), name))
    assert [row.pattern for row in made.report.rows] == {
        "static_wi8_ai8": ["conv", "linear", "linear"],
        "dynamic_wi4": ["linear", "linear"],
    }[name]
    expected, found = (numpy.asarray(rx.compile(each)["main"](DATA[0])) for each in (module, made.module))
    assert abs(expected - found).max() < 0.2 * abs(expected).max()


def step(operation: str = "*", algorithm: str = "min_max_uniform_quantize", **others: object) -> dict[str, object]:
    given = config(tensor(8, True, "CHANNELWISE"), tensor(16, True, "TENSORWISE"))
    return {"regex": ".*", "operation": operation, "algorithm_key": algorithm, "op_config": given, **others}


@pytest.mark.filterwarnings("error")
def test_litert_steps(tmp_path: Path) -> None:
    """Later steps replace earlier ones."""
    given = config(tensor(4, True, "CHANNELWISE"), precision="FLOAT")
    content = [step(), step("FULLY_CONNECTED", op_config=given), step("ADD", "no_quantize", op_config={})]
    recipe = from_litert(written(tmp_path, content))
    assert types(recipe, "conv")["x"] == ["i16 symmetric"]
    assert types(recipe, "linear") == {"w": ["i4@channel symmetric narrow"]}
    assert recipe.entry("relax.add") is None and recipe.floats == {"relax.add"}
    assert recipe.fixed["relax.sigmoid"].scale == 1 / 32768


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([step(), step("PAD")], "1.PAD.min_max_uniform_quantize: left out: a recipe has no such operator, so it stays real"),
        ([step(algorithm="OCTAV")], "0.*.OCTAV: rx.quantize chooses scales by its options, not by 'OCTAV'"),
        ([step(), step(op_config=config(tensor(2, True, "TENSORWISE")))], "1.op_config.weight_tensor_config.num_bits: left out: recipes have no INT type of 2 bits"),
        ([step(), step("CONV_2D", "no_quantize")], "a recipe has one entry for CONV_2D and DEPTHWISE_CONV_2D: that of CONV_2D"),
        ([step(op_config={**config(tensor(8, True, "CHANNELWISE"), tensor(8, True, "TENSORWISE")), "min_weight_elements": 9})], "0.op_config.min_weight_elements: left out: use keep= for layers with few weights"),
    ],
)  # fmt: skip
def test_litert_warns(tmp_path: Path, content: object, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.warns(UserWarning) as caught:
        from_litert(path)
    assert [told(path, each.message) for each in caught] == [message]


def policy(**others: object) -> dict[str, object]:
    return {**POLICY, **others}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "not a file of litert-quantizer: it has no 'ops_per_config', and is no list of steps"),
        ([], "the file quantizes no operator that a recipe has"),
        ([1], "0: expected an object, got 1"),
        ([step(), step(regex="head/.*")], "1.regex.head/.*: a recipe has no scopes: use the recipe of one scope, and keep= for nodes that stay real"),
        ([step(algorithm="HADAMARD_ROTATION")], "0.*.HADAMARD_ROTATION: a recipe has no such algorithm; known are min_max_uniform_quantize, OCTAV, MSE, GPTQ, OSCAR, dequantized_weight_recovery"),
        ([step(op_config=None)], "0.op_config: expected an object, got None"),
        ([step(op_config={})], "0.op_config.weight_tensor_config: expected an object, got None"),
        ([step(op_config=config(tensor(8, True, "ROWWISE")))], "0.op_config.weight_tensor_config.granularity: expected TENSORWISE, CHANNELWISE or BLOCKWISE_32, got 'ROWWISE'"),
        ([step(op_config=config(tensor(8, "yes", "CHANNELWISE")))], "0.op_config.weight_tensor_config.symmetric: expected true or false, got 'yes'"),
        ([step(op_config=config(tensor(8, True, "CHANNELWISE", "REAL")))], "0.op_config.weight_tensor_config.dtype: expected INT, UINT or FLOAT, got 'REAL'"),
        ([step(op_config=config(tensor(8, True, "CHANNELWISE"), precision="HALF"))], "0.op_config.compute_precision: expected INTEGER or FLOAT, got 'HALF'"),
        (policy(ops_per_config={"static": []}), "ops_per_config.static: 'configs' has no such name; did you mean 'static_wi8_ai8'?"),
        (policy(ops_per_config={"dynamic_wi4": "ADD"}), "ops_per_config.dynamic_wi4: expected a list of operators, got 'ADD'"),
        (policy(configs=1), "expected the objects 'configs' and 'ops_per_config'"),
    ],
)  # fmt: skip
def test_litert_errors(tmp_path: Path, content: object, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(rx.RelaxError) as caught:
        from_litert(path)
    assert told(path, caught.value) == message


def test_litert_configs(tmp_path: Path) -> None:
    with pytest.raises(rx.OptionError, match="has no config 'dynamic_wi8'; did you mean 'dynamic_wi4'"):
        from_litert(written(tmp_path, POLICY), "dynamic_wi8")
    with pytest.raises(rx.OptionError, match=r"config='a' is for policies, and this file is a list of steps"):
        from_litert(written(tmp_path, [step()]), "a")


def test_entries_name_layers(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recipe = from_aimet(written(tmp_path, AIMET))
    assert all(isinstance(each, Op) and each.pattern is not None for each in recipe.ops)
