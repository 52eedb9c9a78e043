// RUN: relax-opt %s --gpu-place-shared=most=16384 --verify-diagnostics

// A device may have less shared memory than other devices offer without a request.
gpu.module @kernels {
  memref.global "private" @large_shared : memref<5000xf32, 3> = uninitialized {alignment = 16 : i64}
  // expected-error @+1 {{kernel 'large' needs 20000 bytes of shared memory, a block may have 16384}}
  gpu.func @large(%i: index) kernel {
    %0 = memref.get_global @large_shared : memref<5000xf32, 3>
    %1 = memref.load %0[%i] : memref<5000xf32, 3>
    gpu.return
  }
}
