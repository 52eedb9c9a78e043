// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a program of relax-mlir's target webgpu: `const program = await load("folder"); await program.run({x: data})`.
// What each instruction means is said once more in runtime/webgpu/instructions.py.

const ALIGNMENT = 256n;  // of pieces of memory
const STEP = 256;  // of the arguments of launches
const RECORD_BYTES = 48;
const MOST_BLOCKS = 65535;
const MOST_BYTES = 2 ** 31 - 256;  // addresses are i32
const NEEDS = {threads: "maxComputeInvocationsPerWorkgroup", shared: "maxComputeWorkgroupStorageSize"};
const PAIRS = ["i64", "f64"];  // arguments of two words
const INSTALL = "use a browser that has it: https://github.com/gpuweb/gpuweb/wiki/Implementation-Status";

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  bool: Uint8Array, float16: globalThis.Float16Array ?? Uint16Array, bfloat16: Uint16Array,
};
const READ = {
  i1: (view) => BigInt(view.getInt8(0)), i8: (view) => BigInt(view.getInt8(0)),
  i16: (view) => BigInt(view.getInt16(0, true)), i32: (view) => BigInt(view.getInt32(0, true)),
  i64: (view) => view.getBigInt64(0, true), index: (view) => view.getBigInt64(0, true),
  f32: (view) => view.getFloat32(0, true), f64: (view) => view.getFloat64(0, true),
};
const READ_BYTES = {i1: 1, i8: 1, i16: 2, i32: 4, i64: 8, index: 8, f32: 4, f64: 8};

/** What a check of a program found wrong; `kind` is what Python raises for it, "IndexError". */
export class ProgramError extends Error {
  constructor(kind, message, numbers, place) {
    super(`${place}: ${numbers.reduce((text, number) => text.replace("{}", String(number)), message)}`);
    this.name = this.kind = kind;
  }
}

// ---- numbers ----

const wrapped = (value, width) => BigInt.asIntN(width, value);
const unsigned = (value, width) => BigInt.asUintN(width, value);
const least = (a, b) => (a < b ? a : b);
const clamped = (value, low, high) => (value < low ? low : value > high ? high : value);
const floored = (a, b) => {
  const quotient = a / b;
  return quotient * b !== a && (a < 0n) !== (b < 0n) ? quotient - 1n : quotient;
};
const byZero = (operate) => (a, b, width) => (b === 0n ? 0n : operate(a, b, width));
const ofUnsigned = (operate) => (a, b, width) => operate(unsigned(a, width), unsigned(b, width));

const INTEGERS = {
  addi: (a, b) => a + b, subi: (a, b) => a - b, muli: (a, b) => a * b,
  divsi: byZero((a, b) => a / b), remsi: byZero((a, b) => a % b),
  divui: ofUnsigned(byZero((a, b) => a / b)), remui: ofUnsigned(byZero((a, b) => a % b)),
  floordivsi: byZero(floored), floormodsi: byZero((a, b) => a - floored(a, b) * b),
  ceildivsi: byZero((a, b) => -floored(-a, b)), ceildivui: ofUnsigned(byZero((a, b) => -floored(-a, b))),
  andi: (a, b) => a & b, ori: (a, b) => a | b, xori: (a, b) => a ^ b,
  shli: (a, b, width) => a << (b % BigInt(width)), shrsi: (a, b, width) => a >> (b % BigInt(width)),
  shrui: (a, b, width) => unsigned(a, width) >> (b % BigInt(width)),
  minsi: least, maxsi: (a, b) => (a < b ? b : a),
  minui: ofUnsigned(least), maxui: ofUnsigned((a, b) => (a < b ? b : a)),
};
const FLOATS = {
  addf: (a, b) => a + b, subf: (a, b) => a - b, mulf: (a, b) => a * b, divf: (a, b) => a / b, negf: (a) => -a,
  minimumf: Math.min, maximumf: Math.max, floor: Math.floor, ceil: Math.ceil, trunc: Math.trunc, abs: Math.abs,
  sqrt: Math.sqrt,
};
const COMPARE = {
  eq: (a, b) => a === b, ne: (a, b) => a !== b, slt: (a, b) => a < b, sle: (a, b) => a <= b, sgt: (a, b) => a > b,
  sge: (a, b) => a >= b, oeq: (a, b) => a === b, une: (a, b) => a !== b, olt: (a, b) => a < b,
  ole: (a, b) => a <= b, ogt: (a, b) => a > b, oge: (a, b) => a >= b,
};

