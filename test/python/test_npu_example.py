# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of examples/npu: the simulator finds violations of the data sheet, and the target's results are right to the
bit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "npu"
sys.path.insert(0, str(EXAMPLE))

import llama  # noqa: E402
import npu  # noqa: E402
import resnet  # noqa: E402
import run_requantize  # noqa: E402
from npu import reference, rules  # noqa: E402, F401  # its own intrinsics are declared before anything runs
from npu.isa import ENGINES, FUNCTIONS, INSTRUCTIONS, Instruction, assemble, decode  # noqa: E402
from npu.simulator import MachineError, Simulator  # noqa: E402
from npu.translate import Translator  # noqa: E402

#: Lines of the target, which knows operators, memories, engines and schedules. translate.py knows none of these.
MOST_LINES = 440
COPY = FUNCTIONS.index("copy")
random = numpy.random.default_rng(0)


def test_its_lines() -> None:
    names = ("target", "pad", "rules", "schedules", "recipe")
    texts = [(EXAMPLE / "npu" / f"{name}.py").read_text(encoding="utf-8") for name in names]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES


# ---- the machine ----


def made(name: str, **fields: int) -> Instruction:
    """Return an instruction. Fields without a value are 0."""
    flags = {"MATMUL": "type accumulate", "VOP": "function target operands", "VREDUCE": "function target operands"}
    flags |= {
        "VREQUANT": "mode target operands",
        "LOAD_WEIGHTS": "type",
        "VLOAD": "type register",
        "VSTORE": "type register",
        "WAIT": "engine other",
    }
    names = [*flags.get(name, "").split(), *INSTRUCTIONS[name][1].split()]
    assert set(fields) <= set(names)
    return Instruction(name, {each: fields.get(each, 0) for each in names})


def wait(engine: str, other: str, count: int) -> Instruction:
    return made("WAIT", engine=ENGINES.index(engine), other=ENGINES.index(other), count=count)


def load(dram: int, sram: int, size: int) -> Instruction:
    return made("DMA_LOAD", dram=dram, sram=sram, rows=1, bytes=size)


def product_program() -> list[Instruction]:
    """Return a program that multiplies 32 rows at 0 by weights at 512, with results at 768."""
    rows = {"counts": 32 | 1 << 16, "source_inner": 16, "target_inner": 64}
    return [
        load(0, 0, 768),
        wait("array", "load", 1),
        made("LOAD_WEIGHTS", source=512, rows=16, columns=16, row_stride=16, column_stride=1),
        made("MATMUL", target=1024, **rows),
        wait("store", "array", 2),
        made("DMA_STORE", dram=768, sram=1024, rows=1, bytes=2048),
        made("HALT"),
    ]


def simulated(program: Sequence[Instruction], initialised: int = 768) -> tuple[numpy.ndarray, Any]:
    dram = numpy.zeros(768 + 2048, numpy.uint8)
    dram[:768] = numpy.random.default_rng(1).integers(0, 256, 768)
    return dram, Simulator(dram, initialised).run(assemble(program))


def test_a_product() -> None:
    dram, cycles = simulated(product_program())
    rows, weights = dram[:512].view("int8").reshape(32, 16), dram[512:768].view("int8").reshape(16, 16)
    sums = dram[768:].view("int32").reshape(32, 16)
    numpy.testing.assert_array_equal(sums, rows.astype("int32") @ weights.astype("int32"))
    assert cycles.busy == {"load": 64, "store": 104, "array": 16 + 36, "vector": 0}
    assert cycles.total == 1 + 64 + 16 + 36 + 104 and cycles.rows.sum() == 32


def test_engines_work_at_the_same_time() -> None:
    loads = [load(0, 4096 * each, 768) for each in range(4)]
    both = [*loads, *(made("VOP", function=COPY, target=0, operands=15, count=2048) for _ in range(4)), made("HALT")]
    _, cycles = simulated(both)
    assert cycles.busy["load"] == 256 and cycles.busy["vector"] == 136 and cycles.total < 270


def test_a_full_queue_holds_the_processor_up() -> None:
    _, cycles = simulated([*(load(0, 0, 768) for _ in range(100)), load(0, 0, 32), made("HALT")])
    assert cycles.total == 100 * 64 + 41 + 1 and cycles.at[0] == 65


