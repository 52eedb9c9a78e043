# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory' --split-input-file --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory,relax-lower-calls' --split-input-file --print-script | FileCheck %s --check-prefix=LOWERED
"""Where tensors lie and how long they are alive. Situations: test_transform_static_plan_block_memory.py."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Chain:
    # Three temporaries take turns in the room for two; the last one is written into the function's result.
    # CHECK: "relax.memory_plan": {"arena": 512, "peak": 512, "slots": [], "sum": 768}
    # CHECK: def chain(
    # CHECK: cls.exp, (x,), attrs={"relax.memory": ["arena 0; 256 bytes; live 1 to 2"]},
    # CHECK: cls.negative, (a,), attrs={"relax.memory": ["arena 256; 256 bytes; live 2 to 3"]},
    # CHECK: cls.tanh, (b,), attrs={"relax.memory": ["arena 0; 256 bytes; live 3 to 4"]},
    # CHECK: cls.abs, (c,), attrs={"relax.memory": ["result 0; 256 bytes; live 4 to 5"]},
    # LOWERED-LABEL: def chain(
    # LOWERED-NOT: relax.memory
    # LOWERED: memref.alloc({{.*}}T.Buffer((512,), "int8"){{.*}}
    # LOWERED: def
    @R.function
    def chain(x: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        a = R.exp(x)
        b = R.negative(a)
        c = R.tanh(b)
        d = R.abs(c)
        return d


# -----


@I.ir_module(ssa=True)
class Symbolic:
    # Tensors of the same symbolic size take turns in slots; a view has its source's memory, which lives for as long.
    # CHECK: "relax.memory_plan": {"arena": 0, "peak": 0, "slots": ["32*n", "32*n"], "sum": 0}
    # CHECK: def symbolic(
    # CHECK: cls.exp, (x,), attrs={"relax.memory": ["slot 0; 32*n bytes; live 1 to 3"]},
    # CHECK: same = R.match_cast(a, out_sinfo
    # CHECK: cls.negative, (same,), attrs={"relax.memory": ["slot 1; 32*n bytes; live 3 to 4"]},
    # CHECK: cls.tanh, (b,), attrs={"relax.memory": ["slot 0; 32*n bytes; live 4 to 5"]},
    # CHECK: cls.abs, (c,), attrs={"relax.memory": ["result 0; 32*n bytes; live 5 to 6"]},
    @R.function
    def symbolic(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        a = R.exp(x)
        same = R.match_cast(a, out_sinfo=R.Tensor(("n", 8), "float32"))
        b = R.negative(same)
        c = R.tanh(b)
        d = R.abs(c)
        return d


# -----


@I.ir_module(ssa=True)
class Unknown:
    # Of a size that only the data decide: its memory is its own.
    # CHECK: def unknown(
    # CHECK: cls.nonzero, {{.*}}"own; {{.*}} bytes; live
    @R.function
    def unknown(x: R.Tensor((64,), "float32")) -> R.Tensor((1, "?"), "int64"):
        a = R.nonzero(x)
        b = R.negative(a)
        return b
