// Passes from a module of somebody else. What they do wrong is one error.

// RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave | FileCheck %s
// RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin sample_passes --pass-pipeline='builtin.module(cse,sample-misbehave{how=nothing times=2})' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: env PYTHONPATH=%S/Inputs relax-opt --load-plugin=sample_passes --list-passes | FileCheck %s --check-prefix=LIST
// RUN: env PYTHONPATH=%S/Inputs relax-opt --load-plugin=sample_passes --help | FileCheck %s --check-prefix=HELP
// CHECK: "relax.exp"
// DUMP: builtin.module(cse,sample-misbehave{times=2})
// LIST: sample-misbehave {{ *}}Pass that misbehaves.
// HELP: --sample-misbehave {{ *}}Pass that misbehaves.
// HELP-NEXT: how=nothing {{ *}}text
// HELP-NEXT: times=1 {{ *}}an integer

// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=invalid 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=refuse 2>&1 | FileCheck %s --check-prefix=REFUSE
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=report 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=raise 2>&1 | FileCheck %s --check-prefix=RAISE
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=raise --traceback 2>&1 | FileCheck %s --check-prefix=TRACEBACK
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=exit 2>&1 | FileCheck %s --check-prefix=EXIT
// INVALID: relax-opt-plugin.mlir:{{[0-9]+}}:8: error: 'relax.exp' op operand 'x' must be a tensor, got i32
// REFUSE: m.onnx:1:2: error: this module is not wanted
// REFUSE-NEXT: m.onnx: note: try another
// REPORT: error: reported, but not raised
// RAISE: relax-opt: error: pass sample-misbehave: KeyError: 'x' (at Inputs/sample_passes.py:{{[0-9]+}})
// RAISE-NOT: Traceback
// TRACEBACK: relax-opt: error: pass sample-misbehave: KeyError: 'x'
// TRACEBACK: Traceback (most recent call last)
// EXIT: relax-opt: error: pass sample-misbehave: SystemExit: 3

// --verify-each=false lets invalid IR through to the next pass, and to the output.
// RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=invalid --verify-each=false --mlir-print-op-generic | FileCheck %s --check-prefix=UNVERIFIED
// UNVERIFIED: "relax.exp"(%arg1) : (i32) -> tensor<4xf32>

// Options are checked, as are plug-ins.
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=tims=2 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=times=x 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_pases --cse 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=. --cse 2>&1 | FileCheck %s --check-prefix=DOT
// OPTION: relax-opt: error: pass 'sample-misbehave' has no option 'tims'; did you mean 'times'? (it takes how, times)
// VALUE: relax-opt: error: pass 'sample-misbehave': option 'times' expects an integer, got 'x'
// MODULE: relax-opt: error: cannot load plug-in 'sample_pases': No module named 'sample_pases'
// DOT: relax-opt: error: cannot load plug-in '.'

func.func @f(%a: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