def without(place: int) -> list[Instruction]:
    program = product_program()
    del program[place]
    return program


def changed(place: int, **fields: int) -> list[Instruction]:
    program = product_program()
    program[place] = Instruction(program[place].name, {**program[place].fields, **fields})
    return program


FAULTS = {
    "no wait before what is loaded is read": (without(1), "race in the scratchpad: reads what the load engine writes"),
    "no wait before what is computed is stored": (without(4), "race in the scratchpad: reads what the array engine"),
    "what is read is written over": (
        [*product_program()[:4], load(0, 0, 512), made("HALT")],
        "race in the scratchpad: writes what the array engine reads without a WAIT",
    ),
    "both write": (
        [*product_program()[:4], load(0, 1024, 64), made("HALT")],
        "race in the scratchpad: writes what the array engine writes, too, without a WAIT",
    ),
    "a race outside": ([*product_program()[:-1], load(768, 0, 64)], "race in DRAM: reads what the store engine writes"),
    "out of the scratchpad": (changed(0, sram=(256 << 10) - 700), "out of bounds: the scratchpad has 262144 bytes"),
    "out of memory": (changed(5, dram=800), "out of bounds: DRAM has 2816 bytes, 800 to 2848 are used"),
    "not a multiple": (changed(3, target=1032), "used at 1032 with the strides (0, 64), not multiples of 16"),
    "never written": (changed(2, source=520), "reads the scratchpad from 520 on, where nothing was written"),
    "never written outside": (changed(0, dram=64), "reads DRAM from 64 on, where nothing was written"),
    "no instruction to wait for": (
        changed(1, count=2),
        "the array engine would wait forever: load has no instruction 2",
    ),
    "no weights": (without(2), "no weights of this type are loaded"),
    "other weights": (changed(3, type=1), "no weights of this type are loaded"),
    "no end": (without(6), "the program has no HALT"),
    "an empty register": ([made("VSTORE", rows=1, columns=1), made("HALT")], "reads 1 numbers of register 0"),
    "a long register": ([made("VOP", function=COPY, operands=15, count=2049)], "a register holds 1 to 2048 numbers"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_simulator_detects_violations_of_the_data_sheet(name: str) -> None:
    program, message = FAULTS[name]
    with pytest.raises(MachineError) as raised:
        simulated(program)
    assert message in str(raised.value)


def test_instructions_are_encoded() -> None:
    program = product_program()
    assert list(decode(assemble(program))) == program and len(assemble(program)) == 32 * len(program)
    with pytest.raises(ValueError, match="HALT has the fields , not count"):
        assemble([Instruction("HALT", {"count": 1})])


# ---- requantization ----

#: Forms of multipliers, with gemmlowp's two steps as one more.
ARITHMETICS = [(form, saturate, False) for form in run_requantize.FORMS for saturate in (True, False)]
ARITHMETICS += [("q31", saturate, True) for saturate in (True, False)]


@pytest.mark.parametrize("form, saturate, twice", ARITHMETICS)
def test_requantization_is_that_of_apply_and_of_llvm(form: str, saturate: bool, twice: bool) -> None:
    found = run_requantize.differing(form, 40_000, saturate=saturate, twice=twice)
    assert found == dict.fromkeys(run_requantize.ROUNDINGS, (0, 0))


def test_cases_have_ties_and_extremes() -> None:
    cases = run_requantize.draw("q31", 40_000)
    assert {-(2**31), 2**31 - 1, 0} <= set(cases.sums.tolist()) and set(cases.shift) == set(range(-31, 32))
    even, up = (run_requantize.by_apply(cases, rx.Requantize("q31>>shift", name)) for name in ("half_even", "half_up"))
    assert (even != up).sum() > 20


def requantizing(**fields: int) -> list[Instruction]:
    copies = [made("VOP", function=COPY, target=0, operands=15, count=8)]
    given = {"operands": 0 | 15 << 4, "others": 15 | 15 << 4, "target": 1, "count": 8, "mode": 1, **fields}
    return [*copies, made("VREQUANT", **given), made("HALT")]


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"shift": 32}, "shifts are from -31 to 31"),
        ({"shift": -32}, "shifts are from -31 to 31"),
        ({"mode": 128}, "there is no such mode, or result"),
        ({"mode": 64}, "there is no such mode, or result"),
        ({"result": 10}, "there is no such mode, or result"),
        ({"count": 9}, "reads 9 numbers of register 0"),
        ({"others": 7 | 15 << 4}, "reads 8 numbers of register 7"),
    ],
)
def test_requantizations_that_the_data_sheet_forbids(fields: dict[str, int], message: str) -> None:
    simulated(requantizing())
    with pytest.raises(MachineError, match=message):
        simulated(requantizing(**fields))


