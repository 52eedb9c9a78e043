# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables: run, saved, loaded elsewhere, refused if they cannot run, unloaded after their last use."""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import gc
import itertools
import os
import pickle
import queue
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
import tvm_ffi_orcjit
from native import artifact_for, executable, ignoring, signature
from relax_mlir.dialects.core.infos import ScalarInfo, tensor
from relax_mlir.runtime import Artifact, ArtifactError, Constant, Executable, UnknownFunction
from relax_mlir.runtime.executable import ConstantMemory

import relax_mlir as rx
from relax_mlir import relax, runtime

# The i-th element of a constant.
PICK = """
func.func @pick_impl(%i: i64, %p: memref<f32>) {
  %table = llvm.mlir.addressof @__relax_constants : !llvm.ptr
  %entry = llvm.getelementptr %table[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %data = llvm.load %entry : !llvm.ptr -> !llvm.ptr
  %value = llvm.load %data : !llvm.ptr -> f32
  memref.store %value, %p[] : memref<f32>
  return
}
"""
SIGNATURE = signature("pick", [("i", ScalarInfo("i64"))], [tensor(())])

IN_A_PROCESS = """
import sys
import relax_mlir.runtime as runtime
function = runtime.load(sys.argv[1])["pick"]
import numpy
print(float(numpy.from_dlpack(function(0))), float(numpy.from_dlpack(function(1))))
ours = ("relax_mlir.runtime", "relax_mlir.support", "__editable")
print([name for name in sys.modules if "mlir" in name and not name.startswith(ours)])
"""


def constants() -> list[Constant]:
    first = numpy.full(100_000, 3.5, numpy.float32)
    second = numpy.arange(5, 9, dtype=numpy.float32)
    return [
        Constant("first", "float32", first.shape, memoryview(first)),
        Constant("second", "float32", second.shape, memoryview(second)),
    ]


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return artifact_for(PICK, [SIGNATURE], constants=constants())


@pytest.fixture
def saved(artifact: Artifact, tmp_path: Path) -> Path:
    Executable(artifact).save(tmp_path / "pick.rxa")
    return tmp_path / "pick.rxa"


def value(result: Any) -> float:
    return float(numpy.from_dlpack(result))


def mapped(path: Path) -> int:
    """Return the number of mappings of a file in this process."""
    return sum(str(path) in line for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


def test_saved_and_loaded(artifact: Artifact, saved: Path) -> None:
    for exe in (Executable(artifact), runtime.load(saved)):
        assert [value(exe["pick"](index)) for index in (0, 1)] == [3.5, 5.0]
        assert (list(exe), len(exe), "pick" in exe, "other" in exe) == (["pick"], 1, True, False)
        assert exe.signature("pick") == SIGNATURE.describe()
        assert exe["pick"].packed.release_gil


def test_in_a_process_without_the_compiler(saved: Path) -> None:
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, str(saved)], capture_output=True, text=True, check=False)
    assert done.stdout == "3.5 5.0\n['relax_mlir']\n" and done.stderr == "" and done.returncode == 0


def test_constants_are_mapped_while_a_function_lives(saved: Path) -> None:
    assert mapped(saved) == 0
    function = runtime.load(saved)["pick"]
    gc.collect()
    assert mapped(saved) > 0
    tvm_ffi.register_global_func("relax_mlir.test.kept", function, override=True)
    del function
    gc.collect()
    again = tvm_ffi.get_global_func("relax_mlir.test.kept")
    assert value(again(1)) == 5
    tvm_ffi.remove_global_func("relax_mlir.test.kept")
    del again
    gc.collect()
    assert mapped(saved) == 0


def test_a_file_can_be_replaced_while_it_runs(artifact: Artifact, saved: Path) -> None:
    function = runtime.load(saved)["pick"]
    Executable(artifact).save(saved)
    assert value(function(1)) == 5


def test_pickled_and_copied(artifact: Artifact, saved: Path) -> None:
    for exe in (Executable(artifact), runtime.load(saved)):
        for again in (pickle.loads(pickle.dumps(exe)), copy.deepcopy(exe), copy.copy(exe)):
            assert [value(again["pick"](index)) for index in (0, 1)] == [3.5, 5.0]
            assert again.signature("pick") == exe.signature("pick")
    elsewhere = Executable(dataclasses.replace(artifact, triple="vax-unknown-vms"), load_later=True)
    again = pickle.loads(pickle.dumps(elsewhere))  # made here for another machine
    with pytest.raises(ArtifactError, match="the code is for vax-unknown-vms"):
        again["pick"]
    data = pickle.dumps(Executable(artifact)).replace(b"first", b"frist")
    with pytest.raises(ArtifactError, match="checksum"):
        pickle.loads(data)


def test_functions_are_pickled_with_their_program(artifact: Artifact, saved: Path) -> None:
    for exe in (Executable(artifact), runtime.load(saved)):
        function = exe["pick"]
        assert copy.copy(function) is function and copy.deepcopy([function])[0] is function
        again, twice = pickle.loads(pickle.dumps([function, function]))
        assert again is twice
        assert [value(again(index)) for index in (0, 1)] == [3.5, 5.0]
        assert repr(again) == repr(function)
    data = pickle.dumps(Executable(artifact)["pick"])
    assert value(pickle.loads(data)(1)) == 5, "its executable is gone"
    with pytest.raises(TypeError, match="pickle the executable"):
        pickle.dumps(type(function)(function.packed, function._described))


