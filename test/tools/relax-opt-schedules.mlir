// Listings of schedules: rules that choose them, their steps, and intrinsics, also from a package.

// RUN: relax-opt --list-schedules=llvm --load-plugin=%S/../../examples/conv_relu.py | FileCheck %s --check-prefix=SCHEDULES
// SCHEDULES: out_ewise_fusable {{ +}}llvm {{ +}}llvm/schedule.py:
// SCHEDULES: own.conv_relu {{ +}}llvm {{ +}}{{.*}}conv_relu.py:
// RUN: relax-opt --list-schedules | FileCheck %s --check-prefix=ALL
// ALL: elemwise {{ +}}gpu {{ +}}gpu/schedule.py:
// ALL: elemwise {{ +}}llvm {{ +}}llvm/schedule.py:
// RUN: relax-opt --list-schedules=cuda | FileCheck %s --check-prefix=STEPS
// STEPS: steps, or the reason for none {{ +}}gpu {{ +}}gpu/schedule.py:
// RUN: not relax-opt --list-schedules=llvn 2>&1 | FileCheck %s --check-prefix=NO-TARGET
// NO-TARGET: relax-opt: error: unknown target 'llvn'; did you mean 'llvm'?

// RUN: relax-opt --list-primitives --load-plugin=%S/../passes/primitives/Inputs/tensor_intrins.py | FileCheck %s --check-prefix=PRIMITIVES
// PRIMITIVES: Steps of schedules:
// PRIMITIVES: bind(loop, thread_axis) {{ +}}Map a loop's steps
// PRIMITIVES: split(loop, factors, preserve_unit_iters=True, disable_predication=False)
// PRIMITIVES-NEXT: Split a loop into nested loops
// PRIMITIVES: Intrinsics that tensorize takes:
// PRIMITIVES: lit.tile {{ +}}{{.*}}tensor_intrins.py:
