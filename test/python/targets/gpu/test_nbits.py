# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights of few bits on a GPU: results against numpy, by kernels that read only the codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy
import pytest
from emulated_gpu import run_emulated
from prim_jit import dtype_name
from relax_mlir.runtime import Executable, tensor, to_numpy

import relax_mlir as rx
from relax_mlir import relax

_TOLERANCE = {"float32": 1e-5, "float16": 3e-3, "bfloat16": 2e-2}


class Case(NamedTuple):
    bits: int = 4
    block: int = 32
    depth: int = 128
    columns: int = 24
    dtype: str = "float32"
    #: Codes, floats, offset or none.
    zeros: str = "codes"
    bias: bool = False
    #: Factors of each column's scales and offsets, which are integers then.
    parts: int = 0


def arrays_of(case: Case) -> dict[str, Any]:
    random = numpy.random.default_rng(4)
    blocks = -(-case.depth // case.block)
    shape, dtype = (case.columns, blocks), ml_dtypes.bfloat16 if case.dtype == "bfloat16" else case.dtype
    held = {
        "codes": random.integers(0, 256, (*shape, case.block * case.bits // 8)).astype("uint8"),
        "scale": (0.05 * random.normal(size=shape)).astype(dtype),
    }
    if case.zeros == "codes":
        held["zero_point"] = random.integers(0, 2**case.bits, shape).astype("uint8")
    elif case.zeros == "floats":
        held["zero_point"] = (2 ** (case.bits - 1) + random.normal(size=shape)).astype(dtype)
    elif case.zeros == "offset":
        held["offset"] = random.normal(size=shape).astype(dtype)
    if case.parts:
        held["scale"] = random.integers(-20, 20, shape).astype("int8")
        held["outer_scale"] = (0.01 * random.normal(size=(case.columns, case.parts))).astype(dtype)
    if case.parts and case.zeros == "offset":
        held["offset"] = random.integers(0, 64, shape).astype("uint8")
        held["outer_offset"] = (0.05 * random.normal(size=(case.columns, case.parts))).astype(dtype)
    if case.bias:
        held["bias"] = random.normal(size=case.columns).astype(dtype)
    return held


def codes_of(packed: Any, bits: int, block: int) -> Any:
    """Return the codes of bytes [columns, blocks, bytes]."""
    if bits == 6:
        return codes_of(packed[..., : block // 2], 4, block) + 16 * codes_of(packed[..., block // 2 :], 2, block)
    codes = numpy.stack([packed >> shift & (2**bits - 1) for shift in range(0, 8, bits)], -1)
    return codes.reshape(*packed.shape[:2], block).astype("float64")


def expected_of(case: Case, x: Any, held: dict[str, Any]) -> Any:
    def of_blocks(name: str) -> Any:
        outer = held.get(f"outer_{name}", numpy.ones((1, 1))).astype("float64")
        blocks = held["scale"].shape[1]
        return (held[name].astype("float64") * outer.repeat(blocks // outer.shape[1], 1))[..., None]

    codes, scale = codes_of(held["codes"], case.bits, case.block), of_blocks("scale")
    if "offset" in held:
        matrix = codes * scale + of_blocks("offset")
    else:
        zero_point = held.get("zero_point", numpy.full(held["scale"].shape, 2 ** (case.bits - 1)))
        matrix = (codes - zero_point.astype("float64")[..., None]) * scale
    matrix = matrix.reshape(case.columns, -1)[:, : case.depth]
    return x.astype("float64") @ matrix.T + held.get("bias", numpy.zeros(1)).astype("float64")


def program(case: Case, rows: tuple[int | str, ...], constants: bool = False, **options: Any) -> Executable:
    held = arrays_of(case)
    infos = [] if constants else [rx.tensor(each.shape, dtype_name(each)) for each in held.values()]
    x = rx.tensor((*rows, case.depth), {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[case.dtype])
    module = rx.Module()
    with module.function("main", [x, *infos]) as f:
        given, *weights = f
        named = dict(zip(held, map(relax.const, held.values()) if constants else weights, strict=True))
        f.returns(relax.matmul_nbits(given, **named, bits=case.bits, block_size=case.block))
    return rx.compile(module, "cuda", **options)


def check(case: Case, executable: Executable, *rows: int) -> None:
    held = arrays_of(case)
    dtype = ml_dtypes.bfloat16 if case.dtype == "bfloat16" else case.dtype
    x = numpy.random.default_rng(5).normal(size=(*rows, case.depth)).astype(dtype)
    given = [x, *held.values()][: len(executable.signature("main")["inputs"])]
    found = to_numpy(run_emulated(executable, *map(tensor, given))).astype("float64")
    wanted = expected_of(case, x, held)
    assert found.shape == wanted.shape
    numpy.testing.assert_allclose(found, wanted, rtol=0, atol=_TOLERANCE[case.dtype] * numpy.abs(wanted).max())


@pytest.mark.parametrize("rows", [1, 3, 7, 9, 70])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rows(rows: int, dtype: str) -> None:
    """Use strips for few rows and tiles for more, with partial last ones."""
    case = Case(dtype=dtype)
    check(case, program(case, (rows,)), rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case(2, 32), Case(2, 64, 100, zeros=""), Case(8, 32), Case(8, 16, 48, zeros="floats", bias=True),
        Case(8, 4, 12), Case(4, 16, 48, 20), Case(4, 128, 256, zeros="", bias=True), Case(4, 8, 24, 7),
        Case(4, 32, 100, 33, zeros="floats"), Case(4, 32, 33, 5, "float16"), Case(4, 40, 80),
        Case(4, 24, 72, 9, "float16", "", bias=True),
    ],
    ids=str,
)  # fmt: skip
def test_forms(case: Case) -> None:
    for rows in (2, 17):
        check(case, program(case, (rows,)), rows)


#: Q4_1, Q4_K and Q6_K of GGUF files, the last two with short blocks of scales.
_OF_FILES = {
    "q4_1": Case(4, 32, 96, 20, zeros="offset"),
    "q4_k": Case(4, 32, 128, 20, zeros="offset", parts=2, bias=True),
    "q6_k": Case(6, 16, 128, 20, zeros="", parts=4),
    "q6": Case(6, 32, 90, 5, "float16"),
}


@pytest.mark.parametrize("case", _OF_FILES.values(), ids=_OF_FILES)
def test_formats_of_files(case: Case) -> None:
    for rows in (1, 19):
        check(case, program(case, (rows,)), rows)


@pytest.mark.parametrize("name", ["q4_1", "q4_k", "q6_k"])
def test_no_scale_is_computed_in_memory(name: str) -> None:
    executable = program(_OF_FILES[name], (1,), constants=True)
    memory = executable._artifact.entries[0]["memory"]
    assert memory["peak"] == 0 and not memory["slots"]
    assert all("matmul_nbits" in each for each in executable._artifact.devices[0].kernels)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rows_that_the_run_tells(dtype: str) -> None:
    """Use a separate kernel for few rows."""
    case = Case(dtype=dtype, bias=True)
    executable = program(case, ("batch", "words"))
    for rows in ((1, 1), (2, 2), (1, 5), (3, 11)):
        check(case, executable, *rows)
    held = arrays_of(case)
    nothing = numpy.zeros((0, 4, case.depth), dtype)
    assert to_numpy(run_emulated(executable, *map(tensor, [nothing, *held.values()]))).shape == (0, 4, case.columns)


def test_the_kernel_is_chosen_by_rows() -> None:
    module = rx.Module()
    case = Case()
    with module.function("main", [rx.tensor(("n", case.depth))]) as f:
        held = arrays_of(case)
        f.returns(relax.matmul_nbits(*f, *map(relax.const, held.values()), None, bits=4, block_size=32))
    text = str(rx.lower(module, "cuda", pipeline=rx.stages("cuda").until("kernels")))
    chosen = text[text.index("scf.if") :]
    few, many = chosen[: chosen.index("} else {")], chosen[chosen.index("} else {") :]
    assert few.count("gpu.launch_func") == 1 and many[: many.index("return")].count("gpu.launch_func") == 1
    assert "arith.cmpi sle" in text


@pytest.mark.parametrize("rows", [(1,), (8,), (200,), ("n",)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_no_weight_is_unpacked_in_memory(rows: tuple[int | str, ...], dtype: str) -> None:
    case = Case(block=32, depth=512, columns=256, dtype=dtype)
    executable = program(case, rows, constants=True)
    memory = executable._artifact.entries[0]["memory"]
    assert memory["peak"] == 0 and not memory["slots"]
    names = executable._artifact.devices[0].kernels
    assert all("matmul_nbits" in name for name in names), names


def test_codes_are_read_as_wide_as_a_thread_loads() -> None:
    """Load 32 codes of each column of a thread at once, with the matching part of x."""
    executable = program(Case(depth=4096, columns=4096, dtype="float16"), (1,), opt_level=3)
    text = bytes(executable._artifact.devices[0].data).decode()
    assert text.count("ld.global.v4.b32") >= 2 + 4
    assert text.count("ld.global.b8") == 2 and text.count("ld.global.b16") == 2  # zero points and scales


@pytest.mark.parametrize(
    ("rows", "before", "after"),
    [
        (1, "2: 32; threads", "2: 24; threads"),  # no unit of two codes in 16 bytes
        (20, "blocks 2: 16", "blocks 2: 1"),  # half of a byte
    ],
)
def test_plans_that_do_not_fit_are_left_out(rows: int, before: str, after: str) -> None:
    """Compute the product without a plan that does not fit."""
    case = Case()
    held = arrays_of(case)
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, case.depth))]) as f:
        f.returns(relax.matmul_nbits(*f, *map(relax.const, held.values()), None, bits=4, block_size=32))
    stages = rx.stages("cuda")
    lowered = str(rx.lower(module, "cuda", pipeline=stages.until("plan")))
    assert lowered.count(before) == 1
    changed = rx.Module.parse(lowered.replace(before, after))
    made = str(rx.lower(changed, "cuda", pipeline=stages.between("bufferize", "kernels")))
    assert 'gpu.form = "tiles"' not in made and "gpu.launch_func" in made
