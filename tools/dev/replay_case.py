# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile cases of a replay with the tree that PYTHONPATH names, and write digests of all stages as lines of JSON.

replay.py starts this program with a task on its standard input. The program uses the public API, so that it runs with
the trees of earlier commits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import replay_pieces as pieces

import relax_mlir as rx

#: Called with a stage and its pieces.
Note = Callable[[str, Iterator[pieces.Piece]], None]


class Job(NamedTuple):
    """A case and a target; `keep` is the stage whose texts are written in place of their digests."""

    case: dict[str, Any]
    target: dict[str, Any]
    file: Path
    keep: str = ""


def compiled(job: Job) -> dict[str, Any]:
    """Return the digests of a job by stage and kernel. An error ends the list of stages: "read" or "refused"."""
    stages: dict[str, dict[str, str]] = {}

    def note(stage: str, found: Iterator[pieces.Piece]) -> None:
        write = _text if stage == job.keep else _digest
        stages[stage] = {name: write(content) for name, content in pieces.merged(found).items()}

    step, error = "read", ""
    try:
        module = _module(job.file)
        chosen = rx.stages(job.target["text"])
        step = "refused"
        _lower(module, job, chosen, note)
        _make_code(module, job, note)
    except Exception as problem:  # any error of any tree is a result
        error = f"{type(problem).__name__}: {problem}".replace(str(Path.cwd()), "<tree>")
        note(step, iter([("message", error)]))
    return {
        "case": job.case["name"], "target": job.target["name"], "stages": stages, "error": error, "step": step,
    }  # fmt: skip


def _module(file: Path) -> rx.Module:
    return rx.from_onnx(str(file)) if file.suffix == ".onnx" else rx.Module.from_file(file)


def _lower(module: rx.Module, job: Job, stages: Any, note: Note) -> None:
    """Lower the module by the target's stages, each followed by a pass that notes what the stage has left."""
    watched = {each: _watched(each, note) for each in (*stages.stages, *stages.own)}
    own, chosen = (tuple(watched[each] for each in listed) for listed in (stages.own, stages.stages))
    note("input", pieces.module_pieces(module.operation))
    rx.lower(
        module,
        job.target["text"],
        pipeline=dataclasses.replace(stages, stages=chosen, own=own),
        donate=job.case["donate"],
    )


def _watched(stage: Any, note: Note) -> Any:
    def run(_: rx.Pass, op: Any) -> None:
        note(stage.name, pieces.module_pieces(op))

    # A stage's passes may have different anchors; a pipeline begins at the module.
    snapshot = type("Snapshot", (rx.Pass,), {"name": "replay-snapshot", "sees_externals": True, "run": run})
    return dataclasses.replace(stage, passes=(*stage.passes, snapshot()))


def _make_code(module: rx.Module, job: Job, note: Note) -> None:
    donate, text = job.case["donate"], job.target["text"]
    if job.target["program"]:
        # No public function takes a program apart; the artifact's fields are those of its file.
        artifact = rx.compile(module, text, cache=False, jobs=1, donate=donate)._artifact
        objects = [*artifact.objects, *([artifact.pool] if artifact.pool is not None else [])]
        note("objects", (each for index, data in enumerate(objects) for each in pieces.object_pieces(bytes(data), index)))
        note("constants", ((f"{each.name} {each.dtype} {each.shape}", bytes(each.data)) for each in artifact.constants))
        note("signatures", ((str(each["name"]), json.dumps(each, sort_keys=True)) for each in artifact.entries))
        for code in artifact.devices:
            note(code.format, pieces.device_pieces(code.format, code.kernels, bytes(code.data)))
    if job.target["sources"]:
        files = rx.sources(module, text, donate=donate)
        note("sources", (each for name, data in files.items() for each in pieces.source_pieces(name, data)))


def _digest(content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    return hashlib.blake2b(data, digest_size=10).hexdigest()


def _text(content: str | bytes) -> str:
    """Return text as it is, and bytes as rows of hexadecimal digits."""
    if isinstance(content, str):
        return content
    return "\n".join(content[start : start + 16].hex(" ", 4) for start in range(0, len(content), 16))


def without_machine_code() -> None:
    """Leave out machine code for GPUs: NVIDIA's linker makes it from PTX, and takes most of the time."""
    try:
        cubin = importlib.import_module("relax_mlir.targets.cuda.objects.cubin")
    except ImportError:
        return
    cubin.__dict__["cubin_if_possible"] = lambda *_: None


def check_tree(tree: Path) -> None:
    """Exit if a module of the package comes from another tree, such as the one that is installed."""
    known = [each for name, each in sys.modules.items() if name.split(".")[0] == "relax_mlir"]
    files = [Path(each.__file__) for each in known if getattr(each, "__file__", None)]
    strange = next((file for file in files if tree not in file.parents), None)
    if strange is not None:
        sys.exit(f"error: {strange} is not in the tree {tree}: remove PYTHONPATH and try again")


def main() -> int:
    task = json.load(sys.stdin)
    without_machine_code()
    with open(task["results"], "a", encoding="utf-8") as written:
        for case, target in task["jobs"]:
            begun = time.monotonic()
            job = Job(case, target, Path(task["folder"]) / case["file"], task["keep"])
            written.write(json.dumps(compiled(job)) + "\n")
            written.flush()
            seconds = time.monotonic() - begun
            print(f"{task['side']}: {case['name']} {target['name']} {seconds:.1f} s", file=sys.stderr, flush=True)
    check_tree(Path.cwd())
    return 0


if __name__ == "__main__":
    sys.exit(main())
