# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a replay: models, single operators, scheduled PrimFuncs. Each is a file that any commit can read."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2] / "test" / "python" / "helpers"))

import decoding_model  # found by the line above, as the next ones
import schedule_kernels
import small_onnx_models
import te_workloads
from generated import ROOT
from relax_mlir_proof.testing.core.networks import Model
from relax_mlir_proof.testing.every_model import all_models

import relax_mlir as rx
from relax_mlir import relax, te


class ReplayCase(NamedTuple):
    """A case: its file's ending, a function that gives the file's bytes, and the arguments that grow in place."""

    name: str
    suffix: str
    content: Callable[[], bytes]
    donate: tuple[str, ...] = ()


#: Targets by name, with options that keep the machine at hand out of the code.
TARGETS = {
    "llvm": "llvm{cpu=x86-64-v3}",
    "c": "c",
    "cuda": "cuda{arch=sm_90 cpu=x86-64-v3}",
    "vulkan": "vulkan{cpu=x86-64-v3}",
    "opencl": "opencl{language=c cpu=x86-64-v3}",
    "webgpu": "webgpu",
}

# ---- models ----

#: Models of relax-check: networks, control flow, quantization, recurrence, dynamic sizes.
_MODELS = (
    "branches until_small greedy_decoding resnet mobilenet unet channels_last upsampling detector regions chosen_rows "
    "qdq_cnn qdq_transformer dynamic_quantization four_bits mixed_precision integers lstm gru mamba linear_recurrence "
    "vit bert gpt llama t5 mixture_of_experts"
)


def _models() -> Iterator[ReplayCase]:
    models = {each.name: each for each in all_models()}
    for name in _MODELS.split():
        yield ReplayCase(f"model-{name}", ".mlir", partial(_model, models[name]))
    yield ReplayCase("model-onnx_mobilenet_v2", ".onnx", lambda: small_onnx_models.mobilenet_v2().SerializeToString())
    yield ReplayCase("model-onnx_bert", ".onnx", lambda: small_onnx_models.bert().SerializeToString())
    yield ReplayCase("model-onnx_digits", ".onnx", (ROOT / "examples" / "digits" / "digits.onnx").read_bytes)
    cache = ("keys", "values")
    yield ReplayCase("model-decoder", ".mlir", lambda: _text(decoding_model.growing()), cache)
    yield ReplayCase("model-decoder_f16", ".mlir", lambda: _text(decoding_model.growing("float16")), cache)


def _model(model: Model) -> bytes:
    return _text(model.made(1).module)


def _text(module: rx.Module) -> bytes:
    return str(module).encode()


# ---- kernels ----

