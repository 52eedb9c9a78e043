# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of a GPU's kernels: their results equal the kernels', and files of schedules can change them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import real_devices
from emulated_gpu import run_emulated
from real_devices import with_more
from relax_mlir.runtime.devices.spirv import block_needs
from relax_mlir.targets.spirv.abi import unpacked
from schedule_kernels import KERNELS, Kernel
from scheduled_gpu import code_of

import relax_mlir as rx
from relax_mlir import relax

TARGET = "cuda{arch=sm_80}"
#: Kernels without steps, and why.
WITHOUT = {
    "products_of_bytes": "multiplied by m16n8k32, an instruction without an intrinsic",
    "tiled": "has loops in its text that differ from its kernel's",
    "nested": "has loops in its text that differ from its kernel's",
    "overlapping": "has loops in its text that differ from its kernel's",
}
Inputs = dict[str, tuple[tuple[int | str, ...], str]]


def results(program: rx.Executable, arrays: list[np.ndarray]) -> list[np.ndarray]:
    given = run_emulated(program, *arrays)
    return [np.from_dlpack(each) for each in (given if isinstance(given, tuple) else (given,))]


def by_steps(module: rx.Module, folder: Path, target: str = TARGET) -> rx.Executable:
    """Compile with the steps of all kernels, each of which must have some."""
    text = rx.schedules.chosen(module, target)
    assert "# Without steps" not in text, text
    file = folder / "kernels.py"
    file.write_text(text, encoding="utf-8")
    return rx.compile(module, target, schedules=file)


