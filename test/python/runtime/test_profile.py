# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles: their kernels and numbers of calls, and that profiling changes nothing else."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from compiling import array
from relax_mlir.runtime import ArtifactError, Executable
from relax_mlir.runtime.manifest import Site, parse_signature
from relax_mlir.runtime.profile import Profile, profile_text
from relax_mlir.runtime.profiling import SWITCH, _summary, profile_calls
from relax_mlir.targets.core.registry import parse_target
from scipy.stats import trim_mean

import relax_mlir as rx

V = "tensor<4xf32>"
PROGRAM = f"""
func.func private @twice(%x: {V}) -> {V} {{
  %0 = "relax.cumsum"(%x) {{axis = 0}} : ({V}) -> {V} loc("inner"("onnx.CumSum"))
  return %0 : {V}
}}
func.func @loops(%x: {V}, %n: i64, %yes: i1) -> {V} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i64 to index
  %0 = func.call @twice(%x) : ({V}) -> {V}
  %1 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %0) -> ({V}) {{
    %2 = "relax.sort"(%a) : ({V}) -> {V} loc("in loop")
    scf.yield %2 : {V}
  }}
  %3 = scf.if %yes -> ({V}) {{
    %4 = "relax.exp"(%1) : ({V}) -> {V} loc("taken")
    scf.yield %4 : {V}
  }} else {{
    %5 = "relax.tanh"(%1) : ({V}) -> {V} loc("not taken")
    scf.yield %5 : {V}
  }}
  %6 = func.call @twice(%3) : ({V}) -> {V}
  return %6 : {V}
}}
func.func @packed(%x: {V}) -> {V} {{
  %0 = "relax.call_dps_packed"(%x) {{func = "test_profile.hook"}} : ({V}) -> {V} loc("hook")
  %1 = "relax.cumsum"(%0) {{axis = 0}} : ({V}) -> {V} loc("after")
  return %1 : {V}
}}
func.func @nothing(%x: {V}) -> {V} {{
  return %x : {V}
}}
"""
ONES = numpy.ones(4, "float32")

_hook: Callable[[], None] = lambda: None  # noqa: E731


@tvm_ffi.register_global_func("test_profile.hook", override=True)
def hook(source: Any, target: Any) -> None:
    _hook()
    numpy.from_dlpack(target)[:] = numpy.from_dlpack(source)


@pytest.fixture(scope="module")
def program() -> Executable:
    return rx.compile(rx.Module.parse(PROGRAM))


def set_hook(monkeypatch: pytest.MonkeyPatch, function: Callable[[], None]) -> None:
    monkeypatch.setitem(globals(), "_hook", function)


def counts(profile: Profile) -> dict[str, int]:
    return {each.nodes[0]: each.calls for each in profile.kernels}


def require_consistent(profile: Profile) -> None:
    shares = [each.share for each in profile.kernels]
    assert min([*shares, profile.between_share]) >= 0
    assert sum(shares) <= 1 + 1e-9
    assert sum(shares) + profile.between_share == pytest.approx(1)
    assert profile.between_seconds > 0
    seconds = [each.seconds for each in profile.kernels]
    assert seconds == sorted(seconds, reverse=True)
    assert sum(seconds) + profile.between_seconds == pytest.approx(profile.profiled_seconds)


def test_calls_in_loops_branches_and_functions(program: Executable) -> None:
    for loops in (0, 1, 7):
        profile = program.profile("loops", ONES, loops, True, repeat=5, warmup=0)
        assert counts(profile) == {"inner": 2, "in loop": loops, "taken": 1, "not taken": 0}
        assert len(profile.kernels) == 4, f"not one for each call: {profile.kernels}"
        require_consistent(profile)
    profile = program.profile("loops", ONES, 3, False, repeat=1, warmup=0)
    assert counts(profile) == {"inner": 2, "in loop": 3, "taken": 0, "not taken": 1}
    assert (profile.function, profile.repeat) == ("loops", 1)


def test_numbers_that_runs_become() -> None:
    """Ignore the slowest and the fastest quarter of the runs, except for the spread."""
    timed = [0.5, 0.1, 0.2, 0.3, 0.25, 9.0, 0.28, 0.26]
    seconds = [[0.02, 0.01, 0.05, 0.06, 0.03, 8.0, 0.04, 0.02], [0.3, 0.05, 0.09, 0.1, 0.08, 0.9, 0.12, 0.11]]
    calls = [[1, 1, 1, 2, 2, 7, 3, 3], [4] * 8]
    counts = [[(calls[site][run], round(seconds[site][run] * 1e9)) for site in (0, 1)] for run in range(len(timed))]
    sites = [Site(0, name, (), (), (f"relax.{name}",), f"relax.{name}", (), (), 64) for name in ("small", "large")]
    plain = [each / 2 for each in timed]
    profile = _summary("main", sites, plain, timed, counts)
    kept = [3, 4, 6, 7]
    large, small = profile.kernels
    assert (large.kernel, small.kernel, small.main_operator, small.bytes) == ("large", "small", "relax.small", 64)
    for kernel, every in ((small, seconds[0]), (large, seconds[1])):
        assert kernel.seconds == pytest.approx(numpy.mean([every[run] for run in kept]))
        assert (kernel.fastest_seconds, kernel.slowest_seconds) == pytest.approx((min(every), max(every)))
        assert kernel.share == pytest.approx(kernel.seconds / profile.profiled_seconds)
    assert (small.calls, large.calls, profile.repeat) == (3, 4, 8)
    assert profile.profiled_seconds == pytest.approx(trim_mean(timed, 0.25))
    assert profile.unprofiled_seconds == pytest.approx(trim_mean(plain, 0.25))
    require_consistent(profile)


