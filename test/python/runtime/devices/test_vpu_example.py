# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/vpu with a vendor's library in C: programs use the device by host functions in Python."""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import c_programs
import numpy
import pytest
from relax_mlir.runtime import device_kinds
from relax_mlir.targets.host import units
from relax_mlir.targets.host.native.unit import LibraryUnit

import relax_mlir as rx
from relax_mlir import relax

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "vpu"
sys.path.insert(0, str(EXAMPLE))
pytestmark = c_programs.needs_compiler
LIBRARY = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int32_t taken, given, copies, status;
extern void *vpu_alloc(int64_t), vpu_free(void *);
extern int32_t vpu_copy(void *, const void *, int64_t), vpu_wait(void);
void *vpu_alloc(int64_t size) { return size > 1 << 16 || !++taken ? NULL : aligned_alloc(256, (size + 255) & ~255); }
void vpu_free(void *address) { given++, free(address); }
int32_t vpu_copy(void *to, const void *from, int64_t size) { return copies++, memcpy(to, from, size), status; }
int32_t vpu_wait(void) { return 0; }
"""
WEIGHTS = numpy.linspace(-1, 1, 8 * 512, dtype="float32").reshape(8, 512)
X = numpy.linspace(-2, 2, 24, dtype="float32").reshape(3, 8)


@pytest.fixture(scope="module")
def numbers() -> Iterator[dict[str, Any]]:
    """Yield the numbers of the vendor's library, which stays loaded, and register its kind of device meanwhile."""
    importlib.import_module("vpu_target")
    library = c_programs.compiled({"vpu.c": LIBRARY}, "-std=c11", "-Wl,-soname,libvpu.so")
    yield {name: ctypes.c_int32.in_dll(library, name) for name in ("taken", "given", "copies", "status")}
    del device_kinds._kinds["vpu"], units._registered["vpu_host"]
    units.register_library()


def layer(rows: int | str = "n") -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, 8))}) as f:
        f.returns(relax.nn.softmax(relax.tanh(relax.matmul(*f, relax.const(WEIGHTS)))))
    return module


def test_a_program_uses_the_devices_memory(numbers: dict[str, Any], tmp_path: Path) -> None:
    rx.compile(layer(), "vpu").save(tmp_path / "layer.rxa")
    program = rx.runtime.load(tmp_path / "layer.rxa")
    expected = rx.reference(layer())["main"](X)
    numpy.testing.assert_allclose(numpy.asarray(program.copying()["main"](X)), expected, rtol=1e-5)
    before, x = numbers["taken"].value, program.memory.upload(X)
    y = program["main"](x)
    assert program.device == "vpu:0" and numbers["taken"].value >= before + 3  # x, y and temporaries
    numpy.testing.assert_allclose(program.memory.download(y), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="expected a tensor on vpu:0, got one on cpu:0"):
        program["main"](X)
    assert all(kernel.seconds > 0 for kernel in program.profile("main", x, repeat=2).kernels)
    del program, x, y
    gc.collect()
    assert numbers["taken"].value == numbers["given"].value > 0 and numbers["copies"].value >= 5


def test_statuses_become_errors(numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    program = rx.compile(layer(), "vpu")
    with pytest.raises(MemoryError, match=r"result #0 .* out of memory of the device, 204800 bytes"):
        program["main"](program.memory.upload(numpy.ones((100, 8), "float32")))
    monkeypatch.setattr(numbers["status"], "value", 9)
    with pytest.raises(rx.RelaxError, match="vpu:0: copying to the device: VPU_LOST: no answer"):
        program.memory.upload(X)


@pytest.fixture
def compile_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that compiles with a change in the device's host functions."""
    monkeypatch.syspath_prepend(tmp_path)

    def compile_layer(old: str, new: str) -> Any:
        name, source = f"vpu_{abs(hash((tmp_path, new)))}", (EXAMPLE / "vpu_host.py").read_text("utf-8")
        (tmp_path / f"{name}.py").write_text(source.replace(old, new), "utf-8")
        monkeypatch.setattr(units, "_registered", {name: LibraryUnit(name)})
        units.register_library()
        return rx.compile(layer(len(new)), "vpu")

    yield compile_layer
    monkeypatch.undo()
    units.register_library()


TYPED = "from relax_mlir.targets.host.native.language import *\n@library_function\ndef vpu_functions() -> I32:\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("vpu_alloc(size)", "vpu_alloc(place)", ".py:24: host function 'take': `place`: expected I64, got Array[Ptr]"),
        ("give(address: Ptr)", "give(address: I64)", ".py:28: host function 'give': 'free' of a device is Callable[[P"),
        ("wait=vpu_wait", "wait=vpu_free", ".py:14: host function 'vpu_free': 'wait' of a device is Callable[[Ptr], "),
        ("wait=vpu_wait", "wait=vpu_wait, weight=0", "device functions: 'weight' is none of push_context, "),
        (
            'vpu_functions = device_functions(\n    "vpu",',
            f"{TYPED}    return OK\n\n\nother = dict(",
            "' is a !llvm.fu",
        ),
        ("vpu_wait", "vpu_rest", "the C function 'vpu_rest', which the program calls, is in none of its libraries"),
    ],
)
def test_a_wrong_host_function_is_refused_at_its_line(
    numbers: Any, compile_with: Callable[..., Any], old: str, new: str, problem: str
) -> None:
    with pytest.raises(rx.RelaxError) as error:
        compile_with(old, new)["main"](X)
    assert problem in str(error.value)
