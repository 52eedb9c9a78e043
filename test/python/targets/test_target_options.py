# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets with options: their effect on the stages, and refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest
from relax_mlir.runtime.cpu import host_features, host_triple
from relax_mlir.targets.core.backend import ChosenTarget
from relax_mlir.targets.core.registry import options_of, parse_target
from relax_mlir.targets.llvm.objects.code_target import CodeTarget, code_target
from relax_mlir.targets.llvm.objects.cpus import architectures

import relax_mlir as rx
from relax_mlir import relax

ON_X86 = "llvm{triple=x86_64-linux-gnu "


def chosen(text: str) -> CodeTarget:
    return code_target(parse_target(text))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("llvm", {}),
        ("llvm{}", {}),
        (" llvm {cpu=haswell} ", {"cpu": "haswell"}),
        ("llvm{features=+avx2,-fma cpu=x86-64-v2}", {"cpu": "x86-64-v2", "features": "+avx2,-fma"}),
        ("llvm{vector_bytes=16}", {"vector-bytes": "16"}),
        ('llvm{cpu="haswell"}', {"cpu": "haswell"}),
    ],
)
def test_options(text: str, options: dict[str, str]) -> None:
    target = parse_target(text)
    assert (target.name, dict(target.options)) == ("llvm", options)
    assert parse_target(str(target)) == target
    assert target.option("triple") == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lvm{cpu=haswell}", "unknown target 'lvm'; did you mean 'llvm'?"),
        (
            "llvm{cpus=haswell}",
            "target 'llvm' has no option 'cpus'; did you mean 'cpu'? (it has cpu, features, triple,",
        ),
        ("llvm{cpus=haswell}", "note: vector-bytes: bytes of the vectors"),
        ("default{cpu=haswell}", "target 'default' has no option 'cpu' (it has none)"),
        ("llvm{cpu=haswell", "expected '}' at the end"),
        ("llvm{cpu}", "option 'cpu' needs a value"),
        ("llvm{cpu=}", "option 'cpu' needs a value"),
        ("llvm{cpu=haswell cpu=znver4}", "option 'cpu' is given twice"),
        ('llvm{cpu="haswell}', "unbalanced quote"),
        (ON_X86 + "cpu=hasswell}", "x86_64 has no CPU 'hasswell'; did you mean 'haswell'?"),
        (ON_X86 + "cpu=hasswell}", "note: known: generic, alderlake"),
        (ON_X86 + "cpu=cortex-a72}", "x86_64 has no CPU 'cortex-a72'"),
        (ON_X86 + "cpu=i686}", "x86_64 has no CPU 'i686'"),
        (ON_X86 + "features=avx2}", "feature 'avx2': expected +avx2 or -avx2"),
        (ON_X86 + "features=+avx22}", "x86_64 has no feature 'avx22'; did you mean 'avx2'?"),
        (ON_X86 + "features=-sse2}", "feature 'sse2': code for x86_64 on Linux is never made without it"),
        (ON_X86 + "features=+64bit-mode}", "x86_64 has no feature '64bit-mode'"),
        (ON_X86 + "vector-bytes=24}", "vector-bytes=24: expected one of 8, 16, 32, 64, 128, 256"),
        ("llvm{winograd=3}", "target 'llvm{winograd=3}': winograd=3: expected one of 0, 2, 4"),
        ("llvm{triple=aarch64-apple-darwin}", "expected one of x86_64-linux-gnu, aarch64-linux-gnu, riscv64-linux-gnu"),
        ("llvm{triple=aarch64-linux-android}", "expected one of"),
        ("llvm{triple=arm64-linux-gnu}", "no code can be made for architecture 'arm64'; did you mean 'aarch64'?"),
        ("llvm{triple=riscv64-linux-gnu features=+v,+zvl512b}", "no system says how long vectors are"),
    ],
)
def test_wrong_target_options_are_refused(text: str, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(rx.RelaxError, match=re.escape(reason)):
        rx.stages(text)
    assert capfd.readouterr().err == ""


def test_a_target_is_text() -> None:
    with pytest.raises(rx.RelaxError, match=r"a target is text like 'llvm' or .*, got int"):
        rx.stages(3)  # type: ignore[arg-type]


def test_the_plain_name_is_this_machine() -> None:
    target = chosen("llvm")
    assert target.is_host
    assert (target.triple, target.enabled, target.vector_bytes) == (host_triple(), host_features(), 0)
    assert chosen("llvm{vector-bytes=16}").is_host


@pytest.mark.parametrize(
    ("text", "vector_bytes"),
    [
        (ON_X86 + "cpu=generic}", 16),
        (ON_X86 + "cpu=x86-64-v2}", 16),
        (ON_X86 + "cpu=haswell}", 32),
        (ON_X86 + "cpu=skylake-avx512}", 64),
        (ON_X86 + "cpu=skylake-avx512 features=-avx512f}", 32),
        (ON_X86 + "cpu=skylake-avx512 features=-avx}", 16),
        (ON_X86 + "cpu=x86-64-v2 features=+avx512vnni}", 64),
        (ON_X86 + "cpu=skylake-avx512 vector-bytes=32}", 32),
        (ON_X86 + "cpu=sapphirerapids}", 64),
        (ON_X86 + "cpu=sapphirerapids vector-bytes=32}", 32),
        ("llvm{triple=aarch64-linux-gnu}", 16),
        ("llvm{triple=aarch64-linux-gnu cpu=neoverse-v1}", 16),
        ("llvm{triple=riscv64-linux-gnu}", 8),
        ("llvm{triple=riscv64-linux-gnu features=+v}", 32),
        ("llvm{triple=riscv64-linux-gnu cpu=sifive-x280}", 32),
    ],
)
def test_vectors_follow_the_cpu(text: str, vector_bytes: int) -> None:
    target = parse_target(text)
    machine = rx.find_backend(target.name).machine(target)
    assert machine.vector_bytes == vector_bytes
    options = str(target).removeprefix("llvm")
    for stage, plain in zip(rx.stages(text), rx.stages("llvm"), strict=True):
        takes_target = stage.name in ("layouts", "legalize", "plan", "apply")
        expected = [
            each.replace("@target", f"@target{options}") if takes_target else each for each in map(str, plain.passes)
        ]
        if stage.name == "integers":
            has_bytes = any(dot.total == "i32" for dot in machine.dots)
            expected = ["relax-propagate-quantization" + ("" if has_bytes else "{products=false}")]
        # Only machines for which the target has tuned kernels look for them.
        expected = [each for each in expected if each != "llvm-load-tiles" and not each.startswith("tir-use-tuned")]
        if stage.name == "to-llvm" and any(dot.rows > 1 for dot in machine.dots):
            expected.append("llvm-load-tiles")
        assert [each for each in map(str, stage.passes) if not each.startswith("tir-use-tuned")] == expected


def test_features_bring_others_along() -> None:
    v3 = chosen(ON_X86 + "cpu=x86-64-v3}")
    assert {"avx", "avx2", "fma", "f16c", "sse4.2", "sse2"} <= v3.enabled and "avx512f" not in v3.enabled
    assert {"avx2", "fma", "bmi", "lzcnt"} <= set(v3.required) and "x87" not in v3.required
    without = chosen(ON_X86 + "cpu=x86-64-v3 features=-avx}")
    assert not {"avx", "avx2", "fma", "f16c"} & without.enabled and "sse4.2" in without.enabled
    assert set(without.feature_text.split(",")) == {"-avx", "-avx2", "-fma", "-f16c"}
    assert chosen(ON_X86 + "cpu=x86-64-v3 features=+avx2}") == v3


def test_the_order_of_features_counts() -> None:
    assert "avx2" in chosen(ON_X86 + "features=-avx,+avx2}").enabled
    assert "avx2" not in chosen(ON_X86 + "features=+avx2,-avx}").enabled


def test_features_alone_change_this_machine() -> None:
    if host_triple().partition("-")[0] not in architectures() or not host_features():
        pytest.skip("this machine's features are not known")
    name = {"x86_64": "sse4.1", "aarch64": "crc", "riscv64": "zba"}[host_triple().partition("-")[0]]
    target = chosen(f"llvm{{features=-{name}}}")
    assert not target.is_host and name not in target.required
    assert set(target.required) <= host_features()


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "riscv64"])
def test_every_cpu_has_the_baseline(architecture: str) -> None:
    known = architectures()[architecture]
    assert len(known.cpus) > 15 and known.baseline <= set(known.features)
    for cpu in known.cpus:
        enabled = known.features_of(cpu)
        assert known.baseline <= enabled <= set(known.features)
        assert known.with_implied(enabled) <= enabled