# ---- the target ----


def module_of(build: Callable[..., Any], *arrays: numpy.ndarray) -> rx.Module:
    names = {"int8": "i8", "int32": "i32", "float32": "f32"}
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, names[str(each.dtype)]) for each in arrays]) as f:
        f.returns(build(*f))
    return module


def is_right(module: rx.Module, *arrays: numpy.ndarray) -> Any:
    """Compare a call with the reference, to the bit, and return the measurements of the call."""
    graph = rx.lower(module, "npu", pipeline=rx.stages("npu").until("layouts"))
    (right,) = reference.evaluate(graph, *arrays)
    result = numpy.from_dlpack(rx.compile(module, "npu")["main"](*arrays))
    numpy.testing.assert_array_equal(result, right)
    return npu.runtime.last[0]


def bytes_of(*shape: int) -> numpy.ndarray:
    return random.integers(-128, 128, shape).astype("int8")


def floats_of(*shape: int) -> numpy.ndarray:
    return random.standard_normal(shape).astype("float32")


def narrow(*shape: int) -> Any:
    return relax.const(random.standard_normal(shape).astype(ml_dtypes.bfloat16))


def integers(x: Any, y: Any) -> Any:
    return relax.nn.relu(relax.matmul(x, y, out_dtype="i32"))


def test_a_product_of_128_takes_most_of_the_array() -> None:
    run = is_right(module_of(integers, bytes_of(128, 128), bytes_of(128, 128)), bytes_of(128, 128), bytes_of(128, 128))
    assert run.layers[0].utilisation >= 0.6
    x = floats_of(128, 256)
    run = is_right(module_of(lambda x: relax.matmul(relax.astype(x, "bf16"), narrow(256, 128), out_dtype="f32"), x), x)
    assert run.layers[-1].utilisation >= 0.6
    assert "matmul" in run.table() and "engines at work: load" in run.table()


@pytest.mark.parametrize("rows, depth, columns", [(1, 16, 16), (5, 32, 10), (48, 24, 80), (130, 272, 48)])
def test_products(rows: int, depth: int, columns: int) -> None:
    arrays = bytes_of(rows, depth), bytes_of(depth, columns)
    is_right(module_of(integers, *arrays), *arrays)


