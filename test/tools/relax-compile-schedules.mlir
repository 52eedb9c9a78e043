// Schedules of kernels are written, edited and used: see tools/test_relax_compile_schedules.

// RUN: relax-compile %s --target=llvm{vector-bytes=16} --emit=schedules -o %t.py
// RUN: FileCheck %s --check-prefix=CHOSEN --input-file=%t.py
// CHOSEN: {{^}}# schedule 1
// CHOSEN: def abs(sch):
// CHOSEN-NEXT: {{^}}    the_node = sch.get_block("the_node")
// CHOSEN: sch.fuse(i, j)
// CHOSEN: sch.split(i_j_fused, [None, 4, 4])
// CHOSEN: sch.vectorize(

// RUN: relax-compile %s --target=llvm{vector-bytes=16} --schedules=%t.py --stop=apply | FileCheck %s --check-prefix=APPLIED
// APPLIED: func.func private @abs
// APPLIED: vector<4xf32>

// RUN: relax-compile %s --target=cuda --emit=schedules | FileCheck %s --check-prefix=FORMS
// FORMS: # Without steps:
// FORMS-NEXT: {{^}}#   abs: GPU kernels have no steps: form points

// RUN: not relax-compile %s --schedules=%t.none.py -o %t.rxa 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: none.py: cannot be read: No such file or directory

func.func @main(%x: tensor<?x4xf32, #relax.sym<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %0 = "relax.abs"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> loc("the_node")
  return %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}
