// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory and kernels of a program on a device. Pages load relax.js, which imports this file.

const ALIGNMENT = 256n;  // of allocations, in bytes
const STEP = 256;  // alignment of each launch's arguments in their buffer, in bytes
const RECORD_BYTES = 48;
const MOST_BLOCKS = 65535;
const MOST_BYTES = 2 ** 31 - 256;  // addresses are i32
const NEEDS = {threads: "maxComputeInvocationsPerWorkgroup", shared: "maxComputeWorkgroupStorageSize"};
const PAIRS = ["i64", "f64"];  // types of arguments that take two words
const INSTALL = "use a browser that has it: https://github.com/gpuweb/gpuweb/wiki/Implementation-Status";
const clamped = (value, low, high) => (value < low ? low : value > high ? high : value);

/** Error of a failed check in a program. `kind` is the name of Python's exception, such as "IndexError". */
export class ProgramError extends Error {
  constructor(kind, message, numbers, place) {
    super(`${place}: ${numbers.reduce((text, number) => text.replace("{}", String(number)), message)}`);
    this.name = this.kind = kind;
  }
}

// ---- allocation of memory ----

/** First-fit allocator: allocates the lowest free range that is large enough. */
class Heap {
  constructor(first) {
    this.end = Heap.up(first);
    this.free = [[this.end, 1n << 62n]];
    this.taken = new Map();
  }

  static up(bytes) {
    return (bytes + ALIGNMENT - 1n) / ALIGNMENT * ALIGNMENT;
  }

  take(bytes) {
    const size = bytes > 0n ? Heap.up(bytes) : ALIGNMENT;
    const place = this.free.findIndex(([start, end]) => end - start >= size);
    const [start, end] = this.free[place];
    this.free.splice(place, 1, ...(end - start > size ? [[start + size, end]] : []));
    this.taken.set(start, size);
    if (start + size > this.end) this.end = start + size;
    return start;
  }

  giveBack(start) {
    const whole = [start, start + this.taken.get(start)];
    this.taken.delete(start);
    const pieces = [...this.free, whole].sort((a, b) => (a[0] < b[0] ? -1 : 1));
    this.free = [];
    for (const [first, end] of pieces) {
      const last = this.free.at(-1);
      if (last && last[1] === first) last[1] = end;
      else this.free.push([first, end]);
    }
  }
}

// ---- memory and kernels on a device ----

/** Device memory of one program. Launches are recorded, and submitted when the host reads memory. All tensors are in
 * one buffer. */
export class DeviceMemory {
  constructor(program, weights, device) {
    Object.assign(this, {program, device, heap: new Heap(BigInt(weights.byteLength)), launches: [], pipelines: [], keys: 0n});
    const words = program.kernels.map((each) => each.arguments.reduce((sum, kind) => sum + (PAIRS.includes(kind) ? 2 : 1), 3));
    this.argumentBytes = 16 * Math.ceil(Math.max(4, ...words) / 4);
    this.usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.record = device.createBuffer({size: RECORD_BYTES, usage: this.usage});
    const buffers = [{type: "storage"}, {type: "uniform", hasDynamicOffset: true}, {type: "storage"}];
    const entries = buffers.map((buffer, binding) => ({binding, visibility: GPUShaderStage.COMPUTE, buffer}));
    this.layout = device.createBindGroupLayout({entries});
    this.need(this.heap.end);
    this.write(0n, weights);
  }

  /** Create the pipelines of all kernels concurrently. */
  async makePipelines() {
    const layout = this.device.createPipelineLayout({bindGroupLayouts: [this.layout]});
    const made = this.program.kernels.map(({name, code}) => {
      const module = this.device.createShaderModule({label: name, code});
      return this.device.createComputePipelineAsync({label: name, layout, compute: {module, entryPoint: "main"}});
    });
    this.pipelines = await Promise.all(made);
  }

  /** Grow the buffer to at least this many bytes. */
  need(bytes) {
    const wanted = Math.max(4, Number(bytes));
    if (this.buffer && this.buffer.size >= wanted) return;
    const {maxStorageBufferBindingSize, maxBufferSize} = this.device.limits;
    const most = Math.min(maxStorageBufferBindingSize, maxBufferSize, MOST_BYTES);
    if (wanted > most) throw new RangeError(`the program needs ${wanted} bytes in one buffer of the device, at most ${most} are allowed`);
    const old = this.buffer;
    const size = old ? Math.min(most, Math.max(wanted, 2 * old.size)) : wanted;
    this.buffer = this.device.createBuffer({size, usage: this.usage});
    if (!old) return;
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(old, 0, this.buffer, 0, old.size);
    this.device.queue.submit([encoder.finish()]);
    old.destroy();
  }

  /** Write data in whole words. No tensor uses the bytes after the data in the last word. */
  write(address, bytes) {
    this.need(this.heap.end);
    const whole = new Uint8Array(Math.ceil(bytes.byteLength / 4) * 4);
    whole.set(bytes);
    if (whole.byteLength) this.device.queue.writeBuffer(this.buffer, Number(address), whole);
  }

