# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by cooperative matrices against numpy, for all sizes and layouts, where a device has them.

Most devices of the tests have none (Mesa's lavapipe has, from 26.1 on). There the code is only generated and validated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import pytest
import real_devices
import relax_mlir as rx
import spirv_validation
from relax_mlir import relax
from relax_mlir.runtime import tensor, to_numpy
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir_spirv.abi import unpacked
from relax_mlir_spirv.matrices import FACTORS, matrices_of_instruction, matrices_of_text
from relax_mlir_spirv.vulkan_runtime.requirements import multiplies_matrices

#: As devices say of themselves: NVIDIA's, Intel's (subgroups of 16), lavapipe.
_TARGETS = (
    "vulkan{matrices=f16:16x16x16+i8:16x16x32+ui8:16x16x32}",
    "vulkan{matrices=f16:16x8x8+i8:16x8x32+ui8:16x8x32 shared=16384 threads=128}",
    "vulkan{matrices=f16:8x16x16+i8:8x16x32+ui8:8x16x32 subgroup=16}",
    "vulkan{fma=twice matrices=f16:8x8x8+i8:8x8x8+ui8:8x8x8 subgroup=8}",
)


def device_target() -> str:
    """Return a target with the first device's matrices. Skip the test if the device has none, which is no fault."""
    if real_devices.why_none("vulkan"):
        pytest.skip(real_devices.why_none("vulkan"))
    device = real_devices.vulkan_driver().device(0)
    known = {each.partition(":")[0] for each in device.capabilities.matrices}
    if known != set(FACTORS) or "matrices=" not in device.target:
        pytest.skip(f"{device} has no cooperative matrices of f16 and bytes; few drivers do")
    return device.target


@pytest.fixture
def device() -> Iterator[str]:
    chosen = device_target()
    for _ in real_devices.device_without_leaks("vulkan"):
        yield chosen


def module_of(build: Callable[..., Any], *inputs: tuple[tuple[int | str, ...], str]) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape, dtype in inputs]) as f:
        f.returns(build(*f))
    return module


def compiled(module: rx.Module, target: str) -> rx.runtime.Executable:
    """Compile a program, and check that it uses cooperative matrices."""
    executable = rx.compile(module, target)
    spirv_validation.check(executable)
    assert multiplied_by_matrices(executable)
    return executable


def multiplied_by_matrices(executable: rx.runtime.Executable) -> bool:
    return any(multiplies_matrices(each.module) for each in unpacked(executable._artifact.devices[0].data)[0])


def run(executable: rx.runtime.Executable, *arrays: numpy.ndarray) -> numpy.ndarray:
    found: numpy.ndarray = to_numpy(executable.copying()["main"](*map(tensor, arrays)))
    return found


def numbers(seed: int, dtype: str, *shape: int) -> numpy.ndarray:
    random = numpy.random.default_rng(seed)
    if dtype == "f16":
        return random.standard_normal(shape).astype("float16")
    low, high = (0, 256) if dtype == "ui8" else (-128, 128)
    return random.integers(low, high, shape).astype("uint8" if dtype == "ui8" else "int8")


def wide(x: numpy.ndarray) -> numpy.ndarray:
    return x.astype("float64" if x.dtype == numpy.float16 else "int64")


def total_of(dtype: str) -> str:
    return "float32" if dtype == "f16" else "int32"


def check(found: numpy.ndarray, expected: numpy.ndarray, steps: int = 1) -> None:
    """Compare exactly for bytes, and with a tolerance for other orders in f32 and the final rounding of f16."""
    if found.dtype == numpy.int32:
        numpy.testing.assert_array_equal(found, expected)
        return
    unit = 2.0**-11 if found.dtype == numpy.float16 else steps * 2.0**-24
    numpy.testing.assert_allclose(found.astype("float64"), expected, rtol=unit * 1.01, atol=unit * 8)


#: The last has so many blocks that subgroups multiply several matrices each.
SIZES = [(64, 64, 64), (100, 90, 70), (33, 130, 9), (17, 18, 200), (250, 500, 20)]


@pytest.mark.parametrize("dtype", FACTORS)
@pytest.mark.parametrize("target", _TARGETS)
def test_code_is_valid(target: str, dtype: str) -> None:
    for rows, columns, steps in [(64, 64, 64), (100, 90, 70)]:
        build = lambda x, y: relax.matmul(x, y, out_dtype=total_of(dtype))  # noqa: E731
        compiled(module_of(build, ((rows, steps), dtype), ((steps, columns), dtype)), target)