def test_a_mean_lies_within_its_spread() -> None:
    """Keep the mean within its spread, also for equal times: sums are rounded, and a third of three times differs."""
    site = Site(0, "small", (), (), ("relax.small",), "relax.small", (), (), 64)
    for nanoseconds in range(1, 300):
        for repeat in (3, 5, 20):
            counts = [[(1, nanoseconds)]] * repeat
            (kernel,) = _summary("main", [site], [1.0] * repeat, [1.0] * repeat, counts).kernels
            assert kernel.fastest_seconds <= kernel.seconds <= kernel.slowest_seconds, (nanoseconds, repeat)


def test_profiles_describe_kernels(program: Executable) -> None:
    rows = {each.nodes[0]: each for each in program.profile("loops", ONES, 2, True, repeat=1).kernels}
    inner = rows["inner"]
    assert inner.kernel == "cumsum"
    assert (inner.operators, inner.main_operator) == (("relax.cumsum",), "relax.cumsum")
    assert (inner.nodes, inner.node_operators) == (("inner",), ("onnx.CumSum",))
    assert (inner.inputs, inner.outputs, inner.bytes) == (("f32[4]",), ("f32[4]",), 32)
    assert rows["taken"].node_operators == ()
    vectors = rx.find_backend("llvm").machine(parse_target("llvm")).vector_engine
    assert (inner.engine, rows["taken"].engine) == ("scalar", vectors)
    after, hooked = sorted(program.profile("packed", ONES, repeat=1).kernels, key=lambda each: each.kernel)
    assert (after.kernel, hooked.kernel) == ("cumsum", "test_profile.hook")
    assert (hooked.main_operator, hooked.engine) == ("relax.call_dps_packed", "")


