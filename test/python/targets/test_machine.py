# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine description for plans: the same for this CPU and for another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from compiling import module_with
from relax_mlir.runtime.cpu import caches_of, host_caches, host_cores, host_features, host_triple
from relax_mlir.targets.core.machine import ORDINARY_CACHES, ORDINARY_CORES, Machine
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.llvm.objects import code_target

import relax_mlir as rx
from relax_mlir import relax

HOSTS = {
    "x86_64": {"sse2"},
    "x86_64 avx2": {"sse2", "avx2", "fma"},
    "x86_64 avx512": {"sse2", "avx2", "avx512f"},
    "aarch64": {"neon", "fp-armv8"},
    "riscv64": {"m", "a", "f", "d", "c"},
    "riscv64 v": {"m", "a", "f", "d", "c", "v"},
}
CROSS = {
    "x86_64": "llvm{triple=x86_64-linux-gnu cpu=generic}",
    "x86_64 avx2": "llvm{triple=x86_64-linux-gnu cpu=haswell}",
    "x86_64 avx512": "llvm{triple=x86_64-linux-gnu cpu=skylake-avx512}",
    "aarch64": "llvm{triple=aarch64-linux-gnu}",
    "riscv64": "llvm{triple=riscv64-linux-gnu}",
    "riscv64 v": "llvm{triple=riscv64-linux-gnu features=+v}",
}
REGISTERS = {"x86_64 avx512": 32, "aarch64": 32}


def be(host: str, monkeypatch: Any) -> None:
    """From here on this machine is another one."""
    architecture = host.partition(" ")[0]
    monkeypatch.setattr(code_target, "host_triple", lambda: f"{architecture}-unknown-linux-gnu")
    monkeypatch.setattr(code_target, "host_features", lambda: frozenset(HOSTS[host]))
    monkeypatch.setattr(code_target, "host_caches", tuple)  # it does not tell


def machine(target: str) -> Machine:
    chosen = parse_target(target)
    return rx.find_backend(chosen.name).machine(chosen)


def plans(target: str) -> list[str]:
    inputs = [rx.tensor((60, 64)), rx.tensor((64, 90)), rx.tensor((90,))]
    module = module_with(inputs, lambda x, w, b: relax.nn.softmax(relax.nn.relu(relax.add(relax.matmul(x, w), b))))
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))
    return [line.partition('tir.plan = "')[2].partition('"')[0] for line in text.splitlines() if "tir.plan" in line]


@pytest.mark.parametrize("host", HOSTS)
def test_cross_compiled_plans_equal_native_plans(host: str, monkeypatch: Any) -> None:
    elsewhere, crossed = machine(CROSS[host]), plans(CROSS[host])
    be(host, monkeypatch)
    here = machine("llvm")
    assert (here.architecture, here.vector_bytes, here.registers) == (
        elsewhere.architecture,
        elsewhere.vector_bytes,
        elsewhere.registers,
    )
    assert here.registers == REGISTERS.get(host, 16)
    assert plans(f"llvm{{cores={ORDINARY_CORES}}}") == crossed and any("rule matmul" in each for each in crossed)


def test_code_for_another_cpu_shares_loops_by_default() -> None:
    x, w = numpy.random.default_rng(0).standard_normal((2, 256, 256), numpy.float32)
    module = module_with([rx.tensor(x.shape), rx.tensor(w.shape)], relax.matmul)
    default, serial = "llvm{cpu=x86-64-v3}", "llvm{cpu=x86-64-v3 cores=1}"
    shared = {target: "@__relax_parallel" in str(rx.lower(module, target)) for target in (default, serial)}
    assert shared == {default: True, serial: False}
    if host_triple().startswith("x86_64") and machine(default).features <= host_features():
        results = [rx.compile(module, target)["main"](x, w) for target in (default, serial)]
        numpy.testing.assert_array_equal(*results)
        numpy.testing.assert_allclose(results[0], x.astype("float64") @ w, rtol=1e-4, atol=1e-4)


def test_more_registers_hold_more_columns() -> None:
    neon, sse = (plans(CROSS[host]) for host in ("aarch64", "x86_64"))
    assert [each for each in neon if "x 4; tile 1: 4, 0: 6" in each]
    assert [each for each in sse if "x 4; tile 1: 2, 0: 6" in each]


def test_a_size_of_vectors_that_is_asked_for() -> None:
    assert machine("llvm{triple=aarch64-linux-gnu vector-bytes=16}").registers == 32
    wide = machine("llvm{triple=x86_64-linux-gnu cpu=haswell vector-bytes=64}")
    assert (wide.vector_bytes, wide.registers, wide.lanes(32), wide.lanes(8)) == (64, 32, 16, 64)
    assert machine("llvm{vector-bytes=8}").lanes(128) == 1


def test_features_are_those_of_the_cpu(monkeypatch: Any) -> None:
    assert {"avx2", "fma"} <= machine(CROSS["x86_64 avx2"]).features
    be("aarch64", monkeypatch)
    assert machine("llvm").features == HOSTS["aarch64"]


