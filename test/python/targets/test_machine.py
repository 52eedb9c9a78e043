# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine that plans are made for: one description, whether code is for this CPU or for another."""

from __future__ import annotations

from typing import Any

import pytest
from compiling import module_with
from relax_mlir.targets.core.backend import Machine
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


def machine(target: str) -> Machine:
    chosen = parse_target(target)
    return rx.find_backend(chosen.name).machine(chosen)


def plans(target: str) -> list[str]:
    inputs = [rx.tensor((60, 64)), rx.tensor((64, 90)), rx.tensor((90,))]
    module = module_with(inputs, lambda x, w, b: relax.nn.softmax(relax.nn.relu(relax.add(relax.matmul(x, w), b))))
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("plan")))
    return [line.partition('tir.plan = "')[2].partition('"')[0] for line in text.splitlines() if "tir.plan" in line]


@pytest.mark.parametrize("host", HOSTS)
def test_code_for_another_cpu_is_planned_as_on_it(host: str, monkeypatch: Any) -> None:
    elsewhere, crossed = machine(CROSS[host]), plans(CROSS[host])
    be(host, monkeypatch)
    here = machine("llvm")
    assert (here.architecture, here.vector_bytes, here.registers) == (
        elsewhere.architecture,
        elsewhere.vector_bytes,
        elsewhere.registers,
    )
    assert here.registers == REGISTERS.get(host, 16)
    assert plans("llvm") == crossed and any("rule matmul" in each for each in crossed)


def test_more_registers_hold_more_rows() -> None:
    neon, sse = (plans(CROSS[host]) for host in ("aarch64", "x86_64"))
    assert [each for each in neon if "x 4; tile 1: 4, 0: 6" in each]
    assert [each for each in sse if "x 4; tile 1: 4, 0: 3" in each]


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
