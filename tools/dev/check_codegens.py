# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run relax-check for this project's own targets and codegens, and compare the problems with test/conformance/.

With --write these lists and the pages of docs/conformance/ are rewritten; with --check only their operators are
checked.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import conformance_lists as lists
import conformance_pages as pages
from generated import ROOT
from relax_mlir.runtime.errors import DeviceError
from relax_mlir.support.external_runtime import find_runtime
from relax_mlir.support.plugins import load_plugin
from relax_mlir_proof.testing import isolated
from relax_mlir_proof.testing.core.cases import GROUPS
from relax_mlir_proof.testing.fitting import all_rows
from relax_mlir_proof.testing.verdicts import Verdict
from relax_mlir_spirv.opencl_runtime.driver import driver as opencl_driver
from relax_mlir_spirv.vulkan_runtime.driver import driver as vulkan_driver

from relax_mlir.testing import Report, check

_REPORTED_EVERY, _PATIENCE = 30.0, 60.0


class Subject(NamedTuple):
    """Target or codegen to check, with the options of relax-check.

    `share` is the share of the cases, if all of them take too long. `device` is the kind of device that the subject
    needs: it runs on the first one, or is skipped.
    """

    name: str
    target: str | None = None
    plugin: str = ""
    share: float = 1.0
    device: str = ""


#: Subjects by the names of their lists and pages.
SUBJECTS = {
    "llvm": Subject("llvm"),
    "target_c": Subject("c", "c"),
    "cuda": Subject("cuda", plugin="test/gpu_emulator/in_place.py", share=0.25),
    "vulkan": Subject("vulkan", share=0.1, device="vulkan"),
    "opencl": Subject("opencl", share=0.1, device="opencl"),
    "webgpu": Subject("webgpu", share=0.02, device="webgpu"),
    "c": Subject("c", share=0.25),
    **{name: Subject(name) for name in ("dnnl", "blas", "onnxruntime", "example_npu")},
}


class _Progress:
    """Report of problems as they occur, and of progress now and then."""

    def __init__(self, name: str) -> None:
        self._name, self._start = name, time.monotonic()
        self._last = self._start

    def __call__(self, verdict: Verdict, done: int, count: int) -> None:
        if verdict.is_fault:
            print(f"{self._name}: {verdict.verdict}: {verdict.case}: {verdict.reason}", file=sys.stderr, flush=True)
        now = time.monotonic()
        if now - self._last > _REPORTED_EVERY or done == count:
            self._last = now
            print(f"{self._name}: {done} of {count} in {now - self._start:.0f} s", file=sys.stderr, flush=True)


def fitting(subject: Subject) -> tuple[Subject, str]:
    """Return the subject with the target for the machine's device, and the reason if there is none, else ""."""
    if not subject.device:
        return subject, ""
    # In a separate process, since drivers' threads do not survive in the forks for cases.
    target, problem = isolated.alone(lambda: _target_of(subject.device), _PATIENCE, lambda cause, _: ("", cause))
    return subject._replace(name=target), problem


def _target_of(kind: str) -> tuple[str, str]:
    try:
        if kind == "vulkan":
            return vulkan_driver().device(0).target, ""
        if kind == "webgpu":  # of a plug-in
            return kind, find_runtime(kind)().requires(memoryview(b""))
        opencl_driver().device(0)
        return kind, ""
    except DeviceError as error:
        return "", str(error)


def run(
    name: str,
    subject: Subject,
    share: float,
    draw: int,
    jobs: int,
    scheduler: str | None = None,
    only: Sequence[str] = (),
) -> Report:
    """Run relax-check. A subject that is checked in part always has the same part: its list covers no other cases."""
    if subject.plugin:
        load_plugin(str(ROOT / subject.plugin))
    is_whole = subject.share == 1.0
    return check(
        subject.name,
        target=subject.target,
        share=1.0 if only else min(share, subject.share),
        only=only,
        groups=GROUPS,
        draw=draw if is_whole else 0,
        jobs=jobs,
        scheduler=scheduler,
        told=lambda sentence: print(sentence, file=sys.stderr, flush=True),
        progress=_Progress(name),
    )


def due() -> list[str]:
    """Return the pages that lack one of today's operators."""
    operators = {row.op for row in all_rows()}
    found = []
    for name in filter(lambda name: pages.path_of(name).is_file(), SUBJECTS):
        lacking = sorted(operators - pages.operators_on(name))
        if lacking:
            shown = ", ".join(lacking[:3])
            found.append(
                f"{pages.path_of(name).relative_to(ROOT)} lacks {shown}: run suite.py check-codegens --write, or --add"
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="check_codegens.py", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SUBJECTS], help="these only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, whose workers run the cases")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases; all is the default")
    parser.add_argument("--draw", type=int, default=0, help="another number draws others")
    parser.add_argument("--write", action="store_true", help="write the lists and pages; reasons on a list stay")
    parser.add_argument("--add", action="store_true", help="run operators that pages lack, and add these to the pages")
    parser.add_argument("--check", action="store_true", help="run nothing: is a page due to be written again?")
    parser.add_argument(
        "--reports", type=Path, help="a folder with NAME.json by relax-check --json, of all cases: no runs"
    )
    options = parser.parse_args()
    if options.check:
        return _told(due())
    if options.write and options.share < 1.0:
        parser.error("--write needs a whole run, without --share")
    problems: list[str] = []
    for name in options.names or SUBJECTS:
        subject, absent = fitting(SUBJECTS[name])
        if absent and options.reports is None:
            print(f"{name}: skipped: {absent}", flush=True)
            if options.add:
                pages.add(name, None)
            continue
        lacking = sorted({row.op for row in all_rows()} - pages.operators_on(name)) if options.add else []
        if options.add and not lacking:
            continue
        report = _report(name, subject, options, lacking)
        print(report.summary(), flush=True)
        if options.add:
            lists.add(name, report)
            pages.add(name, report)
            problems += [f"{name}: {each.case}: {each.reason}" for each in report.verdicts if each.is_fault]
        elif options.write:
            lists.write(name, report)
            share = SUBJECTS[name].share if options.reports is None else 1.0
            pages.write(name, report, share, lists.read(name))
        else:
            problems += [f"{name}: {line}" for line in lists.differences(report, lists.read(name))]
    if options.write or options.add:
        pages.write_index(list(SUBJECTS))
    return _told(problems)


def _report(name: str, subject: Subject, options: argparse.Namespace, only: Sequence[str]) -> Report:
    if options.reports is not None:
        return Report.from_json((options.reports / f"{name}.json").read_text("utf-8"))
    return run(name, subject, options.share, options.draw, options.jobs, options.scheduler, only)


def _told(problems: Sequence[str]) -> int:
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