def test_a_target_without_code_is_no_machine() -> None:
    with pytest.raises(rx.RelaxError, match="target 'default' has no code generator"):
        machine("default")


def described(folder: Path, *caches: tuple[str, str, str]) -> tuple[int, ...]:
    """Return the caches that Linux describes: level, type, size. An empty text is a missing file."""
    for index, texts in enumerate(caches):
        place = folder / f"index{index}"
        place.mkdir(parents=True)
        for name, text in zip(("level", "type", "size"), texts, strict=True):
            if text:
                (place / name).write_text(f"{text}\n")
    return caches_of(str(folder))


L1, L1I, L2, L3 = (
    ("1", "Data", "48K"),
    ("1", "Instruction", "32K"),
    ("2", "Unified", "2048K"),
    ("3", "Unified", "64M"),
)
KIB = 1024


@pytest.mark.parametrize(
    ("caches", "expected"),
    [
        ((L1, L1I, L2, L3), (48 * KIB, 2048 * KIB, 65536 * KIB)),
        ((L3, L2, L1), (48 * KIB, 2048 * KIB, 65536 * KIB)),
        ((L1,), (48 * KIB,)),
        ((L1, L3), (48 * KIB,)),  # a cache after an unknown level is not the second level
        ((L2, L3), ()),
        ((L1I,), ()),
        ((("1", "Data", ""), L2), ()),  # an old kernel on Arm
        ((("", "Data", "32K"), ("1", "", "32K"), ("1", "Data", "a lot"), ("1", "Data", "0K")), ()),
        ((), ()),
    ],
)
def test_cache_sizes_are_read_from_linux(caches: Any, expected: Any, tmp_path: Path) -> None:
    assert described(tmp_path / "cache", *caches) == expected


def test_the_host_has_the_systems_caches_and_cores(monkeypatch: Any) -> None:
    here = machine("llvm")
    assert (here.caches, here.cores) == (host_caches() or ORDINARY_CACHES, host_cores())
    assert here.cores >= 1 and all(size > 0 for size in here.caches)
    assert machine("llvm{vector-bytes=16}").caches == here.caches
    monkeypatch.setattr(code_target, "host_caches", tuple)
    assert machine("llvm").caches == ORDINARY_CACHES


def test_other_machines_do_not_have_the_hosts_caches_and_cores(monkeypatch: Any) -> None:
    monkeypatch.setattr(code_target, "host_caches", lambda: (1,))
    monkeypatch.setattr(code_target, "host_cores", lambda: 77)
    for target in CROSS.values():
        assert (machine(target).caches, machine(target).cores) == (ORDINARY_CACHES, ORDINARY_CORES)
    built = machine("llvm{cpu=haswell triple=x86_64-linux-gnu caches=48k,2M,36M cores=8}")
    assert (built.caches, built.cores, built.own_cache) == ((48 * KIB, 2048 * KIB, 36864 * KIB), 8, 2048 * KIB)
    assert (machine("llvm").caches, machine("llvm").cores) == ((1,), 77)
    assert (machine("llvm{caches=64K cores=3}").caches, machine("llvm{caches=64K cores=3}").cores) == ((64 * KIB,), 3)


@pytest.mark.parametrize("caches", ["x", "32K,", "0", "32K,-1", "1X", "32 K"])
def test_caches_that_are_none(caches: str) -> None:
    with pytest.raises(rx.RelaxError, match=r"caches=.*: expected sizes like 32K,1M, the innermost first"):
        rx.stages(f"llvm{{caches='{caches}'}}")


@pytest.mark.parametrize("cores", ["0", "-1", "many", "9999999999"])
def test_cores_that_are_none(cores: str) -> None:
    with pytest.raises(rx.RelaxError, match=r"cores=.*: expected how many there are, at least 1"):
        rx.stages(f"llvm{{cores={cores}}}")


def panels(*options: str) -> list[str]:
    module = module_with([rx.tensor((60, 4000)), rx.tensor((4000, 300))], relax.matmul)
    target = f"llvm{{triple=x86_64-linux-gnu {' '.join(options)}}}"
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))
    return [line.partition("; panel 1 along 2: ")[2].partition(";")[0] for line in text.splitlines() if "panel" in line]


def test_panels_have_room_in_a_cores_own_cache() -> None:
    assert panels("cpu=haswell") == panels("cpu=skylake-avx512") == panels("cpu=generic") == ["512"]
    assert panels("cpu=skylake-avx512", "caches=48K,2M,64M") == ["512"]
    assert panels("cpu=haswell", "caches=32K,256K") == ["512"]
    assert panels("cpu=skylake-avx512", "caches=32K,256K") == ["256"]
    assert panels("cpu=skylake-avx512", "caches=32K") == ["32"]
    assert panels("cpu=skylake-avx512", "caches=1") == ["32"]  # shorter panels would be overhead
    assert Machine("npu", frozenset(), 16, 8, ()).own_cache == 0