#: Operator, operands as "sizes:dtype" (a name is a dynamic size, "T" each dtype of the last column), attributes.
_KERNELS: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("matmul", "37,64:T 64,40:T", {}, "f32 f16 bf16 f64 i32"),
    ("matmul", "n,64:T 64,40:T", {}, "f32 f16"),
    ("matmul", "4,m,k:T 4,k,n:T", {}, "f32"),
    ("nn.conv2d", "1,8,14,14:T 16,8,3,3:T", {"padding": 1}, "f32 f16"),
    ("nn.conv2d", "n,16,h,w:T 16,1,3,3:T", {"padding": 1, "groups": 16}, "f32"),
    ("nn.conv2d_transpose", "2,6,7,5:T 6,4,2,2:T", {"strides": 2}, "f32"),
    ("nn.conv1d", "2,6,31:T 4,6,5:T", {"dilation": 2}, "f32"),
    ("nn.max_pool2d", "2,6,15,13:T", {"pool_size": 3, "strides": 2}, "f32 f16 i8"),
    ("nn.avg_pool2d", "n,6,15,13:T", {"pool_size": 2}, "f32"),
    ("nn.softmax", "n,40:T", {}, "f32 f16"),
    ("nn.softmax", "9,m:T", {}, "f32"),
    ("nn.log_softmax", "9,40:T", {}, "f32"),
    ("nn.layer_norm", "n,40:T 40:T 40:T", {"axes": [-1]}, "f32 f16"),
    ("nn.rms_norm", "7,768:T 768:T", {}, "f32 bf16"),
    ("nn.group_norm", "2,8,5,7:T 8:T 8:T", {"num_groups": 4, "channel_axis": 1, "axes": [2, 3]}, "f32"),
    ("nn.attention", "2,17,4,16:T 2,17,4,16:T 2,17,4,16:T", {}, "f32 f16"),
    ("nn.attention", "b,m,4,16:T b,n,4,16:T b,n,4,16:T", {}, "f32"),
    ("nn.gelu", "n,40:T", {}, "f32 f16"),
    ("add", "n,40:T 40:T", {}, "f32 i64 i8"),
    ("divide", "37,1:T 37,40:T", {}, "f32 i32"),
    ("power", "1000:T 1000:T", {}, "f32"),
    ("exp", "n:T", {}, "f32 f64 f16"),
    ("erf", "1000:T", {}, "f32"),
    ("sin", "1000:T", {}, "f32"),
    ("sum", "n,40:T", {"axis": [1]}, "f32 f16 i32"),
    ("sum", "4,m,5:T", {"axis": [0, 2]}, "f32"),
    ("max", "300,m:T", {"axis": [0]}, "f32"),
    ("argmax", "9,m:T", {"axis": 1}, "f32 i32"),
    ("cumsum", "9,m:T", {"axis": 1}, "f32"),
    ("permute_dims", "14,n,20:T", {"axes": [2, 0, 1]}, "f32 i8"),
    ("concat", "4,n:T 4,m:T", {"axis": 1}, "f32"),
    ("strided_slice", "40,30:T", {"axes": [0, 1], "begin": [3, 0], "end": [39, 30], "strides": [2, 3]}, "f32"),
    ("take", "50,24:T n:i64", {"axis": 0}, "f32 f16"),
    ("where", "n,40:i1 n,40:T 40:T", {}, "f32"),
    ("sort", "9,m:T", {"axis": 1}, "f32 i32"),
    ("topk", "9,100:T", {"k": 5, "axis": 1}, "f32"),
)


def _kernels() -> Iterator[ReplayCase]:
    for op, operands, attributes, dtypes in _KERNELS:
        sizes = "_".join(each.partition(":")[0].replace(",", "x") for each in operands.split())
        for dtype in dtypes.split():
            content = partial(_kernel, op, operands.replace("T", dtype), attributes)
            yield ReplayCase(f"kernel-{op}-{dtype}-{sizes}", ".mlir", content)


def _kernel(op: str, operands: str, attributes: dict[str, Any]) -> bytes:
    module = rx.Module()
    build: Any = relax
    for part in op.split("."):
        build = getattr(build, part)
    infos = {f"x{number}": _info(each) for number, each in enumerate(operands.split())}
    with module.function("main", infos) as f:
        values = [list(f)] if op == "concat" else list(f)
        made: Any = build(*values, **attributes)
        f.returns(*(made if isinstance(made, (list, tuple)) or hasattr(made, "__len__") else (made,)))
    return _text(module)


def _info(text: str) -> Any:
    sizes, dtype = text.split(":")
    return rx.tensor(tuple(int(size) if size.isdigit() else size for size in sizes.split(",")), dtype)


# ---- PrimFuncs ----