function toInteger(value) {
  return Number.isNaN(value) ? 0n : BigInt(Math.trunc(Math.max(-(2 ** 63), Math.min(value, 2 ** 63 - 1024))));
}

// ---- places in memory ----

/** The lowest free place that is large enough is taken. */
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

// ---- what a program has on a device ----

/** Launches are recorded, and submitted when somebody looks. All tensors are in one buffer. */
class DeviceMemory {
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

  /** All kernels, made at once. */
  async makePipelines() {
    const layout = this.device.createPipelineLayout({bindGroupLayouts: [this.layout]});
    const made = this.program.kernels.map(({name, code}) => {
      const module = this.device.createShaderModule({label: name, code});
      return this.device.createComputePipelineAsync({label: name, layout, compute: {module, entryPoint: "main"}});
    });
    this.pipelines = await Promise.all(made);
  }

  /** Has the buffer hold so many bytes. */
  need(bytes) {
    const wanted = Math.max(4, Number(bytes));
    if (this.buffer && this.buffer.size >= wanted) return;
    const {maxStorageBufferBindingSize, maxBufferSize} = this.device.limits;
    const most = Math.min(maxStorageBufferBindingSize, maxBufferSize, MOST_BYTES);
    if (wanted > most) throw new RangeError(`the program needs ${wanted} bytes of the device's memory, of ${most}`);
    const old = this.buffer;
    const size = old ? Math.min(most, Math.max(wanted, 2 * old.size)) : wanted;
    this.buffer = this.device.createBuffer({size, usage: this.usage});
    if (!old) return;
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(old, 0, this.buffer, 0, old.size);
    this.device.queue.submit([encoder.finish()]);
    old.destroy();
  }

