# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code for other kinds of CPU gives this machine's results: compiled here, linked, and run by an emulator."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
from emulated_cpus import CPUS, Cpu, emulated, linked
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

RANDOM = numpy.random.default_rng(11)


def floats(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype("float32")


def module_of(make: Callable[..., Any], *given: Any) -> rx.Module:
    """Return a module of a function on such tensors, with a dynamic first size."""
    module = rx.Module()
    types = [rx.tensor(("n", *each.shape[1:]), str(each.dtype)) for each in given]
    with module.function("main", types) as f:
        f.returns(make(*f))
    return module


def perceptron(x: Any) -> Any:
    hidden = relax.nn.relu(relax.add(relax.matmul(x, relax.const(floats(40, 33))), relax.const(floats(33))))
    return relax.nn.softmax(relax.matmul(hidden, relax.const(floats(33, 19))))


def picture(x: Any) -> Any:
    """Return full, row-wise and depthwise convolutions, a norm and pools."""
    y = relax.nn.relu(relax.nn.conv2d(x, relax.const(floats(24, 6, 3, 3)), padding=(1, 1)))
    y = relax.nn.conv2d(y, relax.const(floats(24, 1, 3, 3)), padding=(1, 1), strides=(2, 2), groups=24)
    y = relax.nn.conv2d(y, relax.const(floats(16, 24, 1, 1)))
    y = relax.nn.max_pool2d(relax.nn.gelu(y), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    return relax.nn.avg_pool2d(y, pool_size=(2, 2))


def functions(x: Any) -> Any:
    y = relax.nn.layer_norm(x, relax.const(floats(37)), relax.const(floats(37)), axes=[-1])
    found = [getattr(relax, name)(y) for name in ("exp", "tanh", "erf", "sin", "round", "floor", "sigmoid")]
    return relax.concat([*found, relax.cumsum(x, axis=1), relax.sort(x), relax.power(relax.abs(x), y)], axis=1)


def seen(x: Any) -> Any:
    return relax.nn.attention(*relax.split(x, 3, axis=1), causal_mask="TopLeft")


def products(dtype: str, sums: str) -> Callable[[Any], Any]:
    weights = narrow(dtype, 40, 35)
    return lambda x: relax.matmul(x, relax.const(weights), out_dtype=sums)


def mixed(x: Any) -> Any:
    """Multiply unsigned by signed bytes like quantized models, and quantize the result."""
    total = relax.matmul(x, relax.const(narrow("int8", 40, 35)), out_dtype="int32")
    return relax.quantize(relax.astype(total, "float32"), relax.const(numpy.float32(3)), relax.const(numpy.int8(2)))


def narrow(dtype: str, *shape: int) -> Any:
    if dtype in ("int8", "uint8"):
        held = numpy.iinfo(dtype)
        return RANDOM.integers(held.min, held.max, shape, dtype, endpoint=True)
    return floats(*shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "perceptron": (perceptron, floats(7, 40)),
    "picture": (picture, floats(2, 6, 17, 19)),
    "functions": (functions, floats(5, 37)),
    "attention": (seen, floats(2, 15, 4, 24)),
    "float16": (products("float16", "float32"), narrow("float16", 9, 40)),
    "bfloat16": (products("bfloat16", "float32"), narrow("bfloat16", 9, 40)),
    "int8": (products("int8", "int32"), narrow("int8", 9, 40)),
    "uint8": (products("uint8", "int32"), narrow("uint8", 9, 40)),
    "quantized": (mixed, narrow("uint8", 9, 40)),
}


def built(module: rx.Module, cpu: Cpu, folder: Path) -> Path:
    """Build a static program for the CPU."""
    (folder / "model.mlir").write_text(str(module))
    command = [sys.executable, "-m", "relax_mlir.tools.relax_compile", "model.mlir", "--emit=obj", "-o", "model.o"]
    command.append(f"--target=llvm{{{cpu.target}}}")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return linked([(folder / "model.o").read_bytes()], cpu, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cpu", CPUS.values(), ids=CPUS)
def test_results_are_this_machines(cpu: Cpu, name: str, tmp_path: Path) -> None:
    if problem := cpu.lacks():
        pytest.skip(problem)
    make, given = PROGRAMS[name]
    module = module_of(make, given)
    expected = to_numpy(rx.compile(module)["main"](given))
    found = emulated(built(module, cpu, tmp_path), cpu, given, expected)
    assert found.shape == expected.shape
    numpy.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), rtol=2e-5, atol=2e-5)