def test_times_are_where_they_are_spent(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    set_hook(monkeypatch, lambda: time.sleep(0.02))
    profile = program.profile("packed", ONES, repeat=3)
    require_consistent(profile)
    hook = next(each for each in profile.kernels if each.kernel == "test_profile.hook")
    assert hook.seconds >= 0.02 and hook.share == hook.seconds / profile.profiled_seconds
    assert {each.operator: each.seconds for each in profile.by_operator()}["relax.call_dps_packed"] == hook.seconds


def test_one_kernel_at_several_places(program: Executable) -> None:
    text = f"""func.func @main(%x: {V}) -> {V} {{
      %0 = "relax.cumsum"(%x) {{axis = 0}} : ({V}) -> {V} loc("first")
      %1 = "relax.cumsum"(%0) {{axis = 0}} : ({V}) -> {V} loc("second")
      return %1 : {V}
    }}"""
    profile = rx.compile(rx.Module.parse(text)).profile("main", ONES, repeat=1)
    assert counts(profile) == {"first": 1, "second": 1}
    assert {each.kernel for each in profile.kernels} == {"cumsum"}
    (operator,) = profile.by_operator()
    assert (operator.operator, operator.kernels, operator.calls) == ("relax.cumsum", 2, 2)
    assert operator.share == pytest.approx(1 - profile.between_share)


def test_symbolic_sizes() -> None:
    n = 'tensor<?x4xf32, #relax.sym<["n", 4]>>'
    text = f'func.func @main(%x: {n}) -> {n} {{\n%0 = "relax.exp"(%x) : ({n}) -> {n}\nreturn %0 : {n}\n}}'
    (row,) = rx.compile(rx.Module.parse(text)).profile("main", numpy.ones((3, 4), "float32"), repeat=1).kernels
    assert (row.inputs, row.bytes) == (("f32[n,4]",), None)


@pytest.mark.parametrize("opt_level", [0, 3])
def test_results_are_the_same(opt_level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = rx.compile(rx.Module.parse(PROGRAM), opt_level=opt_level)
    x = numpy.random.default_rng(0).normal(size=4).astype("float32")
    seen: list[Any] = []
    call = lambda: seen.append(array(executable["loops"](x, 3, True)))  # noqa: E731
    call()
    find = executable._module.get_function
    profile_calls(parse_signature(executable.signature("loops")), call, find, repeat=3, warmup=0)
    assert len(seen) == 7
    assert all((each == seen[0]).all() for each in seen)


def test_functions_without_kernels(program: Executable) -> None:
    profile = program.profile("nothing", ONES, repeat=2)
    assert (profile.kernels, profile.between_share) == ((), 1.0)
    assert "between kernels" in str(profile)
    plain = rx.compile(rx.Module.parse(f"func.func @f(%x: {V}) -> {V} {{\nreturn %x : {V}\n}}"))
    assert plain.profile("f", ONES).kernels == ()


def test_after_an_exception(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn the clocks off after an exception, so that the next profile is right."""
    calls = []

    def fail() -> None:
        calls.append(1)
        if len(calls) == 4:  # the second one with clocks
            raise KeyError("of the hook")

    set_hook(monkeypatch, fail)
    with pytest.raises(KeyError, match="of the hook"):
        program.profile("packed", ONES, repeat=5, warmup=0)
    assert len(calls) == 4
    before = numbers(program)
    program["packed"](ONES)
    assert numbers(program) == before
    assert counts(program.profile("packed", ONES, repeat=1)) == {"hook": 1, "after": 1}


def numbers(program: Executable) -> bytes:
    """Return the last measurements of the clocks."""
    import ctypes

    return ctypes.string_at(program._module.get_function(SWITCH)(0), 8 * 13)


def test_other_threads_are_not_counted(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    profiled = threading.get_ident()

    def elsewhere() -> None:
        """Another thread's whole call while the profiled one is in its kernel."""
        if threading.get_ident() == profiled:
            thread = threading.Thread(target=program["packed"], args=(ONES,))
            thread.start()
            thread.join()

    set_hook(monkeypatch, elsewhere)
    assert counts(program.profile("packed", ONES, repeat=3)) == {"hook": 1, "after": 1}


def test_one_profile_at_a_time(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    def another() -> None:
        program.profile("loops", ONES, 1, True)

    set_hook(monkeypatch, another)
    with pytest.raises(RuntimeError, match="'loops' cannot be profiled: a profile of this program is under way"):
        program.profile("packed", ONES)


def test_calls_within_calls(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count calls inside of a kernel once, as part of that kernel."""
    depth: list[int] = []

    def again() -> None:
        time.sleep(0.01)
        if not depth:
            depth.append(1)
            program["packed"](ONES)
            depth.pop()

    set_hook(monkeypatch, again)
    profile = program.profile("packed", ONES, repeat=1)
    assert counts(profile) == {"hook": 2, "after": 2}
    assert 0.02 <= sum(each.seconds for each in profile.kernels) <= profile.profiled_seconds


def test_saved_and_loaded(program: Executable, tmp_path: Path) -> None:
    program.save(tmp_path / "p.rxa")
    loaded = rx.runtime.load(tmp_path / "p.rxa")
    expected, found = (each.profile("loops", ONES, 4, True, repeat=1) for each in (program, loaded))
    measured = dict.fromkeys(("seconds", "share", "fastest_seconds", "slowest_seconds"), 0.0)
    unmeasured = lambda profile: {row.nodes: dataclasses.replace(row, **measured) for row in profile.kernels}  # noqa: E731
    assert unmeasured(found) == unmeasured(expected)


def test_profiles_can_be_stored_as_json(program: Executable) -> None:
    profile = program.profile("loops", ONES, 4, True, repeat=2)
    data = json.loads(json.dumps(profile.to_dict()))
    assert data["function"] == "loops"
    assert {row["nodes"][0]: row["calls"] for row in data["kernels"]} == counts(profile)
    assert {row["operator"] for row in data["operators"]} == {
        f"relax.{name}" for name in ("cumsum", "sort", "exp", "tanh")
    }


def test_bad_requests(program: Executable) -> None:
    with pytest.raises(LookupError, match="did you mean 'loops'"):
        program.profile("loop", ONES)
    with pytest.raises(ValueError, match="repeat=0"):
        program.profile("loops", ONES, 1, True, repeat=0)
    with pytest.raises(TypeError):
        program.profile("loops", ONES)
    old = dataclasses.replace(program._artifact, entries=({"name": "nothing", "inputs": [], "outputs": []},))
    with pytest.raises(ArtifactError, match="'nothing' cannot be profiled: its program was compiled without clocks"):
        Executable(old).profile("nothing", ONES)


def test_tables(program: Executable) -> None:
    """Shorten tables to a width, which numbers and a minimum of each name may exceed."""
    profile = program.profile("loops", ONES, 4, True, repeat=1)
    long = tuple(f"/model/layers.{index}/" + "x" * 200 + "end" for index in range(3))
    kernels = (dataclasses.replace(profile.kernels[0], nodes=long, kernel="k" * 70), *profile.kernels[1:])
    profile = dataclasses.replace(profile, kernels=kernels)
    assert ", ".join(long) in str(profile)
    text = profile_text(profile, 80)
    lines = text.splitlines()
    table = lines[: lines.index("")]
    assert max(map(len, table)) <= 80
    assert table[0].split() == ["share", "us", "calls", "engine", "kernel", "nodes"]
    unknown = [dataclasses.replace(kernel, engine="") for kernel in kernels]
    assert " engine " not in str(dataclasses.replace(profile, kernels=tuple(unknown)))
    assert "xend +2" in table[1]
    assert "k..." in table[1]
    assert "between kernels: checks" in table[-3]
    assert table[-2].split()[:2] == ["100.0", "%"]
    assert table[-2].endswith("total")
    assert table[-1] == "not called: 1 more kernel"
    assert lines[-1].startswith("a call takes ")