  /** Whole words: what is behind the data in the last one is nobody's. */
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
      // An index is of 32 bits in kernels: what is larger than all sizes stays so.
      const held = kind === "index" ? clamped(value, -(1n << 31n), (1n << 31n) - 1n) : value;
      words.push(Number(BigInt.asUintN(32, held)));
      if (kind === "i64") words.push(Number(BigInt.asUintN(32, held >> 32n)));
    });
    this.launches.push({kernel, blocks: Number(blocks), words, place});
  }

  async read(address, bytes) {
    const first = address - address % 4n;
    const [found] = await this.look([[first, bytes + Number(address - first)]]);
    return found.slice(Number(address - first));
  }

  /** Submits, waits, and copies addresses' bytes; throws what kernels have found wrong. */
  async look(pieces) {
    this.need(this.heap.end);
    const encoder = this.device.createCommandEncoder();
    const launches = this.launches;
    this.launches = [];
    const passed = launches.length ? this.encode(encoder, launches) : undefined;
    const sizes = pieces.map(([, bytes]) => Math.ceil(bytes / 4) * 4);
    const total = sizes.reduce((sum, size) => sum + size, RECORD_BYTES);
    const staging = this.device.createBuffer({size: total, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
    encoder.copyBufferToBuffer(this.record, 0, staging, 0, RECORD_BYTES);
    let place = RECORD_BYTES;
    const places = pieces.map(([address], position) => {
      const start = place;
      if (sizes[position]) encoder.copyBufferToBuffer(this.buffer, Number(address), staging, start, sizes[position]);
      place += sizes[position];
      return start;
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

// ---- host code ----

class Run {
  constructor(program, memory) {
    Object.assign(this, {program, memory, given: new Map(), taken: new Set()});
  }

  take(bytes) {
    const address = this.memory.heap.take(bytes);
    this.taken.add(address);
    return address;
  }

  free(address) {
    this.taken.delete(address);
    this.memory.heap.giveBack(address);
  }

  async enter(code, values, place) {
    const registers = new Array(code.registers).fill(0n);
    values.forEach((value, position) => { registers[position] = value; });
    await this.all(code.body, registers, place);
  }

  async all(body, registers, place) {
    for (const [name, ...parts] of body) {
      if (name in INTEGERS) {
        const [to, a, b, width] = parts;
        registers[to] = wrapped(INTEGERS[name](registers[a], registers[b], width), width);
      } else if (name in FLOATS) {
        const [to, ...given] = parts;
        registers[to] = FLOATS[name](...given.map((each) => registers[each]));
      } else {
        await this[`do_${name}`](registers, place, ...parts);
      }
    }
  }

  do_int(registers, _, to, text) { registers[to] = BigInt(text); }

  do_float(registers, _, to, text) { registers[to] = Number(text); }

  do_wrap(registers, _, to, value, width) {
    registers[to] = width > 1 ? wrapped(registers[value], width) : registers[value] & 1n;
  }

  do_unsigned(registers, _, to, value, width) { registers[to] = unsigned(registers[value], width); }

  do_cmpi(registers, _, to, how, a, b) { registers[to] = COMPARE[how](registers[a], registers[b]) ? 1n : 0n; }

  do_cmpf(registers, _, to, how, a, b) { this.do_cmpi(registers, _, to, how, a, b); }

  do_sitofp(registers, _, to, value) { registers[to] = Number(registers[value]); }

  do_fptosi(registers, _, to, value) { registers[to] = toInteger(registers[value]); }

  do_f32(registers, _, to, value) { registers[to] = Math.fround(registers[value]); }

  do_move(registers, _, targets, sources) {
    const values = sources.map((each) => registers[each]);
    targets.forEach((to, position) => { registers[to] = values[position]; });
  }

  do_if(registers, place, condition, yes, no) { return this.all(registers[condition] ? yes : no, registers, place); }

  async do_while(registers, place, before, condition, body) {
    await this.all(before, registers, place);
    while (registers[condition]) {
      await this.all(body, registers, place);
      await this.all(before, registers, place);
    }
  }

  do_call(registers, _, name, given, place) {
    return this.enter(this.program.functions[name], given.map((each) => registers[each]), place);
  }

  do_constant(registers, _, to, place) { registers[to] = BigInt(this.program.constants[place].offset); }

  do_random_key(registers, _, to) { registers[to] = this.memory.keys++; }

  do_alloc(registers, _, to, bytes) { registers[to] = this.take(registers[bytes]); }

  do_free(registers, _, address) {
    if (![...this.given.values()].some((each) => each.address === registers[address])) this.free(registers[address]);
  }

  async do_load(registers, _, to, address, element) {
    const bytes = await this.memory.read(registers[address], READ_BYTES[element]);
    registers[to] = READ[element](new DataView(bytes.buffer, bytes.byteOffset));
  }

  do_launch(registers, place, kernel, blocks, given) {
    this.memory.launch(kernel, registers[blocks], given.map((each) => registers[each]), place);
  }

  do_assert(registers, place, condition, kind, message, numbers, own) {
    if (!registers[condition]) {
      throw new ProgramError(kind, message, numbers.map((each) => registers[each]), own ?? place);
    }
  }

  do_give(registers, _, place, address, sizes, elementBytes) {
    const shape = sizes.map((each) => Number(registers[each]));
    this.given.set(Number(registers[place]), {address: registers[address], shape, elementBytes});
  }
}

// ---- programs ----

const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** The sizes of an argument: as they are given, or as the program and the number of elements say. */
function shapeOf({name, shape}, value) {
  if (value.shape) return value.shape;
  const data = value.data ?? value;
  const unknown = shape.filter((size) => typeof size !== "number");
  const known = count(shape.filter((size) => typeof size === "number"));
  const rest = data.length / known;
  const fits = unknown.length ? unknown.length === 1 && Number.isInteger(rest) : rest === 1;
  if (!fits) throw new TypeError(`argument '${name}' has ${data.length} elements, its shape is [${shape}]: give shape`);
  return shape.map((size) => (typeof size === "number" ? size : rest));
}

export class Program {
  constructor(program, memory) {
    Object.assign(this, {program, memory, entries: program.entries, last: Promise.resolve()});
  }

  /** Results by name, each {data, shape}; arguments are typed arrays, {data, shape}, or numbers. */
  run(given, name = "main") {
    const run = this.last.then(() => this.#run(given, name));
    this.last = run.catch(() => undefined);  // one at a time
    return run;
  }

  async #run(given, name) {
    const entry = this.entries[name];
    if (!entry) throw new TypeError(`no function '${name}'; there are ${Object.keys(this.entries).join(", ")}`);
    const run = new Run(this.program, this.memory);
    try {
      await run.enter(entry, this.#passed(run, entry, given), "the program");
      const found = entry.outputs.map((_, place) => run.given.get(place));
      const pieces = found.map(({address, shape, elementBytes}) => [address, count(shape) * elementBytes]);
      const bytes = await this.memory.look(pieces);
      return Object.fromEntries(entry.outputs.map((each, place) => {
        const data = new ARRAYS[each.dtype](bytes[place].buffer);
        return [each.name, {data, shape: found[place].shape}];
      }));
    } finally {
      run.taken.forEach((address) => run.free(address));
      this.memory.launches = [];
    }
  }

  #passed(run, entry, given) {
    const unknown = Object.keys(given).filter((name) => !entry.inputs.some((each) => each.name === name));
    const names = entry.inputs.map((each) => each.name).join(", ");
    if (unknown.length) throw new TypeError(`no argument '${unknown[0]}'; there are ${names}`);
    const copies = [];
    const values = entry.inputs.flatMap((input) => {
      const value = given[input.name];
      if (value === undefined) throw new TypeError(`missing argument '${input.name}'; there are ${names}`);
      if (!input.shape) return [input.dtype.startsWith("f") ? Number(value) : BigInt(value)];
      const data = value.data ?? value;
      const Kind = ARRAYS[input.dtype];
      if (!(data instanceof Kind)) throw new TypeError(`argument '${input.name}' has to be a ${Kind.name}`);
      const shape = shapeOf(input, value);
      if (shape.length !== input.shape.length || count(shape) !== data.length) {
        throw new TypeError(`argument '${input.name}' has ${data.length} elements, [${shape}] of [${input.shape}]`);
      }
      const address = run.take(BigInt(data.byteLength));
      copies.push([address, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]);
      return [address, ...shape.map(BigInt)];
    });
    copies.forEach(([address, bytes]) => this.memory.write(address, bytes));
    return values;
  }
}

/** A device with all that the adapter has. */
export async function openDevice() {
  if (!navigator.gpu) throw new Error(`this browser has no WebGPU: ${INSTALL}`);
  const adapter = await navigator.gpu.requestAdapter({powerPreference: "high-performance"});
  if (!adapter) throw new Error(`this browser has no adapter of WebGPU: ${INSTALL}`);
  const names = ["maxBufferSize", "maxStorageBufferBindingSize", "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX"];
  const requiredLimits = Object.fromEntries(names.map((name) => [name, adapter.limits[name]]));
  return adapter.requestDevice({requiredLimits});
}

async function fetched(folder, name) {
  const response = await fetch(`${folder}/${name}`);
  if (!response.ok) throw new Error(`${folder}/${name}: ${response.status} ${response.statusText}`);
  return response;
}

/** The program of a folder that `relax-compile --target webgpu -o folder/` has written. */
export async function load(folder = ".", device = undefined) {
  const program = await (await fetched(folder, "program.json")).json();
  if (program.version !== 1) throw new Error(`${folder}/program.json has version ${program.version}, not 1`);
  const chosen = device ?? await openDevice();
  for (const [name, limit] of Object.entries(NEEDS)) {
    const there = chosen.limits[limit];
    if (program.needs[name] > there) throw new Error(`the kernels need ${name}=${program.needs[name]}, of ${there}`);
  }
  const weights = new Uint8Array(await (await fetched(folder, "weights.bin")).arrayBuffer());
  const memory = new DeviceMemory(program, weights, chosen);
  await memory.makePipelines();
  return new Program(program, memory);
}