  launch(kernel, blocks, values, place) {
    if (blocks <= 0n) return;
    const words = [Number(blocks), this.launches.length, 0];
    this.program.kernels[kernel].arguments.forEach((kind, position) => {
      const value = values[position];
      if (kind === "f32" || kind === "f64") {
        words.push(...new Uint32Array(new (kind === "f32" ? Float32Array : Float64Array)([value]).buffer));
        return;
      }
      // An index has 32 bits in kernels. Clamping keeps a number that is larger than all sizes larger.
      const held = kind === "index" ? clamped(value, -(1n << 31n), (1n << 31n) - 1n) : value;
      words.push(Number(BigInt.asUintN(32, held)));
      if (kind === "i64") words.push(Number(BigInt.asUintN(32, held >> 32n)));
    });
    this.launches.push({kernel, blocks: Number(blocks), words, place});
  }

  async read(address, bytes) {
    return (await this.look([[address, bytes]]))[0];
  }

  /** Submit the launches, wait, and return copies of memory, given as addresses and sizes in bytes. Throws the error of
   * the first check that failed in a kernel. */
  async look(pieces) {
    this.need(this.heap.end);
    const encoder = this.device.createCommandEncoder();
    const launches = this.launches;
    this.launches = [];
    const passed = launches.length ? this.encode(encoder, launches) : undefined;
    const firsts = pieces.map(([address]) => Number(address - address % 4n));  // the device copies whole words
    const ends = pieces.map(([address, bytes]) => Math.ceil((Number(address) + bytes) / 4) * 4);
    const sizes = ends.map((end, position) => end - firsts[position]);
    const total = sizes.reduce((sum, size) => sum + size, RECORD_BYTES);
    const staging = this.device.createBuffer({size: total, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
    encoder.copyBufferToBuffer(this.record, 0, staging, 0, RECORD_BYTES);
    let place = RECORD_BYTES;
    const places = pieces.map(([address], position) => {
      const [first, start, size] = [firsts[position], place, sizes[position]];
      if (size) encoder.copyBufferToBuffer(this.buffer, first, staging, start, size);
      place += size;
      return start + Number(address) - first;
    });
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const held = new Uint8Array(staging.getMappedRange()).slice();
    staging.destroy();
    passed?.destroy();
    this.raise(new DataView(held.buffer), launches);
    return pieces.map(([, bytes], position) => held.slice(places[position], places[position] + bytes));
  }

  raise(record, launches) {
    if (record.getUint32(0, true) === 0) return;
    this.device.queue.writeBuffer(this.record, 0, new Uint8Array(RECORD_BYTES));
    const {kernel, place} = launches[record.getUint32(4, true)];
    const [kind, message] = this.program.kernels[kernel].checks[record.getUint32(8, true)];
    const numbers = [0, 1, 2, 3].map((each) => record.getBigInt64(16 + 8 * each, true));
    throw new ProgramError(kind, message, numbers, place);
  }

  encode(encoder, launches) {
    const step = Math.ceil(this.argumentBytes / STEP) * STEP;
    const size = step * launches.length;
    const passed = this.device.createBuffer({size, usage: GPUBufferUsage.UNIFORM, mappedAtCreation: true});
    const words = new Uint32Array(passed.getMappedRange());
    launches.forEach((each, position) => words.set(each.words, position * step / 4));
    passed.unmap();
    const bound = [{buffer: this.buffer}, {buffer: passed, size: this.argumentBytes}, {buffer: this.record}];
    const entries = bound.map((resource, binding) => ({binding, resource}));
    const group = this.device.createBindGroup({layout: this.layout, entries});
    const runs = encoder.beginComputePass();
    launches.forEach(({kernel, blocks}, position) => {
      runs.setPipeline(this.pipelines[kernel]);
      runs.setBindGroup(0, group, [position * step]);
      runs.dispatchWorkgroups(Math.min(blocks, MOST_BLOCKS), Math.ceil(blocks / MOST_BLOCKS));
    });
    runs.end();
    return passed;
  }
}

/** Open a device with the adapter's maximum limits. */
export async function openDevice() {
  if (!navigator.gpu) throw new Error(`this browser has no WebGPU: ${INSTALL}`);
  const adapter = await navigator.gpu.requestAdapter({powerPreference: "high-performance"});
  if (!adapter) throw new Error(`this browser has no WebGPU adapter: ${INSTALL}`);
  const names = ["maxBufferSize", "maxStorageBufferBindingSize", "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX"];
  const requiredLimits = Object.fromEntries(names.map((name) => [name, adapter.limits[name]]));
  return adapter.requestDevice({requiredLimits});
}

/** Throw an error if a limit of the device is below the requirements of the kernels. */
export function checkNeeds(needs, device) {
  for (const [name, limit] of Object.entries(NEEDS)) {
    const there = device.limits[limit];
    if (needs[name] > there) throw new Error(`the kernels need ${name}=${needs[name]}, but the device has ${there}`);
  }
}
