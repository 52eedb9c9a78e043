# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of TVM from its front ends, te and passes, and their results by its own virtual machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import tvm
from tvm import relax, te, topi
from tvm.relax.frontend import nn
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

RNG = np.random.default_rng(43)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def by_tvm(module: Any, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the results of the module's main function in TVM's virtual machine."""
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    return flat(machine["main"](*map(tvm.runtime.tensor, arguments)))


def flat(results: Any) -> list[np.ndarray]:
    if hasattr(results, "numpy"):
        return [results.numpy()]
    return [np.asarray(results)] if isinstance(results, np.ndarray) else [x for each in results for x in flat(each)]


# ---- models, by TVM's nn.Module ----


class Mlp(nn.Module):
    def __init__(self) -> None:
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4, bias=False)
        self.norm = nn.LayerNorm(16)

    def forward(self, x: Any) -> Any:
        return nn.op.softmax(self.second(self.norm(nn.op.gelu(self.first(x)))), axis=-1)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        self.one, self.two = nn.Conv2D(3, 8, 3, padding=1, bias=True), nn.Conv2D(8, 8, 3, stride=2, groups=2)
        self.norm = nn.GroupNorm(4, 8)

    def forward(self, x: Any) -> Any:
        y = self.norm(nn.op.relu(self.one(x)))
        return nn.op.sum(self.two(y), axis=[2, 3])


class Attention(nn.Module):
    """Block like Llama's: RMS norm, rotated queries and keys of fewer heads, a gated MLP."""

    def __init__(self, width: int = 16, heads: int = 4, key_heads: int = 2) -> None:
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.norm = nn.RMSNorm(width, -1, 1e-5, bias=False)
        self.together = nn.Linear(width, (heads + 2 * key_heads) * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 32, bias=False), nn.Linear(width, 32, bias=False)
        self.down = nn.Linear(32, width, bias=False)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        mixed = self.together(self.norm(x))
        mixed = nn.op.reshape(mixed, (batch, length, self.heads + 2 * self.key_heads, self.size))
        q, k, v = nn.op.split(mixed, [self.heads, self.heads + self.key_heads], axis=2)
        k, v = (nn.op.repeat(each, self.heads // self.key_heads, axis=2) for each in (k, v))
        q, k, v = (nn.op.permute_dims(each, [0, 2, 1, 3]) for each in (q, k, v))
        weights = nn.op.softmax(nn.op.matmul(q, nn.op.permute_dims(k, [0, 1, 3, 2])) / self.size**0.5, axis=-1)
        seen = nn.op.permute_dims(nn.op.matmul(weights, v), [0, 2, 1, 3])
        y = x + self.out(nn.op.reshape(seen, (batch, length, width)))
        return y + self.down(nn.op.silu(self.gate(y)) * self.up(y))


def exported(model: Any, *shape: int | str) -> tuple[Any, Callable[..., list[np.ndarray]]]:
    """Return the module of a model with its parameters as arguments after `x`, and a function from sizes to
    arguments."""
    module, parameters = model.export_tvm({"forward": {"x": nn.spec.Tensor(list(shape), "float32")}})
    module = tvm.IRModule({"main": module["forward"].with_attr("global_symbol", "main")})

    def arguments(*sizes: int) -> list[np.ndarray]:
        return [floats(*sizes), *(0.3 * floats(*map(int, each.shape)) for _, each in parameters)]

    return module, arguments


MODELS: dict[str, tuple[Callable[[], Any], tuple[int | str, ...], tuple[int, ...]]] = {
    "an MLP": (Mlp, ("batch", 8), (3, 8)),
    "convolutions": (Convolutions, (1, 3, 12, 12), (1, 3, 12, 12)),
    "attention": (Attention, (1, "length", 16), (1, 5, 16)),
}

#: How TVM's passes leave a module, from a graph of operators to PrimFuncs that are called.
STAGES: dict[str, list[Any]] = {
    "as exported": [],
    "legalized": [relax.transform.LegalizeOps()],
    "fused": [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ],
    "with memory": [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        relax.transform.ToNonDataflow(),
        relax.transform.CallTIRRewrite(),
        relax.transform.StaticPlanBlockMemory(),
    ],
}


# ---- PrimFuncs, by te and topi ----


def tensors(*shapes: Sequence[Any], dtype: str = "float32") -> list[Any]:
    return [te.placeholder(shape, dtype, name=f"in{i}") for i, shape in enumerate(shapes)]


def prim_func(inputs: Sequence[Any], output: Any) -> Any:
    return te.create_prim_func([*inputs, output]).with_attr("global_symbol", "main")


X, W = tensors((2, 4, 9, 9), (4, 4, 3, 3))
A, B = tensors((5, 7), (7, 6))
PRIM_FUNCS: dict[str, tuple[Sequence[Any], Callable[[], Any]]] = {
    "conv2d": ((X, W), lambda: topi.nn.conv2d(X, W, 2, 1, 1, data_layout="NCHW", kernel_layout="OIHW")),
    "pool2d": ((X,), lambda: topi.nn.pool2d(X, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max")),
    "average": ((X,), lambda: topi.nn.pool2d(X, (2, 2), (2, 2), (1, 1), (0, 0, 1, 1), "avg", count_include_pad=False)),
    "matmul": ((A, B), lambda: topi.matmul(A, B)),
    "softmax": ((A,), lambda: topi.nn.softmax(A, axis=1)),
    "layer_norm": ((A,), lambda: topi.nn.layer_norm(A, te.compute((7,), lambda i: 1.5), None, [1])),
    "argmax": ((A,), lambda: topi.argmax(A, axis=1)),
    "cumsum": ((A,), lambda: topi.cumsum(A, axis=1)),
    "transpose": ((A,), lambda: topi.transpose(A, (1, 0))),
    "strided_slice": ((A,), lambda: topi.strided_slice(A, [4, 1], [0, 6], [-2, 2])),
    "pad": ((A,), lambda: topi.nn.pad(A, (1, 0), (2, 3), 0.5)),
    "erf": ((A,), lambda: topi.fast_erf(A)),
    "resize": ((X,), lambda: topi.image.resize2d(X, [0.0] * 4, (13, 5), layout="NCHW", method="linear")),
    "concatenate": ((A,), lambda: topi.concatenate([A, A, topi.exp(A)], axis=0)),
}


# ---- modules as scripts ----

n = TypeVar("n")


@I.ir_module
class Parts:
    """Parts of a graph besides operators."""

    I.module_attrs({"note": "of the module"})
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @T.prim_func(private=True, s_tir=True)
    def shifted(A: T.Buffer((n, T.int64(4)), "float32"), k: T.int64, C: T.Buffer((n, T.int64(4)), "float32")) -> None:
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.Cast("float32", k) * T.float32(0.25)

    @R.function(private=True)
    def halves(x: R.Tensor((n, 4), "float32")) -> R.Tuple(R.Tensor((n, 2), "float32"), R.Tensor((n, 2), "float32")):
        R.func_attr({"Primitive": True})
        both = R.split(x, 2, axis=1)
        return both

    @R.function
    def main(
        x: R.Tensor((n, 4), "float32"), y: R.Tensor(ndim=2, dtype="float32"), up: R.Tensor((), "bool"), k: T.int64
    ):
        m = T.int64()
        cls = Parts
        rows = R.match_cast(y, R.Tensor((m, 4), "float32"))
        with R.dataflow():
            moved = R.call_tir(cls.shifted, (x, k), R.Tensor((n, 4), "float32"))
            there = R.to_vdevice(moved, I.vdevice("llvm"))
            parts = cls.halves(there)
            left = parts[0]
            right = parts[1]
            R.output(left, right)
        if up:  # noqa: SIM108  # as Relax has it
            chosen = R.add(left, right)
        else:
            chosen = R.subtract(left, R.const(0.1, "float32"))
        shape = R.shape([m, n + 1])
        wide = R.broadcast_to(chosen, R.shape([k, n, 2]))
        return (wide, (rows, shape))


def with_constants() -> Any:
    """Return constants of many types, one of them twice, in two functions, with printed scalars in between."""
    builder = relax.BlockBuilder()
    values = {name: np.arange(6).reshape(2, 3) for name in ("float32", "float64", "int8", "int64", "uint16", "float16")}
    held = {name: relax.const(value.astype(name)) for name, value in values.items()}
    held["bool"] = relax.const(np.array([[True, False, True], [False, False, True]]))
    held |= {"uint8 alone": relax.const(np.uint8(200)), "scalar": relax.const(np.float32(0.1))}
    for name in ("first", "main"):
        x = relax.Var("x", R.Tensor((2, 3), "float32"))
        order = sorted(held, reverse=name == "main")
        with builder.function(name, [x]):
            y = builder.emit(relax.op.add(relax.op.multiply(x, held["float32"]), held["float32"]))
            builder.emit_func_output(relax.Tuple([y, *(held[each] for each in order)]))
    return builder.finalize()