def test_an_unknown_function(artifact: Artifact) -> None:
    exe = Executable(artifact)
    with pytest.raises(UnknownFunction, match="no function 'pikc' in this executable; there are pick; did you mean"):
        exe["pikc"]
    with pytest.raises(UnknownFunction, match="no function 'main'"):
        exe.signature("main")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features": ("avx9000", "sse2")}, "this CPU lacks what the code was compiled for: avx9000"),
        ({"triple": "vax-unknown-vms"}, "the code is for vax-unknown-vms, this machine is "),
        ({"objects": (memoryview(b"no object"),)}, "the object code cannot be loaded"),
        ({"objects": (memoryview(b""),)}, "the object code cannot be loaded"),
        ({"constants": tuple(constants()[:1])}, "the code has 2 constants, got 1"),
        ({"constants": ()}, "the code has 2 constants, got 0"),
    ],
)
def test_foreign_artifacts_are_refused(artifact: Artifact, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        Executable(dataclasses.replace(artifact, **changes))


def test_code_without_its_constants(artifact: Artifact) -> None:
    """Report code that is loaded without the place of its constants."""
    module = tvm_ffi_orcjit.default_session().load_module([bytes(each) for each in artifact.objects], cxx=os.devnull)
    pick = module.get_function("pick")
    for _ in range(2):
        with pytest.raises(ValueError, match="pick: the program's constants are not set: call __relax_set"):
            pick(0)
    memory = ConstantMemory([each.data for each in constants()])
    module.get_function("__relax_set_constants")(ctypes.cast(memory.table, ctypes.c_void_p), memory.count, memory)
    assert value(pick(1)) == 5
    with pytest.raises(ValueError, match="the constants are set already"):
        module.get_function("__relax_set_constants")(ctypes.cast(memory.table, ctypes.c_void_p), memory.count, memory)


def test_an_entry_that_the_code_lacks(artifact: Artifact) -> None:
    exe = Executable(dataclasses.replace(artifact, entries=({"name": "other", "inputs": [], "outputs": []},)))
    with pytest.raises(ArtifactError, match="the object code has no function 'other'"):
        exe["other"]


def test_an_undefined_symbol(capfd: pytest.CaptureFixture[str]) -> None:
    text = """
    llvm.func @relax_mlir_nobody_has_this() -> i32
    func.func @f_impl() {
      %0 = llvm.call @relax_mlir_nobody_has_this() : () -> i32
      return
    }"""
    with pytest.raises(ArtifactError, match="'f' cannot be linked"):
        executable(text, signature("f", []))["f"]
    assert "relax_mlir_nobody_has_this" in capfd.readouterr().err  # the loader's own message


def test_the_interpreter_runs_meanwhile() -> None:
    """Wait in native code for data that Python writes during the call: other threads of Python continue."""
    text = """
    llvm.func @read(i32, !llvm.ptr, i64) -> i64
    func.func @take_impl(%file: i64, %m: memref<i8>) {
      %one = llvm.mlir.constant(1 : i64) : i64
      %address = memref.extract_aligned_pointer_as_index %m : memref<i8> -> index
      %number64 = arith.index_cast %address : index to i64
      %p = llvm.inttoptr %number64 : i64 to !llvm.ptr
      %number = llvm.trunc %file : i64 to i32
      %count = llvm.call @read(%number, %p, %one) : (i32, !llvm.ptr, i64) -> i64
      return
    }"""
    take = executable(text, signature("take", [("file", ScalarInfo("i64"))], [tensor((), "uint8")]))["take"]
    pipes = [os.pipe() for _ in range(4)]
    # Should the interpreter be locked up, these bytes end the wait.
    rescue = [
        subprocess.Popen(["sh", "-c", "sleep 60; printf x"], stdout=end, start_new_session=True) for _, end in pipes
    ]
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(take, begin) for begin, _ in pipes]
        for index, (_, end) in enumerate(pipes):
            os.write(end, bytes([index]))
        found = [int(numpy.from_dlpack(call.result())) for call in calls]
    for process in rescue:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for end in itertools.chain(*pipes):
        os.close(end)
    assert found == [0, 1, 2, 3]


def test_programs_come_and_go_on_several_threads(tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    path = tmp_path / "program.rxa"
    rx.compile(module).save(path)
    loaded: queue.SimpleQueue[Executable | None] = queue.SimpleQueue()

    def load() -> None:
        try:
            for _ in range(1000):
                loaded.put(runtime.load(path))
        finally:
            loaded.put(None)

    def drop() -> None:
        while loaded.get() is not None:
            pass

    with ThreadPoolExecutor(4) as pool:
        for work in [pool.submit(each) for each in (load, load, drop, drop)]:
            work.result()
    assert not tvm_ffi_orcjit._ffi_api.SessionLoadModule.release_gil  # the threads may have been lucky


def test_executables_have_separate_symbols() -> None:
    both = [
        executable(ignoring("f", [("x", tensor((size,)))]), signature("f", [("x", tensor((size,)))])) for size in (2, 3)
    ]
    both[0]["f"](numpy.zeros(2, numpy.float32))
    both[1]["f"](numpy.zeros(3, numpy.float32))
    with pytest.raises(ValueError, match="expected size 2, got 3"):
        both[0]["f"](numpy.zeros(3, numpy.float32))