#: A PrimFunc of the schedules' tests, and the steps of its schedule.
_SCHEDULES: tuple[tuple[str, str, str], ...] = (
    ("matmul", "C", "i, j, k = L; i0, i1 = sch.split(i, [None, 8]); sch.reorder(i0, k, i1, j); sch.vectorize(j)"),
    ("matmul", "C", "i, j, k = L; sch.decompose_reduction(C, k)"),
    ("matmul", "C", "i, j, k = L; j0, j1 = sch.split(j, [None, 8]); sch.reorder(i, j0, k, j1); sch.parallel(i)"),
    ("matmul", "C", "i, j, k = L; sch.cache_write(C, 0, \"local\")"),
    ("matmul", "C", "i, j, k = L; x = sch.fuse(i, j); sch.bind(x, \"blockIdx.x\")"),
    ("matmul_relu", "C", "i, j = L; sch.parallel(i)"),
    ("matmul_relu", "Y", "i, j, k = L; k0, k1 = sch.split(k, [None, 4]); sch.unroll(k1)"),
    ("matmul_relu", "C", "i, j = L; x = sch.fuse(i, j); x0, x1 = sch.split(x, [None, 8]); sch.vectorize(x1)"),
    ("chain", "B", "sch.compute_inline(B)"),
    ("chain", "C", "i, j = L; sch.vectorize(j)"),
    ("chain", "D", "sch.reverse_compute_inline(D)"),
    ("softmax", "D", "i, j = L; sch.parallel(i)"),
    ("softmax", "E", "i, j = L; E_read = sch.cache_read(E, 0, \"global\")"),
    ("convolution", "Y", "o, h, w, c, r, s = L; sch.reorder(o, h, c, r, s, w); sch.unroll(s)"),
    ("blur", "C", "i, j = L; i0, i1 = sch.split(i, [None, 4]); sch.parallel(i0)"),
    ("blur", "B", "i, j = L; sch.vectorize(j)"),
    ("transpose", "B", "i, j, k = L; sch.reorder(j, k, i)"),
    ("products_of_bytes", "C", "i, j, k = L; k0, k1 = sch.split(k, [None, 4]); sch.rfactor(k0, 0)"),
    ("rows", "B", "i, k = L; sch.parallel(i)"),
    ("open_matmul", "C", "i, j, l = L; sch.reorder(i, l, j)"),
    ("halves", "B", "i, k = L; k0, k1 = sch.split(k, [None, 8]); sch.unroll(k1)"),
    ("gather", "B", "i, j = L; sch.vectorize(j)"),
)  # fmt: skip


def _prim_funcs() -> Iterator[ReplayCase]:
    for number, (name, block, steps) in enumerate(_SCHEDULES):
        yield ReplayCase(f"schedule-{number:02}-{name}", ".py", partial(_scheduled, name, block, steps))
    sizes = te_workloads.Convolution(1, (14,), 8, 16, 3, padding=1)
    tensors = te_workloads.convolution(sizes).tensors
    yield ReplayCase("te-convolution", ".mlir", lambda: _text(te.create_prim_func(tensors)))
    yield ReplayCase("te-softmax", ".mlir", lambda: _text(te.create_prim_func(te_workloads.softmax(9, 40).tensors)))


def _scheduled(name: str, block: str, steps: str) -> bytes:
    """Return the script of a PrimFunc with a schedule, as relax-compile --emit=schedules writes it."""
    loops = steps.replace("= L;", f"= sch.get_loops({block});")
    trace = ["# schedule 1", f'{block} = sch.get_block("{block}")', *loops.split("; ")]
    head, end, body = schedule_kernels.kernel(name).text.partition("):\n")
    attribute = f'    T.func_attr({{"tir.schedule": {trace!r}}})\n'
    return f"from relax_mlir.script import tir as T\n\n{head}{end}{attribute}{body}".encode()


# ---- all of them ----


def chosen_cases(patterns: Sequence[str]) -> list[ReplayCase]:
    """Return the cases with names that match a pattern, without its kind too: "conv*", "kernel-*"."""
    return [
        each
        for each in (*_models(), *_kernels(), *_prim_funcs())
        if not patterns or any(fnmatch.fnmatchcase(name, p) for name in _names(each) for p in patterns)
    ]  # fmt: skip


def _names(case: ReplayCase) -> tuple[str, ...]:
    name = case.name.partition("-")[2]
    return case.name, name, name.removeprefix("nn.")


def write_case(case: ReplayCase, folder: Path) -> dict[str, Any]:
    """Write the file of a case, and return the description that replay_case.py reads."""
    file = f"{case.name}{case.suffix}"
    (folder / file).write_bytes(case.content())
    return {"name": case.name, "file": file, "donate": list(case.donate)}
