// --irdl-file defines dialects before the input is read.

// RUN: relax-opt %s --split-input-file --irdl-file=%S/Inputs/cmath.irdl --verify-diagnostics --verify-roundtrip -o %t
// RUN: FileCheck %s < %t
// RUN: not relax-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT
// CHECK: "cmath.norm"(%arg0) : (f32) -> f32
// WITHOUT: error: operation being parsed with an unregistered dialect

// RUN: not relax-opt %s --irdl-file=%t.none 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo 'irdl.dialect @relax {}' > %t.known
// RUN: not relax-opt %s --irdl-file=%t.known 2>&1 | FileCheck %s --check-prefix=KNOWN
// RUN: echo 'irdl.dialect @twice {} irdl.dialect @twice {}' > %t.twice
// RUN: not relax-opt %s --irdl-file=%t.twice 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: echo 'irdl.dialect {' > %t.bad
// RUN: not relax-opt %s --irdl-file=%t.bad 2>&1 | FileCheck %s --check-prefix=BAD
// MISSING: relax-opt: error: --irdl-file: cannot open '{{.*}}.none': No such file or directory
// KNOWN: .known: error: dialect 'relax' is defined already
// TWICE: .twice:1:{{.*}}: error: {{.*}}twice
// BAD: .bad:1:14: error: {{.*}}expected valid '@'-identifier for symbol name

func.func @f(%x: f32) -> f32 {
  %0 = "cmath.norm"(%x) : (f32) -> f32
  return %0 : f32
}

// -----

func.func @g(%x: f64) -> f32 {
  // expected-error @+1 {{expected 'f32' but got 'f64'}}
  %0 = "cmath.norm"(%x) : (f64) -> f32
  return %0 : f32
}
