# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile cases of a replay with the tree that PYTHONPATH names, and write digests by stage and kernel as JSON lines.

replay.py starts this program with a task on its standard input. The program uses the public API, so that it runs with
the trees of earlier commits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import re
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import relax_mlir as rx

#: A piece of a module or of code: the name of its kernel, and its text or bytes.
Piece = tuple[str, "str | bytes"]
#: Called with a stage and its pieces.
Note = Callable[[str, Iterable[Piece]], None]

#: Targets that write source files, or programs that hold the same text. The others write objects and device code.
_WRITES_SOURCES = ("c", "webgpu")
_NESTED = ("builtin.module", "gpu.module", "spirv.module")
_SYMBOL_TABLE, _FUNCTION = 2, 2
_PACKED_SPIRV, _PACKED_ENTRY = b"RSV1", 16
#: A line at the left margin that begins a function: PTX's entries, functions of C, OpenCL and WGSL.
_HEAD = re.compile(r"^[\w.@][^;={}#]*?\b(\w+)\s*\(")


# ---- pieces of a module and of code ----


def module_pieces(op: Any, prefix: str = "") -> Iterator[Piece]:
    """Yield the attributes of a module, and the text of each operation in it, without locations."""
    attributes = [op.attributes[index] for index in range(len(op.attributes))]
    yield f"{prefix}(attributes)", "\n".join(f"{each.name} = {each.attr}" for each in attributes)
    for index, view in enumerate(op.regions[0].blocks[0].operations):
        inner = view.operation
        symbol = str(inner.attributes["sym_name"]).strip('"') if "sym_name" in inner.attributes else ""
        name = prefix + (symbol or f"{inner.name} {index}")
        if inner.name in _NESTED:
            yield from module_pieces(inner, f"{name}.")
        else:
            yield name, inner.get_asm(assume_verified=True)


def object_pieces(data: bytes, index: int) -> Iterator[Piece]:
    """Yield the whole object file, and the code of each function in it if the file is 64-bit ELF."""
    yield f"(object {index})", data
    if data[:6] != b"\x7fELF\x02\x01":
        return
    (headers,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + number * size) for number in range(count)]
    for table in (section for section in sections if section[1] == _SYMBOL_TABLE):
        names, symbols = sections[table[6]][4], data[table[4] : table[4] + table[5]]
        for name, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", symbols):
            if info & 15 == _FUNCTION and 0 < section < count:
                start = sections[section][4] + value
                yield data[names + name : data.index(b"\0", names + name)].decode(), data[start : start + length]


def device_pieces(kernels: Sequence[str], data: bytes, form: str) -> Iterator[Piece]:
    """Yield the kernels of device code. Packed SPIR-V has one module for each kernel, other code is text."""
    if form != "spirv" or not data.startswith(_PACKED_SPIRV):
        yield from text_pieces(data.decode("latin-1"))
        return
    yield "(table)", data[: _PACKED_ENTRY * (len(kernels) + 1)]
    for number, name in enumerate(kernels, 1):
        offset, length = struct.unpack_from("<II", data, _PACKED_ENTRY * number)
        yield name, data[offset : offset + length]


def source_pieces(file: str, data: str | bytes) -> Iterator[Piece]:
    """Yield the functions of a source file, or the entries of a JSON file: WGSL has one for each kernel."""
    if isinstance(data, bytes):
        yield file, data
    elif not file.endswith(".json"):
        yield from ((f"{file}: {name}", text) for name, text in text_pieces(data))
    else:
        for key, value in json.loads(data).items():
            listed = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
            for place, each in list(listed) or [(key, value)]:
                name = each.get("name", place) if isinstance(each, dict) else place
                yield f"{file}: {name}", json.dumps(each, indent=1).replace("\\n", "\n")


def text_pieces(text: str) -> Iterator[Piece]:
    """Yield what comes before the first function, and each function with the text up to the next one."""
    name, lines = "(head)", list[str]()
    for line in text.splitlines():
        found = _HEAD.match(line)
        if found is not None:
            yield name, "\n".join(lines)
            name, lines = found[1], []
        lines.append(line)
    yield name, "\n".join(lines)


def numbered(found: Iterable[Piece]) -> dict[str, str | bytes]:
    """Return the pieces by name. Pieces of one name, such as local functions of several objects, get numbers."""
    pieces: dict[str, str | bytes] = {}
    counts: dict[str, int] = {}
    for name, content in found:
        counts[name] = counts.get(name, 0) + 1
        pieces[name if counts[name] == 1 else f"{name} ({counts[name]})"] = content
    return pieces


# ---- compilation ----


