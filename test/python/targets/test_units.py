# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in pieces: results, independence of jobs and caches, and a single compilation of equal kernels."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.runtime import Executable
from relax_mlir.support.disk_cache import DiskCache
from relax_mlir.support.processes import pool as pools
from relax_mlir.support.processes.pool import Pool
from relax_mlir.targets.core.code_options import code_options
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.host.units import library_units
from relax_mlir.targets.llvm.objects import native_code, separate_kernels, unit_compiler, units
from relax_mlir.targets.llvm.objects.code_target import code_target

import relax_mlir as rx
from relax_mlir import relax

ARRAYS = (numpy.linspace(-2, 2, 15 * 8, dtype="float32").reshape(15, 8), numpy.array([3, 0, 7, 7, -8], "int64"))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Small units are made by other processes as well."""
    own = Pool()
    for module in (native_code, unit_compiler):
        monkeypatch.setattr(module, "process_pool", lambda: own)
    monkeypatch.setattr(unit_compiler, "_WORTH_A_PROCESS", 0)
    yield own
    own.end()


def network(scale: float = 0.5, first: str = "tanh") -> rx.Module:
    """Return a network with own and shared constants, a kernel that can fail, one that occurs twice, a packed function
    and a loop."""
    module = rx.Module()
    weights = numpy.random.default_rng(3).normal(size=(8, 8)).astype("float32")
    with module.function("main", [rx.tensor(("n", 8)), rx.tensor(("k",), "int64")]) as f:
        x, places = f
        y = relax.matmul(getattr(relax, first)(x), relax.const(weights))
        picked = relax.take(y, places, axis=1)
        z = relax.nn.softmax(relax.multiply(y, relax.const(numpy.float32(scale))))
        small = relax.add(z, relax.const(numpy.arange(8, dtype="float32")))
        again = relax.add(relax.nn.softmax(small), relax.const(numpy.arange(8, dtype="float32")))
        f.returns(picked, again, relax.sum(again, axis=[0]), relax.argmax(y, axis=1))
    return module


class Watching(rx.Instrument):
    def __init__(self) -> None:
        self.pieces: list[tuple[str, int, int]] = []

    def code_made(self, kernel: str, done: int, count: int) -> None:
        self.pieces.append((kernel, done, count))


#: Object files of an undivided program: its own code, and shared code (checks, caches, lists).
WHOLE = 4


def objects(executable: Executable) -> list[bytes]:
    return [bytes(each) for each in executable._artifact.objects]


def results(executable: Executable) -> list[Any]:
    return [numpy.from_dlpack(each) for each in executable["main"](*ARRAYS)]


def compiled(**options: Any) -> Executable:
    return rx.compile(network(), **{"cache": False, "jobs": 1, **options})


def whole(monkeypatch: pytest.MonkeyPatch, target: str = "llvm") -> Executable:
    """Compile the network as one unit."""
    with monkeypatch.context() as patched:
        patched.setattr(separate_kernels, "separate_kernels", lambda *arguments: None)
        patched.setattr(units, "kernels_of", lambda *arguments: [])
        return compiled(target=target)


def kernels_in(cache: DiskCache) -> int:
    return cache.sizes().get("kernels", (0, 0))[0]


# ---- the same program, in pieces ----


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=x86-64-v2}"])
def test_pieces_compute_what_the_whole_does(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if target != "llvm" and os.uname().machine != "x86_64":
        pytest.skip("the code is for x86-64")
    pieces, one = compiled(target=target), whole(monkeypatch, target)
    assert len(objects(one)) == WHOLE
    assert len(objects(pieces)) > WHOLE + 2, f"cut into {len(objects(pieces))} pieces only"
    pieces.save(tmp_path / "pieces.rxa")
    for executable in (pieces, rx.runtime.load(tmp_path / "pieces.rxa")):
        for mine, theirs in zip(results(executable), results(one), strict=True):
            numpy.testing.assert_allclose(mine, theirs, rtol=1e-6)
        x, places = ARRAYS
        with pytest.raises(IndexError, match=r"relax\.take"):
            executable["main"](x, places + 5)


def test_the_only_kernel_of_a_program_has_an_object() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((3,))]) as f:
        (x,) = f
        f.returns(relax.exp(x))
    assert len(objects(rx.compile(module, cache=False, jobs=1))) == 3, "graph, kernel and library"


def test_objects_do_not_depend_on_jobs_and_cache(elsewhere: Pool, tmp_path: Path) -> None:
    first = objects(compiled())
    assert elsewhere.idle_count() == 0, "one job started other processes"
    assert objects(compiled(jobs=2)) == first
    assert elsewhere.idle_count() == 2, "two jobs, and not two processes that made the kernels"
    assert objects(compiled(jobs=2, cache=tmp_path)) == first
    assert objects(compiled(jobs=1, cache=tmp_path)) == first
    assert objects(compiled(jobs=1, cache=str(tmp_path))) == first


def test_shared_units_begin_early(elsewhere: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native_code, "_fixed", {})
    common, kept, *rare = native_code.lowered(library_units())
    level = 1  # the drawn number decides about LLVM's optimization at the usual level
    first = objects(compiled(opt_level=level))
    native_code._fixed.clear()
    begun: list[bytes] = []
    begin = pools.Worker.begin
    monkeypatch.setattr(pools.Worker, "begin", lambda worker, call: (begun.append(call.data), begin(worker, call))[1])
    target = code_target(parse_target("llvm"))
    native_code.prepare(target, code_options(level, 2, tmp_path))
    assert {common, kept} <= {*begun} and not {*rare} & {*begun} and elsewhere.idle_count() == 2
    assert objects(compiled(opt_level=level, jobs=2, cache=tmp_path)) == first
    assert begun.count(common) == 1, "what was begun early was made again"
    native_code._fixed.clear()
    begun.clear()
    native_code.prepare(target, code_options(level, 2, tmp_path))
    assert common not in begun, "what is in the cache was made again"
    compiled(opt_level=level, jobs=2, cache=tmp_path)  # waits for calls whose results nothing uses


def test_code_for_another_cpu_is_made_elsewhere_as_well(elsewhere: Pool) -> None:
    target = "llvm{triple=aarch64-linux-gnu}"
    first = objects(rx.compile(network(), target, jobs=1, cache=False))
    assert len(first) > 4
    assert objects(rx.compile(network(), target, jobs=2, cache=False)) == first
    assert elsewhere.idle_count() == 2, "two jobs, and not two processes that made the kernels"


def test_two_programs_with_the_same_names_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [rx.compile(network(scale), jobs=1, cache=False) for scale in (0.5, -2.0)]
    expected = [results(each) for each in both]
    assert not numpy.allclose(expected[0][1], expected[1][1])
    for _ in range(2):
        for executable, values in zip(both, expected, strict=True):
            for mine, theirs in zip(results(executable), values, strict=True):
                numpy.testing.assert_array_equal(mine, theirs)


def test_graph_functions_that_call_kernels_stay_together() -> None:
    text = """
    func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "relax.cumsum"(%0) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = func.call @inner(%1) : (tensor<4xf32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    """
    x = numpy.linspace(-1, 1, 4, dtype="float32")
    executable = rx.compile(rx.Module.parse(text), jobs=1, cache=False)
    expected = numpy.cumsum(numpy.exp(numpy.sin(numpy.cumsum(numpy.exp(x)))))
    numpy.testing.assert_allclose(numpy.from_dlpack(executable["main"](x)), expected, rtol=1e-5)


LLVM_MODULE = """
llvm.mlir.global internal constant @{0}("text\\00") {{addr_space = 0 : i32}}
llvm.mlir.global internal @count(0 : i64) : i64
llvm.func internal @__relax_defined.f(%x: i64) -> i64 {{
  %0 = llvm.mlir.addressof @{0} : !llvm.ptr
  %1 = llvm.load %0 : !llvm.ptr -> i64
  %2 = llvm.mlir.addressof @count : !llvm.ptr
  llvm.store %1, %2 : i64, !llvm.ptr
  {1}
  llvm.return %1 : i64
}}
llvm.func internal @__relax_defined.f_1(%x: i64) -> i64 {{
  %0 = llvm.mlir.addressof @{0} : !llvm.ptr
  %1 = llvm.load %0 : !llvm.ptr -> i64
  %2 = llvm.mlir.addressof @count : !llvm.ptr
  llvm.store %1, %2 : i64, !llvm.ptr
  llvm.return %1 : i64
}}
llvm.func @main(%x: i64) -> i64 {{
  %0 = llvm.call @__relax_defined.f(%x) : (i64) -> i64
  %1 = llvm.call @__relax_defined.f_1(%0) : (i64) -> i64
  llvm.return %1 : i64
}}
"""


def units_from(name: str = "text", inside: str = "") -> list[units.Unit]:
    with new_context(("llvm", "arith")), ir.Location.unknown():
        return units.units_of(ir.Module.parse(LLVM_MODULE.format(name, inside)))


def test_equal_kernels_are_made_once() -> None:
    graph, kernel = units_from()
    assert kernel.symbol.startswith("__relax_kernel.f.")
    assert units_from("other_text")[1] == kernel  # names of constants do not matter
    assert b"text" not in graph.code.replace(b"context", b"")  # nothing in there reads it


def test_kernels_with_other_code_have_other_symbols() -> None:
    _, kernel, other = units_from(inside="llvm.store %x, %2 : i64, !llvm.ptr")
    assert other.symbol == units_from()[1].symbol != kernel.symbol


def text_of(unit: units.Unit) -> str:
    with new_context(("llvm",)):
        return str(ir.Module.parse(unit.code))


def test_units_share_variables_and_copy_constants() -> None:
    """Copy a constant into each unit, but share a variable."""
    graph, kernel = (text_of(unit) for unit in units_from())
    assert "@count(0 : i64)" in graph, "the variable has left the graph's unit"
    assert "@count(0 : i64)" not in kernel and "@count" in kernel, "the kernel has a variable of its own"


def test_a_function_that_calls_others_of_the_program_stays() -> None:
    found = units_from(inside="%9 = llvm.call @__relax_defined.f_1(%x) : (i64) -> i64")
    assert [unit.name for unit in found] == ["", "f_1"], "f needs another function"


def test_a_function_that_others_see_stays() -> None:
    seen = LLVM_MODULE.replace("llvm.func internal @__relax_defined.f(", "llvm.func @__relax_defined.f(")
    with new_context(("llvm", "arith")), ir.Location.unknown():
        found = units.units_of(ir.Module.parse(seen.format("text", "")))
    assert [unit.name for unit in found] == ["", "f_1"], "what others call by its name was taken out, or nothing was"


@pytest.mark.parametrize("inside", ["%9 = llvm.dso_local_equivalent @main : !llvm.ptr", "llvm.blocktag <id = 1>"])
def test_a_function_that_has_more_than_calls_and_addresses_in_it_stays(inside: str) -> None:
    found = units_from(inside=inside)
    assert [unit.name for unit in found] == ["", "f_1"], f"f contains {inside}"


def test_other_dialects_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match=r"operation 'arith\.addi' is not of the LLVM dialect"):
        units_from(inside="%9 = arith.addi %x, %x : i64")


def test_invalid_modules_are_refused() -> None:
    with new_context(("llvm",)), ir.Location.unknown():
        module = ir.Module.parse(LLVM_MODULE.format("text", ""))
        call = list(module.body)[-1].operation.regions[0].blocks[0].operations[0].operation
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get("nobody")
        with pytest.raises(rx.RelaxError, match=r"no native code can be made of it: 'llvm\.call' op 'nobody' does not"):
            units.units_of(module)


def test_debug_information_is_kept() -> None:
    scope = (
        "#llvm.di_subprogram<compileUnit = <id = distinct[0]<>, sourceLanguage = DW_LANG_C, "
        'file = <"x.c" in ".">, isOptimized = true, emissionKind = Full>, name = "f", file = <"x.c" in ".">>'
    )
    text = f'llvm.func @f() {{ llvm.return }} loc(fused<{scope}>["x.c":1:1])'
    with new_context(("llvm",)), ir.Location.unknown():
        (unit,) = units.units_of(ir.Module.parse(text))
    assert b"x.c" in unit.code


def pieces_of(module: rx.Module, **options: Any) -> list[tuple[str, int, int]]:
    watching = Watching()
    rx.compile(module, instruments=[watching], **{"jobs": 1, "cache": False, **options})
    return watching.pieces


# ---- the cache ----


def test_cached_units_are_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = objects(compiled(cache=tmp_path))
    cache = DiskCache(tmp_path)
    assert kernels_in(cache) == len(first) + 1  # the pool of threads is no object of the program
    monkeypatch.setattr(unit_compiler, "unit_object", None)  # nothing can be made
    assert objects(compiled(cache=tmp_path)) == first


def test_another_program_has_the_same_kernels(tmp_path: Path) -> None:
    compiled(cache=tmp_path)
    before = kernels_in(DiskCache(tmp_path))
    rx.compile(network(first="sigmoid"), jobs=1, cache=tmp_path)
    # The kernel that changed, and the graph's functions.
    made = kernels_in(DiskCache(tmp_path)) - before
    assert made <= 2, f"{made} pieces were compiled anew although one kernel of the program differs"


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_damaged_entries_are_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    first = objects(compiled(cache=tmp_path))
    files = [path for path in (tmp_path / "1" / "kernels").rglob("*") if path.is_file()]
    whole_files = {path: path.read_bytes() for path in files}
    for path, data in whole_files.items():
        path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:] if damage is None else damage)
    assert objects(compiled(cache=tmp_path)) == first
    assert {path: path.read_bytes() for path in files} == whole_files


def test_the_cache_key_covers_target_and_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, arm = DiskCache(tmp_path), "llvm{triple=aarch64-linux-gnu"
    targets = (arm + "}", arm + " cpu=neoverse-v1}", arm + " cpu=neoverse-v1 features=-sve}")
    every: list[dict[str, Any]] = [{}, {"opt_level": 3}, *({"target": target} for target in targets)]
    for options in every:
        before = kernels_in(cache)
        compiled(cache=tmp_path, **options)
        assert kernels_in(cache) > before, f"code made for something else was taken for {options}"
    for name in ("cpu_identity", "loaded_compiler"):
        before = kernels_in(cache)
        monkeypatch.setattr(unit_compiler, name, lambda: "another one")
        compiled(cache=tmp_path)
        assert kernels_in(cache) > before, f"code of another {name} was taken"
    before = kernels_in(cache)
    compiled(cache=tmp_path)
    assert kernels_in(cache) == before, "the same code was made twice"


def test_locations_are_not_in_the_key(tmp_path: Path) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("{0}")
      %1 = "relax.sort"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("{0}")
      return %0, %1 : tensor<4xf32>, tensor<4xf32>
    }
    """
    cache = DiskCache(tmp_path)
    for name in ("here", "there"):
        rx.compile(rx.Module.parse(text.replace("{0}", name)), jobs=1, cache=tmp_path)
    assert kernels_in(cache) <= 8  # the graph's functions may name locations; shared code has none


def test_a_cache_that_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert objects(compiled(cache=tmp_path / "file")) == objects(compiled())


def test_the_cache_is_on_unless_it_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "own"))
    compiled(cache=False)
    assert not (tmp_path / "own").exists()
    compiled(cache=None)
    assert kernels_in(DiskCache(tmp_path / "own")) > 4


