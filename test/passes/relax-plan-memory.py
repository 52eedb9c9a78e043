# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory' --split-input-file --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,func.func(relax-plan-memory)' --split-input-file --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='relax-legalize-ops,tir-bufferize,relax-plan-memory,relax-lower-calls' --split-input-file --print-script | FileCheck %s --check-prefix=LOWERED
"""Places and lifetimes of tensors. Situations of Apache TVM's test_transform_static_plan_block_memory.py."""


# Three temporaries take turns in the room for two; the last one is written into the function's result.
# CHECK: "relax.memory_plan": {"arena": 512, "peak": 512, "slots": [], "sum": 768}
# CHECK: def chain(
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["arena 0; 256 bytes; live 1 to 2"]},
# CHECK: cls.flip, (a,), attrs={"relax.memory": ["arena 256; 256 bytes; live 2 to 3"]},
# CHECK: cls.flip, (b,), attrs={"relax.memory": ["arena 0; 256 bytes; live 3 to 4"]},
# CHECK: cls.flip, (c,), attrs={"relax.memory": ["result 0; 256 bytes; live 4 to 5"]},
# LOWERED-LABEL: def chain(
# LOWERED-NOT: relax.memory
# LOWERED: memref.alloc({{.*}}T.Buffer((512,), "int8"){{.*}}
# LOWERED: def
def chain(x: f32[64]) -> f32[64]:
    a = R.flip(x, axis=0)
    b = R.flip(a, axis=0)
    c = R.flip(b, axis=0)
    d = R.flip(c, axis=0)
    return d


# -----


# Tensors with sizes that are multiples of one expression share a slot. A view extends the lifetime of its source's
# memory.
# CHECK: "relax.memory_plan": {"arena": 0, "peak": 0, "slots": ["64*n"], "sum": 0}
# CHECK: def symbolic(
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["slot 0; 32*n bytes; live 1 to 3"]},
# CHECK: same = R.match_cast(a, out_sinfo
# CHECK: cls.flip, (same,), attrs={"relax.memory": ["slot 0 + 32*n; 32*n bytes; live 3 to 4"]},
# CHECK: cls.flip, (b,), attrs={"relax.memory": ["slot 0; 32*n bytes; live 4 to 5"]},
# CHECK: cls.flip, (c,), attrs={"relax.memory": ["result 0; 32*n bytes; live 5 to 6"]},
def symbolic(x: f32[n, 8]) -> f32[n, 8]:
    a = R.flip(x, axis=0)
    same = R.match_cast(a, out_sinfo=f32[n, 8])
    b = R.flip(same, axis=0)
    c = R.flip(b, axis=0)
    d = R.flip(c, axis=0)
    return d


# -----


# Tensors with known ranges of sizes get memory for the largest size. Calls with other sizes are refused.
# CHECK: "relax.memory_plan": {"arena": 2048, "peak": 2048, "slots": [], "sum": 2048}
# CHECK: def bounded(
# CHECK: cls.flip, (x,), attrs={"relax.memory": ["arena 0; 32*n bytes, at most 2048; live 1 to 2"]},
# CHECK: cls.flip, (a,), attrs={"relax.memory": ["result 0; 32*n bytes, at most 2048; live 2 to 3"]},
# LOWERED-LABEL: def bounded(
# LOWERED: T.assert_((v0 >= 1) & (v0 <= 64), {{.*}} message="argument #0 'x' dimension 0: n is {}, expected 1 to 64")
# LOWERED-NOT: T.assert_
# LOWERED: memref.alloc({{.*}}T.Buffer((2048,), "int8"){{.*}}
# LOWERED: def
@R.function(attrs={"relax.symbol_ranges": {"n": (1, 64)}})
def bounded(x: f32[n, 8]) -> f32[n, 8]:
    a = R.flip(x, axis=0)
    b = R.flip(a, axis=0)
    return b


# -----


# Of a size that only the data decide: its memory is its own.
# CHECK: def unknown(
# CHECK: cls.nonzero, {{.*}}"own; {{.*}} bytes; live
def unknown(x: f32[64]) -> i64[1, "?"]:
    a = R.nonzero(x)
    b = R.negative(a)
    return b