def compiled(file: Path, donate: Sequence[str], target: str, keep: str = "") -> dict[str, Any]:
    """Return digests by stage and kernel, and texts for the stage `keep`. An error is a stage: "read" or "refused"."""
    stages: dict[str, dict[str, str]] = {}

    def note(stage: str, found: Iterable[Piece]) -> None:
        write = _text if stage == keep else _digest
        stages[stage] = {name: write(content) for name, content in numbered(found).items()}

    step, error, names = "read", "", list[str]()
    try:
        module = read_case(file)
        pipeline = _watched(rx.stages(target), note)
        step, names = "refused", pipeline.names
        note("input", module_pieces(module.operation))
        rx.lower(module, target, pipeline=pipeline, donate=donate)
        _make_code(module, target, donate, note)
        step = ""
    except Exception as problem:  # any error of any tree is a result
        error = f"{type(problem).__name__}: {problem}".replace(f"{Path.cwd()}/", "")
        note(step, [("message", error)])
    return {"pipeline": names, "stages": stages, "error": error, "step": step}


def read_case(file: Path) -> rx.Module:
    """Return the module of a case. Locations have only the name of the file, as its folder differs between runs."""
    data = file.read_bytes()
    if file.suffix == ".onnx":
        return rx.from_onnx(data)
    return rx.Module.from_script(data.decode(), file.name) if file.suffix == ".py" else rx.Module.parse(data, file.name)


def _watched(stages: Any, note: Note) -> Any:
    """Return the stages of a target, each followed by a pass that notes the module as the stage leaves it."""

    def watched(stage: Any) -> Any:
        def run(_: rx.Pass, op: Any) -> None:
            note(stage.name, module_pieces(op))

        snapshot = type("Snapshot", (rx.Pass,), {"name": "replay-snapshot", "sees_externals": True, "run": run})
        return dataclasses.replace(stage, passes=(*stage.passes, snapshot()))

    # The same objects in both: a stage is verified early where its neighbours are not the target's own.
    made = {each: watched(each) for each in (*stages.stages, *stages.own)}
    chosen, own = (tuple(made[each] for each in listed) for listed in (stages.stages, stages.own))
    return dataclasses.replace(stages, stages=chosen, own=own)


def _make_code(module: rx.Module, target: str, donate: Sequence[str], note: Note) -> None:
    if target.partition("{")[0] in _WRITES_SOURCES:
        files = rx.sources(module, target, donate=donate)
        note("code:sources", (each for name, data in files.items() for each in source_pieces(name, data)))
        return
    # No public function takes a program apart. The fields have the contents of the program's file.
    artifact = rx.compile(module, target, cache=False, jobs=1, donate=donate)._artifact
    objects = enumerate([*artifact.objects, *([artifact.pool] if artifact.pool is not None else [])])
    note("code:objects", (each for index, data in objects for each in object_pieces(bytes(data), index)))
    note(
        "code:constants", ((f"{each.name} {each.dtype} {each.shape}", bytes(each.data)) for each in artifact.constants)
    )
    note("code:signatures", ((str(each["name"]), json.dumps(each, sort_keys=True)) for each in artifact.entries))
    for code in artifact.devices:
        note(f"code:{code.format}", device_pieces(code.kernels, bytes(code.data), code.format))


def _digest(content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    return hashlib.blake2b(data, digest_size=10).hexdigest()


def _text(content: str | bytes) -> str:
    """Return text as it is, and bytes as rows of hexadecimal digits."""
    if isinstance(content, str):
        return content
    return "\n".join(content[start : start + 16].hex(" ", 4) for start in range(0, len(content), 16))


# ---- the process ----


def leave_out_machine_code() -> None:
    """Leave out machine code for GPUs: NVIDIA's linker makes it from PTX, and takes most of the time."""
    try:
        cubin = importlib.import_module("relax_mlir.targets.cuda.objects.cubin")
    except ImportError:
        return
    cubin.__dict__["cubin_if_possible"] = lambda *_: None


def check_tree(tree: Path) -> None:
    """Exit if a module of the package comes from another tree, such as the one that is installed."""
    modules = [each for name, each in sys.modules.items() if name.split(".")[0] == "relax_mlir"]
    files = [Path(file) for each in modules if (file := getattr(each, "__file__", None))]
    strange = next((file for file in files if tree not in file.parents), None)
    if strange is not None:
        sys.exit(f"error: {strange} was imported, but is not in the tree {tree}")


def main() -> int:
    task = json.load(sys.stdin)
    leave_out_machine_code()
    with open(task["results"], "a", encoding="utf-8") as written:
        for case, target in task["jobs"]:
            begun = time.monotonic()
            file = Path(task["folder"]) / case["file"]
            record = compiled(file, case["donate"], task["targets"][target], task["keep"])
            written.write(json.dumps({"case": case["name"], "target": target, **record}) + "\n")
            written.flush()
            seconds = time.monotonic() - begun
            print(f"{task['side']}: {case['name']} {target} {seconds:.1f} s", file=sys.stderr, flush=True)
    check_tree(Path.cwd())
    return 0


if __name__ == "__main__":
    sys.exit(main())