# ---- options and failures ----


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"jobs": 0}, "jobs=0: expected a number of processes, at least 1"),
        ({"jobs": True}, "jobs=True"),
        ({"jobs": "2"}, "jobs='2'"),
        ({"cache": 7}, "cache=7: expected a folder, False for none"),
        ({"cache": ""}, "cache=''"),
        ({"opt_level": 7}, "opt_level 7: expected 0 to 3"),
    ],
)
def test_options(options: dict[str, Any], text: str) -> None:
    with pytest.raises(rx.RelaxError, match=text):
        compiled(**options)


@pytest.mark.parametrize("jobs", [1, 2])
def test_instruments_see_each_piece(jobs: int, elsewhere: Pool, tmp_path: Path) -> None:
    for _ in range(2):
        pieces = pieces_of(network(), jobs=jobs, cache=tmp_path)
        count = len(pieces)
        assert [done for _, done, _ in pieces] == list(range(1, count + 1))
        assert {whole for _, _, whole in pieces} == {count}
        names = {name for name, _, _ in pieces}
        assert "" in names and "matmul" in " ".join(names)


@pytest.mark.parametrize("jobs", [1, 2])
def test_instruments_hear_which_kernels_are_under_way(jobs: int, elsewhere: Pool) -> None:
    class Following(rx.Instrument):
        def __init__(self) -> None:
            self.under_way: list[str] = []
            self.most = 0

        def code_begun(self, kernel: str) -> None:
            self.under_way.append(kernel)
            self.most = max(self.most, len(self.under_way))

        def code_made(self, kernel: str, done: int, count: int) -> None:
            self.under_way.remove(kernel)

    following = Following()
    compiled(jobs=jobs, instruments=[following])
    assert following.under_way == []
    assert following.most == jobs


