# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write targets/llvm/objects/cpus.json: LLVM's CPUs and their features, which its API does not provide.

LLVM inlines a function only if the caller's CPU has all features that the callee may use. A caller for each CPU and a
callee for each feature therefore show the features by the calls that are inlined. Some CPUs and features make LLVM end
the process (a 32-bit CPU for 64-bit code). They are left out, and found in processes of their own. Usage: python
tools/dev/gen_cpus.py [--check]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import llvmlite.binding as llvm

OUTPUT = Path(__file__).parents[2] / "targets" / "llvm" / "objects" / "cpus.json"

#: Architecture -> the CPU and features of every machine that runs Linux on it, without scheduling flags that some CPUs
#: lack.
BASELINES = {
    "x86_64": ("x86-64", ""),
    "aarch64": ("generic", "-enable-select-opt,-ete,-fuse-adrp-add,-fuse-aes,-trbe,-use-postra-scheduler"),
    "riscv64": ("generic-rv64", "+m,+a,+f,+d,+c,-optimized-nf2-segment-load-store"),
}
#: These features change pointers or calls: the code would be incompatible with the rest of the process.
OTHER_ABIS = re.compile("(16bit|32bit|64bit)(-mode)?|soft-float|e|zfinx|zdinx|zhinx|zhinxmin|(experimental-)?rv.*u32")


def machine(architecture: str, cpu: str, features: str = "") -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"{architecture}-unknown-linux-gnu")
    return target.create_target_machine(cpu=cpu, features=features)


def named_by_llvm(architecture: str) -> tuple[list[str], list[str]]:
    """Return the names of CPUs and features in LLVM's help."""
    done = subprocess.run([sys.executable, __file__, "--help-of", architecture], stderr=subprocess.PIPE, check=True)
    cpus, features = done.stderr.decode().split("Available features", 1)
    pattern = re.compile(r"^  (\S+) +- ", re.MULTILINE)
    return sorted(set(pattern.findall(cpus))), sorted(set(pattern.findall(features)))


def adding(architecture: str, name: str) -> tuple[str, str]:
    """Return the baseline with a feature. A vector length also needs vectors."""
    cpu, base = BASELINES[architecture]
    return cpu, joined(base, "+v" if name.startswith("zvl") else "", "+" + name)


def question(architecture: str, subjects: Sequence[tuple[str, str]], features: Sequence[str]) -> str:
    """Return LLVM IR with a caller for each subject. A call remains if the subject lacks the feature."""
    lines = []
    for index, name in enumerate(features):
        body = "store volatile i8 0, ptr %p\n  store volatile i8 1, ptr %p"
        lines.append(f"define void @callee{index}(ptr %p) {attributes(*adding(architecture, name))} {{")
        lines.append(f"  {body}\n  ret void\n}}")
    calls = "".join(f"  call void @callee{index}(ptr %p)\n" for index in range(len(features)))
    for index, subject in enumerate(subjects):
        lines.append(f"define void @caller{index}(ptr %p) {attributes(*subject)} {{\n{calls}  ret void\n}}")
    return "\n".join(lines)


def attributes(cpu: str, features: str) -> str:
    return f'"target-cpu"="{cpu}" "target-features"="{features}"'


def joined(*features: str) -> str:
    return ",".join(filter(None, features))


def answers(
    architecture: str, subjects: Sequence[tuple[str, str]], features: Sequence[str]
) -> dict[tuple[str, str], set[str]]:
    """Return the features of each subject: a CPU with additional or removed features."""
    module = llvm.parse_assembly(question(architecture, subjects, features))
    module.triple = f"{architecture}-unknown-linux-gnu"
    builder = llvm.create_pass_builder(
        machine(architecture, *BASELINES[architecture]), llvm.create_pipeline_tuning_options(speed_level=1)
    )
    builder.getModulePassManager().run(module, builder)
    bodies = re.findall(r"^define [^\n]*@caller\d+\(.*?^}", str(module), re.MULTILINE | re.DOTALL)
    left = [{int(number) for number in re.findall(r"@callee(\d+)\(", body)} for body in bodies]
    return {
        subject: {name for index, name in enumerate(features) if index not in calls}
        for subject, calls in zip(subjects, left, strict=True)
    }


