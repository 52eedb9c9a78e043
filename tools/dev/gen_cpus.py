# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes targets/llvm/cpus.json: LLVM's CPUs and their features, which its API does not tell.

LLVM inlines a function only into one whose CPU has all that its own may use: so a caller for the CPU in question, and
a callee for each feature, tell the features by the calls that are gone. Some CPUs and features make LLVM end the
process (a 32-bit CPU where the code has 64 bits): they are left out, hence the processes of their own.
Usage: python tools/dev/gen_cpus.py [--check]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

OUTPUT = Path(__file__).parents[2] / "targets" / "llvm" / "cpus.json"

#: Architecture -> the CPU and features that all that runs Linux there has.
BASELINES = {
    "x86_64": ("x86-64", ""),
    "aarch64": ("generic", ""),
    "riscv64": ("generic-rv64", "+m,+a,+f,+d,+c"),
}


def machine(architecture: str, cpu: str, features: str = "") -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"{architecture}-unknown-linux-gnu")
    return target.create_target_machine(cpu=cpu, features=features)


def named_by_llvm(architecture: str) -> tuple[list[str], list[str]]:
    """The names of CPUs and features, as LLVM prints them in its help."""
    done = subprocess.run([sys.executable, __file__, "--help-of", architecture], stderr=subprocess.PIPE, check=True)
    cpus, features = done.stderr.decode().split("Available features", 1)
    pattern = re.compile(r"^  (\S+) +- ", re.MULTILINE)
    return sorted(set(pattern.findall(cpus))), sorted(set(pattern.findall(features)))


def question(subject: tuple[str, str], features: Sequence[str], baseline: tuple[str, str]) -> str:
    """LLVM IR whose calls stay where the subject lacks a feature."""
    base_cpu, base_features = baseline
    callees = "".join(
        f"define internal void @callee{index}(ptr %p) #{index} {{\n"
        "  store volatile i8 0, ptr %p\n  store volatile i8 0, ptr %p\n  ret void\n}\n"
        f'attributes #{index} = {{ "target-cpu"="{base_cpu}" '
        f'"target-features"="{",".join(filter(None, [base_features, "+" + name]))}" }}\n'
        for index, name in enumerate(features)
    )
    calls = "".join(f"  call void @callee{index}(ptr %p)\n" for index in range(len(features)))
    attributes = f'attributes #99999 = {{ "target-cpu"="{subject[0]}" "target-features"="{subject[1]}" }}\n'
    return f"{callees}define void @caller(ptr %p) #99999 {{\n{calls}  ret void\n}}\n{attributes}"


def answer(architecture: str, subject: tuple[str, str], features: Sequence[str]) -> list[str]:
    """The features of a CPU with some more or fewer."""
    target_machine = machine(architecture, *BASELINES[architecture])
    module = llvm.parse_assembly(question(subject, features, BASELINES[architecture]))
    module.triple = f"{architecture}-unknown-linux-gnu"
    builder = llvm.create_pass_builder(target_machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    target_machine.emit_object(module)  # what the code generator refuses is refused here
    left = {int(number) for number in re.findall(r"call [^\n]*@callee(\d+)", str(module))}
    return [name for index, name in enumerate(features) if index not in left]


def answers(
    architecture: str, subjects: Iterable[tuple[str, str]], features: Sequence[str]
) -> dict[tuple[str, str], list[str]]:
    """The answer for each subject that LLVM bears."""
    pending, found = list(subjects), {}
    while pending:
        asked = json.dumps([architecture, pending, list(features)])
        done = subprocess.run([sys.executable, __file__, "--answer"], input=asked, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        found.update(
            {
                subject: json.loads(line)
                for subject, line in zip(pending, lines, strict=False)
                if f"'{subject[1]}' is not a recognized" not in done.stderr
            }
        )
        # The one after the last answer is what ended the process.
        pending = pending[len(lines) + 1 :]
    return found


def usable_features(architecture: str, names: Sequence[str]) -> list[str]:
    """The features that may be added to the baseline and taken away."""
    cpu, base = BASELINES[architecture]
    signed = [(cpu, ",".join(filter(None, [base, sign + name]))) for name in names for sign in "+-"]
    borne = answers(architecture, signed, [])
    return [name for plus, minus, name in zip(signed[::2], signed[1::2], names, strict=True) if {plus, minus} <= {*borne}]


def describe(architecture: str) -> dict[str, Any]:
    """Features with what each brings along, CPUs with what they have; both without what follows from the rest."""
    cpu_names, names = named_by_llvm(architecture)
    features = usable_features(architecture, names)
    base_cpu, base = BASELINES[architecture]
    with_feature = {name: (base_cpu, ",".join(filter(None, [base, "+" + name]))) for name in features}
    cpus = {name: (name, "") for name in cpu_names}
    found = answers(architecture, [(base_cpu, base), *with_feature.values(), *cpus.values()], features)
    # Tuning flags are in every answer, as inlining does not ask for them.
    baseline = set(found[base_cpu, base])
    implied = {
        name: set(found[subject]) - {name} - (baseline - {name}) for name, subject in with_feature.items() if subject in found
    }
    return {
        "baseline": " ".join(sorted(baseline & real(architecture, features, baseline))),
        "features": {name: " ".join(essential(implied[name], implied)) for name in features},
        "cpus": {
            name: " ".join(essential(set(found[subject]) - (baseline - real(architecture, features, baseline)), implied))
            for name, subject in cpus.items()
            if subject in found
        },
    }


def real(architecture: str, features: Sequence[str], baseline: set[str]) -> set[str]:
    """The features of the baseline that can be missing: no tuning flags, which nobody asks for."""
    cpu, base = BASELINES[architecture]
    without = {name: (cpu, ",".join(filter(None, [base, "-" + name]))) for name in baseline}
    found = answers(architecture, without.values(), features)
    return {name for name, subject in without.items() if name not in found.get(subject, [])}


def essential(features: set[str], implied: dict[str, set[str]]) -> list[str]:
    """The features that no other of them brings along."""
    brought = {
        other
        for name in features
        for other in implied[name] & features
        if name not in implied[other] or name < other  # two that bring each other: one stays
    }
    return sorted(features - brought)


def inventory() -> dict[str, Any]:
    version = ".".join(map(str, llvm.llvm_version_info))
    return {"llvm": version, **{architecture: describe(architecture) for architecture in BASELINES}}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write targets/llvm/cpus.json.")
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if it is not current")
    parser.add_argument("--help-of", help=argparse.SUPPRESS)
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.help_of:
        machine(args.help_of, "help")
        return 0
    if args.answer:
        architecture, subjects, features = json.load(sys.stdin)
        for cpu, added in subjects:
            print(json.dumps(answer(architecture, (cpu, added), features)), flush=True)
        return 0
    text = json.dumps(inventory(), indent=1) + "\n"
    if not args.check:
        OUTPUT.write_text(text, encoding="utf-8")
        return 0
    if OUTPUT.read_text(encoding="utf-8") == text:
        return 0
    print(f"{OUTPUT.name} is not current: run python tools/dev/gen_cpus.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