def children() -> list[int]:
    return [int(pid) for path in Path("/proc/self/task").iterdir() for pid in (path / "children").read_text().split()]


def test_a_worker_that_is_killed_is_an_error(elsewhere: Pool) -> None:
    class Killing(rx.Instrument):
        def code_made(self, kernel: str, done: int, count: int) -> None:
            for pid in children():
                os.kill(pid, signal.SIGKILL)

    with pytest.raises(rx.RelaxError) as caught:
        compiled(jobs=2, instruments=[Killing()])
    assert "the process that made its code was killed (out of memory?)" in str(caught.value)
    assert "kernel '" in str(caught.value) or "the graph's functions" in str(caught.value)
    assert results(compiled(jobs=2))


def test_without_processes_it_is_compiled_here(elsewhere: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = objects(compiled())
    monkeypatch.setattr(pools.sys, "executable", "/no/such/python")
    assert objects(compiled(jobs=2)) == first


def test_four_times_as_many_kernels_take_four_times_as_long() -> None:
    """Compare times within this run: quadratic time would be a factor of 16."""

    def seconds(count: int) -> float:
        kernels = "\n".join(
            f"llvm.func internal @__relax_defined.f_{i}(%x: i64) -> i64 {{ llvm.return %x : i64 }}"
            for i in range(count)
        )
        more = " ".join(["llvm.add %x, %x : i64"] * 150)
        calls = "\n".join(f"llvm.call @__relax_defined.f_{i}(%x) : (i64) -> i64 {more}" for i in range(count))
        text = f"{kernels}\nllvm.func @main(%x: i64) -> i64 {{\n{calls}\n llvm.return %x : i64 }}"
        with new_context(("llvm",)), ir.Location.unknown():
            module = ir.Module.parse(text)
            start = time.thread_time()
            units.units_of(module)
            return time.thread_time() - start

    few, later = (min(seconds(count) for _ in range(2)) for count in (100, 400))
    assert later < 7 * few, f"{later / few:.1f} times as long for 4 times as many kernels"