@pytest.mark.parametrize("dtype", FACTORS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products(device: str, dtype: str, sizes: Sequence[int]) -> None:
    rows, columns, steps = sizes
    x, y = numbers(0, dtype, rows, steps), numbers(1, dtype, steps, columns)
    build = lambda x, y: relax.matmul(x, y, out_dtype=total_of(dtype))  # noqa: E731
    executable = compiled(module_of(build, (x.shape, dtype), (y.shape, dtype)), device)
    check(run(executable, x, y), wide(x) @ wide(y), steps)


@pytest.mark.parametrize("dtype", ["f16", "i8"])
@pytest.mark.parametrize("turned", ["x", "y", "xy"])
def test_inputs_that_lie_the_other_way(device: str, dtype: str, turned: str) -> None:
    x, y = numbers(2, dtype, 2, 40, 50), numbers(3, dtype, 2, 50, 60)
    given = [each.swapaxes(1, 2).copy() if name in turned else each for name, each in (("x", x), ("y", y))]

    def build(*operands: Any) -> Any:
        left, right = (
            relax.permute_dims(each, (0, 2, 1)) if name in turned else each
            for name, each in zip("xy", operands, strict=True)
        )
        return relax.matmul(left, right, out_dtype=total_of(dtype))

    executable = compiled(module_of(build, *((each.shape, dtype) for each in given)), device)
    check(run(executable, *given), wide(x) @ wide(y), 50)


def test_sizes_that_are_known_when_it_runs(device: str) -> None:
    module = module_of(relax.matmul, (("b", "m", "k"), "f16"), (("b", "k", "n"), "f16"))
    executable = compiled(module, device)
    for batch, rows, columns, steps in [(1, 64, 64, 64), (3, 37, 29, 51), (2, 1, 1, 1), (1, 20, 20, 0), (0, 4, 4, 4)]:
        x, y = numbers(4, "f16", batch, rows, steps), numbers(5, "f16", batch, steps, columns)
        check(run(executable, x, y), wide(x) @ wide(y))


def test_work_on_results(device: str) -> None:
    """Apply bias, relu, a residual and a cast to the results."""
    x, y, bias, more = (
        numbers(seed, "f16", *shape) for seed, shape in enumerate([(70, 80), (80, 50), (50,), (70, 50)])
    )

    def build(x: Any, y: Any, bias: Any, more: Any) -> Any:
        product = relax.add(relax.matmul(x, y, out_dtype="float32"), relax.astype(bias, "float32"))
        return relax.astype(relax.add(relax.nn.relu(product), relax.astype(more, "float32")), "float16")

    executable = compiled(module_of(build, *((each.shape, "f16") for each in (x, y, bias, more))), device)
    assert len(executable._artifact.devices[0].kernels) == 1
    check(run(executable, x, y, bias, more), numpy.maximum(wide(x) @ wide(y) + wide(bias), 0) + wide(more))


@I.ir_module
class FromThree:
    @T.prim_func
    def product(x: T.Buffer((40, 24), "float16"), y: T.Buffer((24, 20), "float16"), z: T.Buffer((40, 20), "float32")):
        for i, j, k in T.grid(40, 20, 24):
            with T.block("z"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    z[vi, vj] = T.float32(3)
                z[vi, vj] = z[vi, vj] + T.Cast("float32", x[vi, vk]) * T.Cast("float32", y[vk, vj])

    @R.function
    def main(x: R.Tensor((40, 24), "float16"), y: R.Tensor((24, 20), "float16")) -> R.Tensor((40, 20), "float32"):
        cls = FromThree
        z = R.call_tir(cls.product, (x, y), out_sinfo=R.Tensor((40, 20), "float32"))
        return z


def test_sums_that_start_elsewhere(device: str) -> None:
    x, y = numbers(12, "f16", 40, 24), numbers(13, "f16", 24, 20)
    check(run(compiled(FromThree, device), x, y), wide(x) @ wide(y) + 3, 24)


@pytest.mark.parametrize("dtype", ["f16", "i8"])
def test_convolutions(device: str, dtype: str) -> None:
    x, w = numbers(6, dtype, 2, 20, 13, 11), numbers(7, dtype, 24, 20, 3, 3)

    def build(x: Any, w: Any) -> Any:
        return relax.nn.conv2d(x, w, padding=(1, 1), out_dtype=total_of(dtype))

    found = run(compiled(module_of(build, (x.shape, dtype), (w.shape, dtype)), device), x, w)
    padded = numpy.pad(wide(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    check(found, numpy.einsum("bchwij,ocij->bohw", windows, wide(w)), 180)


def test_weights_of_four_bits(device: str) -> None:
    """Convert codes to f16 on the way to shared memory."""
    random = numpy.random.default_rng(10)
    x, scale = numbers(11, "f16", 33, 128), (0.05 * random.normal(size=(24, 4))).astype("float16")
    codes = random.integers(0, 256, (24, 4, 16)).astype("uint8")
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, "f16")]) as f:
        f.returns(relax.matmul_nbits(*f, relax.const(codes), relax.const(scale), bits=4, block_size=32))
    spread = numpy.stack([codes & 15, codes >> 4], -1).reshape(24, 128).astype("float64") - 8
    weights = (spread * numpy.repeat(wide(scale), 32, 1)).astype("float16")
    check(run(compiled(module, device), x), wide(x) @ wide(weights).T)


def test_long_sums_in_parts(device: str) -> None:
    """Share the steps among blocks, since there are few blocks."""
    x, y = numbers(8, "i8", 20, 3000), numbers(9, "i8", 3000, 24)
    build = lambda x, y: relax.matmul(x, y, out_dtype="int32")  # noqa: E731
    executable = compiled(module_of(build, (x.shape, "i8"), (y.shape, "i8")), device)
    check(run(executable, x, y), wide(x) @ wide(y))


def test_each_result_is_one_threads() -> None:
    powers = [1 << power for power in range(8)]
    for rows, columns, threads in itertools.product(powers[2:], powers[2:], powers):
        matrices = matrices_of_text(f"ui8:{rows}x{columns}x16", threads)
        if matrices is None:
            assert rows * columns < threads
            continue
        assert matrices_of_instruction(matrices.instruction) == matrices
        assert matrices.threads_across * matrices.threads_down == threads
        assert matrices.lanes * matrices.threads_across == columns
        assert matrices.rows_of_thread * matrices.threads_down == rows
    for name in ("cooperative", "cooperative_f16_16x16x16", "cooperative_f16_16x16x16_0", "m16n8k16"):
        assert matrices_of_instruction(name) is None


def test_bytes_of_either_sign_are_no_matrices() -> None:
    """Use no matrices for mixed signs, which few devices support."""
    build = lambda x, y: relax.matmul(x, y, out_dtype="int32")  # noqa: E731
    module = module_of(build, ((64, 64), "ui8"), ((64, 64), "i8"))
    assert not multiplied_by_matrices(rx.compile(module, _TARGETS[0]))


def test_other_types_are_as_without_the_option() -> None:
    module = module_of(relax.matmul, ((64, 64), "f32"), ((64, 64), "f32"))
    with_option = rx.compile(module, "vulkan{matrices=f16:16x16x16}")._artifact.devices[0]
    without = rx.compile(module, "vulkan{version=1.3}")._artifact.devices[0]
    assert bytes(with_option.data) == bytes(without.data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("matrices=f16", "option 'matrices' has 'f16'"),
        ("matrices=f16:16x16", "option 'matrices' has 'f16:16x16'"),
        ("matrices=f32:16x16x16", "expected f16 or i8 or ui8 with rows, columns and steps, as f16:16x16x16"),
        ("matrices=f16:16x16x12", "powers of two from 4 to 128"),
        ("matrices=f16:4x4x4", "as many results as subgroups have threads, 32"),
        ("matrices=f16:16x16x16+f16:8x8x8", "option 'matrices' has f16 twice"),
        ("matrices=f16:16x16x16 version=1.2", "option 'version' expects 1.3, got '1.2'"),
    ],
)
def test_wrong_options_are_refused(options: str, message: str) -> None:
    with pytest.raises(rx.RelaxError) as raised:
        rx.compile(module_of(relax.exp, ((4,), "f32")), f"vulkan{{{options}}}")
    assert "target 'vulkan{" in str(raised.value) and message in str(raised.value)


def test_opencl_has_no_such_option() -> None:
    with pytest.raises(rx.RelaxError, match="has no option 'matrices'"):
        rx.compile(module_of(relax.exp, ((4,), "f32")), "opencl{matrices=f16:16x16x16}")