@pytest.mark.parametrize("taps, stride, size", [(3, 1, 8), (3, 2, 9), (1, 2, 8), (1, 1, 5)])
def test_convolutions(taps: int, stride: int, size: int) -> None:
    arrays = bytes_of(1, size, size, 3), bytes_of(taps, taps, 3, 48)

    def conv(x: Any, y: Any) -> Any:
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": "i32"}
        return relax.nn.relu(relax.nn.conv2d(x, y, strides=[stride] * 2, padding=[taps // 2] * 2, **layouts))

    is_right(module_of(conv, *arrays), *arrays)


ROWS = {
    "softmax": relax.nn.softmax,
    "rms_norm": lambda x: relax.nn.rms_norm(x, relax.const(floats_of(200))),
    "silu": relax.nn.silu,
    "transposed": lambda x: relax.add(relax.permute_dims(x), relax.const(floats_of(200, 36))),
    "the same elsewhere": lambda x: relax.reshape(x, (200, 36)),
    "both halves": lambda x: relax.concat(relax.negative(x), x, axis=1),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    x = floats_of(36, 200)
    is_right(module_of(ROWS[name], x), x)


def test_a_block_of_resnet() -> None:
    module, x = rx.from_onnx(resnet.resnet18(8, 1, (16, 32))), resnet.picture(8)
    is_right(module, x)
    graph = rx.lower(module, "npu", pipeline=rx.stages("npu").until("simplify"))
    result = numpy.from_dlpack(rx.compile(module, "npu")["main"](x))
    numpy.testing.assert_array_equal(result, rx.reference(graph)["main"](x))


@pytest.mark.parametrize("taps", [1, 3])
def test_a_residual_of_the_layers_own_input(taps: int) -> None:
    """Add a convolution's input to its sums. The block that pads the input's channels and the last block read it."""
    shape, weights = (1, 3, 4, 5), [random.normal(0, 0.4, (16, each, taps, taps)) for each in (3, 16)]
    x = floats_of(*shape)

    def build(x: Any) -> Any:
        first, second = (relax.const(each.astype("float32")) for each in weights)
        y = relax.nn.relu(relax.nn.conv2d(x, first, padding=[taps // 2]))
        return relax.nn.relu(relax.add(relax.nn.conv2d(y, second, padding=[taps // 2]), y))

    module = module_of(build, x)
    quantized = rx.quantize(module, [floats_of(*shape) for _ in range(3)], "npu").module
    graph = rx.lower(quantized, "npu", pipeline=rx.stages("npu").until("integers"))
    result = numpy.from_dlpack(rx.compile(quantized, "npu")["main"](x))
    numpy.testing.assert_array_equal(result, rx.reference(graph)["main"](x))


def test_a_float_resnet_that_its_recipe_quantizes() -> None:
    module = rx.from_onnx(resnet.resnet18(8, 1, (16, 32), is_quantized=False))
    quantized = rx.quantize(module, [resnet.picture(8, seed) for seed in range(2, 6)], "npu")
    assert {row.pattern for row in quantized.report.rows} == {"conv", "linear"}
    sums = [row for row in quantized.report.rows if "residual" in row.types]
    assert len(sums) == 2 and all("bias" in row.types for row in quantized.report.rows)
    run = is_right(quantized.module, resnet.picture(8))
    # The machine computes everything. Its first kernel quantizes the picture, and its last one dequantizes the scores.
    kernels = [layer.operators.replace("relax.", "") for layer in run.layers]
    assert kernels[0].startswith("quantize") and kernels[-1] == "strided_slice add astype multiply"
    assert sum("requantize" in each for each in kernels) == 6
    program = rx.compile(quantized.module, "npu")
    graph = rx.lower(quantized.module, "npu", pipeline=rx.stages("npu").until("simplify"))
    result = numpy.from_dlpack(program["main"](resnet.picture(8)))
    numpy.testing.assert_array_equal(result, rx.reference(graph)["main"](resnet.picture(8)))


REQUANTIZATIONS = [
    (rx.Requantize(*way), dtype, axis)
    for way in (("q31>>shift", "half_away"), ("float",), ("q15>>shift", "up", False), ("power_of_two", "down"))
    for dtype, axis in (("i8", -1), ("ui8", 1), ("i16", -1), ("i32", 2))
]


def requantized(how: rx.Requantize, dtype: str, axis: int = -1, **changed: Any) -> rx.Module:
    parameters = how.parameters(numpy.geomspace(1e-9, 1e-6, (4, 8, 48)[axis]))._replace(**changed)
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 8, 48), "i32")]) as f:
        values = (relax.const(each) for each in (*parameters, numpy.int32(3)))
        f.returns(relax.requantize(*f, *values, axis=axis, out_dtype=dtype, **how.attributes()))
    return module


@pytest.mark.parametrize("how, dtype, axis", REQUANTIZATIONS)
def test_requantization_is_one_instruction(how: rx.Requantize, dtype: str, axis: int) -> None:
    module, sums = requantized(how, dtype, axis), random.integers(-(2**31), 2**31, (4, 8, 48)).astype("int32")
    program = rx.compile(module, "npu")
    numpy.testing.assert_array_equal(program["main"](sums), rx.reference(module)["main"](sums))
    code = Translator(rx.lower(module, "npu").owner).program().code
    assert {each.name for each in code if each.engine == "vector"} == {"VLOAD", "VREQUANT", "VSTORE"} or axis != -1


@pytest.mark.parametrize(
    "dtype, shift, words",
    [
        ("i8", 40, "VREQUANT has constant shifts from -31 to 31, not a shift of 40"),
        ("i8", -32, "VREQUANT has constant shifts from -31 to 31, not a shift of -32"),
        ("i4", 1, "the vector unit stores results of 8, 16 and 32 bits, not i4"),
    ],
)
def test_requantizations_that_the_field_cannot_express(dtype: str, shift: int, words: str) -> None:
    module = requantized(rx.Requantize("q31>>shift"), dtype, shift=numpy.full(48, shift, "int32"))
    with pytest.raises(rx.RelaxError, match=f"target 'npu' cannot do relax.requantize: {words}") as raised:
        rx.compile(module, "npu")
    assert "test_npu_example.py:" in str(raised.value)


def test_pools_of_quantized_layers() -> None:
    module, weights = rx.Module(), relax.const
    with module.function("main", {"picture": rx.tensor((1, 3, 8, 8))}) as f:
        value = relax.nn.relu(relax.nn.conv2d(*f, weights(floats_of(16, 3, 3, 3)), padding=[1, 1]))
        value = relax.nn.max_pool2d(value, pool_size=(2, 2), strides=(2, 2))
        f.returns(relax.nn.conv2d(value, weights(floats_of(16, 16, 3, 3)), padding=[1, 1]))
    quantized = rx.quantize(module, [resnet.picture(8, seed) for seed in range(2, 6)], "npu").module
    graph = rx.lower(quantized, "npu", pipeline=rx.stages("npu").until("simplify"))
    result = numpy.from_dlpack(rx.compile(quantized, "npu")["main"](resnet.picture(8)))
    numpy.testing.assert_array_equal(result, rx.reference(graph)["main"](resnet.picture(8)))


def test_a_small_block_of_llama() -> None:
    sizes = llama.Sizes(32, 64, 4, 2, 96)
    is_right(llama.block(sizes, llama.weights(sizes)), llama.tokens(sizes))


def test_each_wait_is_needed_or_another_one_does() -> None:
    """Without one of a program's, the machine finds a race, or others have the same done."""
    arrays = bytes_of(32, 160), bytes_of(160, 32)
    module = rx.lower(module_of(integers, *arrays), "npu")
    program = Translator(module.owner).program()
    waits = [place for place, each in enumerate(program.code) if each.name == "WAIT"]

    def run(code: Sequence[Instruction]) -> numpy.ndarray:
        dram = numpy.zeros(program.size, numpy.uint8)
        for place, array in zip(program.inputs, arrays, strict=True):
            dram[place.address : place.address + array.size] = array.view("uint8").reshape(-1)
        Simulator(dram, program.outputs[0].address).run(assemble(code))
        return dram

    right, races = run(program.code), 0
    for place in waits:
        try:
            result = run([*program.code[:place], *program.code[place + 1 :]])
        except MachineError as error:
            assert "race" in str(error)
            races += 1
        else:
            numpy.testing.assert_array_equal(result, right)
    assert races >= len(waits) // 2 > 2


# ---- limits of the target ----


def refusals() -> Iterator[Any]:
    x, n = rx.tensor((4, 16), "f32"), rx.tensor(("n", 16), "f32")
    yield "sine", [x], relax.sin, ["test_npu_example.py", "for npu cannot convert 'tir.sin'"]
    yield "sort", [x], relax.sort, ["target 'npu' cannot do relax.sort (test_npu_example.py"]
    yield "sizes", [n], relax.nn.relu, ["target 'npu': programs have known sizes", "@nn_relu"]
    yield "types", [rx.tensor((4,), "i64")], relax.negative, ["target 'npu', arguments and results of @main", "i64"]
    wide = rx.tensor((4096, 4096), "f32")
    yield "room", [wide], lambda x: relax.sum(x, axis=[0]), ["'npu.sram' has 258048 bytes", "@sum"]


@pytest.mark.parametrize("inputs, build, words", [pytest.param(*rest, id=name) for name, *rest in refusals()])
def test_unsupported_operators_are_refused(inputs: list[Any], build: Callable[..., Any], words: list[str]) -> None:
    module = rx.Module()
    with module.function("main", inputs) as f:
        f.returns(build(*f))
    with pytest.raises(rx.RelaxError) as raised:
        rx.compile(module, "npu")
    told = "\n".join([str(raised.value), *raised.value.notes])
    assert all(word in told for word in words), told


@pytest.mark.parametrize("more", [(), ("--float",)])
def test_the_program_that_prints_a_table(more: Sequence[str]) -> None:
    command = [sys.executable, str(EXAMPLE / "run_resnet.py"), "--small", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "in all" in done.stdout and "the same as the reference, to the bit" in done.stdout