def test_children_take_their_parents_options() -> None:
    rx.register_target(rx.Target("options-child", parents=("llvm",)))
    names = [option.name for option in options_of("options-child")]
    assert names == [option.name for option in options_of("llvm")] and {"cpu", "cores", "bounds"} <= set(names)
    stages = rx.stages("options-child{vector-bytes=16}")
    assert "tir-plan{target=@target{vector-bytes=16}}" in map(str, stages["plan"].passes)
    assert parse_target("options-child{cpu=generic}") == ChosenTarget("options-child", (("cpu", "generic"),))


def small() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 64))]) as f:
        f.returns(relax.exp(*f))
    return module


def vectors(module: Any) -> set[str]:
    return set(re.findall(r"vector<(\d+)xf32>", str(module)))


@pytest.mark.parametrize("target", ["llvm{vector-bytes=16}", '"llvm{vector-bytes=16}"', "{llvm{vector-bytes=16}}"])
def test_the_lowering_pass_takes_target_options(target: str) -> None:
    module = small()
    pipeline = rx.Pipeline(f"relax-lower{{target={target} stop=apply}}")
    rx.Pipeline(str(pipeline)).run(module)
    assert vectors(module) == {"4"}
    with pytest.raises(rx.RelaxError, match="has no option 'vectors'"):
        rx.Pipeline("relax-lower{target=llvm{vectors=16}}")


def test_stages_are_for_their_options() -> None:
    with pytest.raises(rx.RelaxError, match=r"the stages are for target 'llvm', not for 'llvm\{vector-bytes=16\}'"):
        rx.compile(small(), "llvm{vector-bytes=16}", pipeline=rx.stages("llvm"))
    stages = rx.stages("llvm{vector-bytes=16}").until("apply")
    assert vectors(rx.lower(small(), "llvm{vector-bytes=16}", pipeline=stages)) == {"4"}