@pytest.mark.slow
@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_steps_give_what_is_computed(each: Kernel, tmp_path: Path) -> None:
    module = each.module()
    if each.name in WITHOUT:
        text = rx.schedules.chosen(module, TARGET)
        assert f"#   {each.name}: " in text and WITHOUT[each.name] in text
        return
    scheduled = by_steps(module, tmp_path)
    for seed in range(3):
        arrays = each.arrays(seed)
        given = each.expected(*arrays)
        expected = given if isinstance(given, tuple) else (given,)
        for wanted, found in zip(expected, results(scheduled, arrays), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def graph(make: Callable[..., Any], inputs: Inputs) -> rx.Module:
    module = rx.Module()
    with module.function("main", {name: rx.tensor(*each) for name, each in inputs.items()}) as f:
        f.returns(make(*f))
    return module


def f32(*shape: int | str) -> tuple[tuple[int | str, ...], str]:
    return shape, "f32"


_DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i64": np.int64}
_IMAGE: Inputs = {"x": f32(1, 9, 14, 14), "w": f32(20, 9, 3, 3), "b": f32(20, 1, 1)}
_PADDED = {"padding": [1, 1, 1, 1]}


def _dense(x: Any, w: Any, b: Any) -> Any:
    return relax.nn.relu(relax.add(relax.matmul(x, w), b))


def _convolution(x: Any, w: Any, b: Any) -> Any:
    return relax.nn.relu(relax.add(relax.nn.conv2d(x, w, **_PADDED), b))


#: Operators of models: whether results equal the kernels' to the bit (sums in the same order), and texts with the
#: number of kernels that must contain them.
MODELS: dict[str, tuple[Callable[..., Any], Inputs, bool, tuple[str, ...]]] = {
    "product": (relax.matmul, {"x": f32(70, 40), "w": f32(40, 66)}, True, ("pipeline(", '"shared"', "unroll(")),
    "dense": (_dense, {"x": f32("n", 40), "w": f32(40, 66), "b": f32(66)}, True, ('"shared"', "set_scope(")),
    "heads": (relax.matmul, {"x": f32(3, 17, 32), "y": f32(3, 32, 17)}, True, ("blockIdx.y",)),
    "batches": (relax.matmul, {"x": f32(3, 17, 32), "w": f32(32, 40)}, True, ("transform_block_layout",)),
    "split product": (relax.matmul, {"x": f32(40, 2048), "w": f32(2048, 40)}, True, ("rfactor(", ", 0)")),
    "a row": (_dense, {"x": f32(1, 200), "w": f32(200, 96), "b": f32(96)}, False, ("rfactor(", "merge(")),
    "three rows": (_dense, {"x": f32(3, 128), "w": f32(128, 70), "b": f32(70)}, False, ("rfactor(",)),
    "convolution": (_convolution, _IMAGE, True, ("transform_block_layout", "reindex_cache_read")),
    "softmax": (lambda x: relax.nn.softmax(x, axis=-1), {"x": f32(6, 7, 100)}, False, ("merge(", "rfactor(")),
    "open softmax": (lambda x: relax.nn.softmax(x, axis=-1), {"x": f32("n", "m")}, False, ("compute_inline(",)),
    "f16 softmax": (lambda x: relax.nn.softmax(x, axis=-1), {"x": ((5, 64), "f16")}, False, ("vectorize(",)),
    "layer norm": (
        lambda x, g, b: relax.nn.layer_norm(x, g, b, axes=[-1]),
        {"x": f32(4, 6, 96), "g": f32(96), "b": f32(96)},
        False,
        ("merge(",),
    ),
    "rms norm": (
        lambda x, g: relax.nn.rms_norm(x, g, axes=[-1]), {"x": f32("n", 320), "g": f32(320)}, False, ("merge(",)
    ),
    "group norm": (
        lambda x, g, b: relax.nn.group_norm(x, g, b, num_groups=3, channel_axis=1, axes=[2, 3]),
        {"x": f32(2, 9, 5, 5), "g": f32(9), "b": f32(9)},
        False,
        ("merge(",),
    ),
    "sum of all": (relax.sum, {"x": f32(37, 50)}, False, ("add_unit_loop(",)),
    "sum of long rows": (lambda x: relax.sum(x, axis=[1]), {"x": f32(3, 9000)}, False, ("rfactor(",)),
    "sum of columns": (lambda x: relax.sum(x, axis=[0]), {"x": f32(2000, 40)}, False, ("rfactor(",)),
    "means of channels": (lambda x: relax.mean(x, axis=[0, 2]), {"x": f32(3, 8, 33)}, False, ("rfactor(",)),
    "greatest": (lambda x: relax.argmax(x, axis=1), {"x": f32(5, 130)}, True, ("cache_write(",)),
    "transposition": (
        lambda x: relax.permute_dims(x, axes=[0, 2, 1]), {"x": f32(2, 45, 70)}, True, ("storage_align(",)
    ),
    "open transposition": (lambda x: relax.permute_dims(x, axes=[1, 0]), {"x": f32("n", "m")}, True, ('"shared"',)),
    "channels to the end": (
        lambda x: relax.permute_dims(x, axes=[0, 2, 3, 1]), {"x": ((2, 33, 6, 9), "f16")}, True, ("storage_align(",)
    ),
    "pooling": (
        lambda x: relax.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2], **_PADDED),
        {"x": f32(1, 4, 17, 17)},
        True,
        ("bind(",),
    ),
    "concatenation": (lambda x, y: relax.concat([x, y], axis=1), {"x": f32(7, 30), "y": f32(7, 14)}, True, ("bind(",)),
    "addition": (relax.add, {"x": f32("n", "m"), "y": f32("m")}, True, ("fuse(", "256")),
    "halves": (
        lambda x: relax.astype(relax.nn.gelu(x), "f32"), {"x": ((7, 130), "bf16")}, True, ("vectorize(",)
    ),
    "bytes": (relax.add, {"x": ((9, 64), "i8"), "y": ((9, 64), "i8")}, True, ("16]",)),
}  # fmt: skip
_SIZES = {"n": (0, 1, 13), "m": (1, 5, 70)}