def borne(architecture: str, subjects: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the subjects for which LLVM generates code."""
    pending, found = list(subjects), []
    while pending:
        asked = json.dumps([architecture, pending])
        command = [sys.executable, __file__, "--try"]
        done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        count = len(done.stdout.splitlines())
        found += pending[:count]
        # The subject after the last answer ended the process.
        pending = pending[count + 1 :]
    return found


def try_code(architecture: str, subject: tuple[str, str]) -> None:
    """Generate code that uses floats. LLVM ends the process if it cannot."""
    text = (
        "define double @f(double %x, half %y) { %z = fpext half %y to double\n%w = fadd double %x, %z\nret double %w }"
    )
    module = llvm.parse_assembly(text)
    module.triple = f"{architecture}-unknown-linux-gnu"
    machine(architecture, *subject).emit_object(module)


def describe(architecture: str) -> dict[str, object]:
    """Return features with their implied features, and CPUs with their features, both without what follows from the
    rest."""
    cpu_names, names = named_by_llvm(architecture)
    cpu, base = BASELINES[architecture]
    more = {name: adding(architecture, name) for name in names if not OTHER_ABIS.fullmatch(name)}
    fewer = {name: (cpu, joined(base, "-" + name)) for name in more}
    fine = set(borne(architecture, [(cpu, base), *more.values(), *fewer.values()]))
    features = [name for name, subject in more.items() if subject in fine]
    fewer = {name: fewer[name] for name in features if fewer[name] in fine}
    cpus = borne(architecture, [(name, "") for name in cpu_names])
    found = answers(architecture, [(cpu, base), *(more[name] for name in features), *fewer.values(), *cpus], features)
    # Inlining ignores some scheduling flags: every CPU seems to have them.
    ignored = {name for name, subject in fewer.items() if name in found[subject]}
    baseline = found[cpu, base] - ignored
    implied = {name: found[more[name]] - baseline - ignored - {name} for name in features}
    able = {name: found[name, ""] - ignored for name, _ in cpus if baseline <= found[name, ""]}
    if 2 * len(able) < len(cpus):
        raise SystemExit(f"{architecture}: most CPUs lack something of {sorted(baseline)}: adapt BASELINES")
    return {
        "generic": cpu,
        "baseline": " ".join(sorted(baseline)),
        "features": {name: " ".join(essential(implied[name], implied)) for name in features},
        "cpus": {name: " ".join(essential(has - baseline, implied)) for name, has in able.items()},
    }


def essential(features: set[str], implied: dict[str, set[str]]) -> list[str]:
    """Return the features that no other of them implies."""
    brought = {
        other
        for name in features
        for other in implied[name] & features
        if name not in implied[other] or name < other  # if two imply each other, one stays
    }
    return sorted(features - brought)


def version() -> str:
    return ".".join(map(str, llvm.llvm_version_info))


def inventory() -> dict[str, object]:
    return {"llvm": version(), **{architecture: describe(architecture) for architecture in BASELINES}}


def main() -> int:
    parser = argparse.ArgumentParser(description="Write targets/llvm/objects/cpus.json.")
    parser.add_argument("--check", action="store_true", help="compare LLVM's version only; exit code 1 if it differs")
    parser.add_argument("--help-of", help=argparse.SUPPRESS)
    parser.add_argument("--try", action="store_true", dest="tries", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.help_of:
        machine(args.help_of, "help")
        return 0
    if args.tries:
        architecture, subjects = json.load(sys.stdin)
        for subject in subjects:
            try_code(architecture, subject)
            print("fine", flush=True)
        return 0
    if not args.check:
        OUTPUT.write_text(json.dumps(inventory(), indent=1) + "\n", encoding="utf-8")
        return 0
    # The queries take half a minute, and the answers depend on the version only.
    if json.loads(OUTPUT.read_text(encoding="utf-8"))["llvm"] == version():
        return 0
    print(f"{OUTPUT.name} is not current: run python tools/dev/gen_cpus.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