def arrays_for(inputs: Inputs, number: int) -> list[np.ndarray]:
    random = np.random.default_rng(number)
    made = []
    for shape, dtype in inputs.values():
        sizes = [_SIZES[size][number] if isinstance(size, str) else size for size in shape]
        whole = dtype.startswith("i")
        made.append((random.integers(-50, 50, sizes) if whole else random.normal(size=sizes)).astype(_DTYPES[dtype]))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_steps_give_what_kernels_give(name: str, tmp_path: Path) -> None:
    make, inputs, same, words = MODELS[name]
    module = graph(make, inputs)
    scheduled, planned = by_steps(module, tmp_path), rx.compile(module, TARGET)
    text = (tmp_path / "kernels.py").read_text(encoding="utf-8")
    assert all(word in text for word in words), text
    is_open = any(isinstance(size, str) for shape, _ in inputs.values() for size in shape)
    for number in range(3 if is_open else 1):
        arrays = arrays_for(inputs, number)
        for expected, found in zip(results(planned, arrays), results(scheduled, arrays), strict=True):
            if same:
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found.astype("f4"), expected.astype("f4"), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_steps_fit_the_smallest_devices(name: str, tmp_path: Path) -> None:
    """Compile for the minimum of Vulkan's devices: no block has more threads or more memory."""
    real_devices.skip_without("vulkan")
    make, inputs, _, _ = MODELS[name]
    target, module = with_more(real_devices.target("vulkan"), "threads=128 shared=16384"), graph(make, inputs)
    scheduled, planned = by_steps(module, tmp_path, target), rx.compile(module, target)
    needs = [block_needs(each.module) for each in unpacked(scheduled._artifact.devices[0].data)[0]]
    assert needs and all(each.threads <= 128 and each.shared_bytes <= 16 << 10 for each in needs)
    arrays = arrays_for(inputs, 2)
    found, expected = (each.copying()["main"](*arrays) for each in (scheduled, planned))
    np.testing.assert_allclose(found.astype("f4"), expected.astype("f4"), rtol=1e-3, atol=1e-4)


def two_kernels() -> rx.Module:
    def make(x: Any) -> Any:
        return relax.nn.softmax(relax.permute_dims(x, axes=[1, 0]), axis=-1)

    return graph(make, {"x": f32(70, 33)})


def test_one_kernel_is_replaced_and_the_others_stay() -> None:
    """Check that the other kernel's code is exactly the same."""
    module = two_kernels()
    text = rx.schedules.chosen(module, TARGET)
    assert "def permute_dims(sch):" in text and "def nn_softmax(sch):" in text
    lines = text[text.index("def permute_dims") :].partition("\n\n")[0].splitlines()[1:]
    kept = [line.strip() for line in lines if "vectorize" not in line]
    trace = "\n".join(["# schedule 1", *kept]).replace("[None, 32]", "[None, 16]")
    planned, changed = rx.compile(module, TARGET), rx.compile(module, TARGET, schedules={"permute_dims": trace})
    array = np.random.default_rng(0).normal(size=(70, 33)).astype("float32")
    np.testing.assert_array_equal(results(changed, [array])[0], results(planned, [array])[0])
    before, after = (_kernels(code_of(each)) for each in (planned, changed))
    assert before["nn_softmax"] == after["nn_softmax"]
    assert before["permute_dims"] != after["permute_dims"] and ".maxntid 128" in after["permute_dims"], after[
        "permute_dims"
    ]


def _kernels(code: str) -> dict[str, str]:
    parts = code.split(".entry ")[1:]
    return {part.partition("(")[0]: part.partition("\n}")[0] for part in parts}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('sch.get_block("none")', r"kernels\.py:3: .*there is no block 'none'.*kernel nn_softmax"),
        ('sch.unroll("nn_softmax")', r"kernels\.py:3: .*expected loops and blocks"),
    ],
)
def test_what_is_wrong_with_a_line(line: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(f"# schedule 1\ndef nn_softmax(sch):\n    {line}\n", encoding="utf-8")
    with pytest.raises(rx.RelaxError, match=problem):
        rx.compile(two_kernels(), TARGET, schedules=file)


def test_reports_have_the_steps_of_rows_too() -> None:
    """Report steps of kernels over rows, which are loops without blocks when plans are made."""
    journal = rx.Journal(steps=True)
    rx.compile(two_kernels(), TARGET, journal=journal)
    told = {fact["kernel"]: fact["steps"] for fact in journal.of("schedule")}
    assert any(".merge(" in line for line in told["nn_softmax"]), told
    assert any(".storage_align(" in line for line in told["permute_dims"]), told


def test_what_computes_places_has_none() -> None:
    text = rx.schedules.chosen(graph(lambda x: relax.cumsum(x, axis=1), {"x": f32(7, 30)}), TARGET)
    assert "#   cumsum: @cumsum has a 'memref.reinterpret_cast'" in text
