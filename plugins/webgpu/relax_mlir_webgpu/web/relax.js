// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runtime for programs of relax-mlir's target webgpu:
// `const program = await load("folder"); await program.run({x: data})`.
// relax_mlir_webgpu/runtime/instructions.py implements the same instructions.

import {DeviceMemory, ProgramError, checkNeeds, openDevice} from "./device.js";

export {ProgramError, openDevice};

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

// ---- numbers ----

const wrapped = (value, width) => BigInt.asIntN(width, value);
const unsigned = (value, width) => BigInt.asUintN(width, value);
const least = (a, b) => (a < b ? a : b);
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

// ---- host code ----

class Run {
  constructor({program, memory, functions}) {
    Object.assign(this, {program, memory, functions, given: new Map(), taken: new Set()});
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

  /** Call a function that the caller of load() provides. The function writes to some of its arguments. */
  async do_packed(registers, _, name, given) {
    const call = this.functions[name];
    if (!call) throw new TypeError(`the program calls '${name}': load(folder, device, {"${name}": (...tensors) => ...})`);
    const passed = given.map((each) => {
      if (!Array.isArray(each)) return registers[each];
      const [dtype, address, sizes] = each;
      return {dtype, address: registers[address], shape: sizes.map((size) => Number(registers[size]))};
    });
    const tensors = passed.filter((each) => each.shape);
    // The host reads and writes whole words. Other bytes in the first and last words stay unchanged.
    const pieces = tensors.map(({dtype, address, shape}) => {
      const bytes = Number(address % 4n) + count(shape) * ARRAYS[dtype].BYTES_PER_ELEMENT;
      return [address - address % 4n, Math.ceil(bytes / 4) * 4];
    });
    const words = await this.memory.look(pieces);
    tensors.forEach((each, place) => {
      each.data = new ARRAYS[each.dtype](words[place].buffer, Number(each.address % 4n), count(each.shape));
    });
    const before = words.map((each) => each.slice());
    await call(...passed);
    words.forEach((each, place) => {
      if (each.some((byte, at) => byte !== before[place][at])) this.memory.write(pieces[place][0], each);
    });
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

/** Return the shape of an argument: its own shape, or the shape that follows from the number of elements. */
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

/** Return the sizes in the shapes of arguments, by their names in the program. */
function sizesOf(shapes) {
  return Object.fromEntries(shapes.flatMap(([input, shape]) => input.shape.map((size, axis) => [size, shape[axis]])));
}

/** Rows that calls of a function have appended so far, on the device. `run(given, cache)` appends rows without copying
 * the existing ones. A smaller `length` discards the last rows. `free` releases the memory. */
export class Cache {
  constructor(program, name, {room = 0, ...sizes}) {
    const entry = program.entries[name];
    if (!entry?.grown) throw new TypeError(`function '${name}' adds rows to nothing: compile it with donate`);
    Object.assign(this, {program, memory: program.memory, name, entry, sizes, length: 0, capacity: 0});
    this.room = Math.max(room, 64);
    this.buffers = entry.grown.map((grown) => ({...grown, described: entry.inputs[grown.input]}));
    this.places = new Set([entry.grown[0].length, ...entry.grown.map((each) => each.input)]);
  }

  /** Reserve memory for the rows that a call appends, and return their number. */
  async reserve(given) {
    const sizes = {...given, ...this.sizes};
    const {added} = this.buffers[0];
    const rows = Number(sizes[added] ?? added);
    if (this.length + rows <= this.capacity) return rows;
    const capacity = Math.max(this.length + rows, this.capacity ? 2 * this.capacity : this.room);
    for (const each of this.buffers) {
      const shape = each.described.shape.map((size, axis) => (axis === each.axis ? capacity : sizes[size] ?? size));
      const unknown = shape.find((size) => typeof size !== "number");
      const {name} = each.described;
      if (unknown) throw new TypeError(`no argument has the size ${unknown} of '${name}': give it to cache()`);
      const bytes = ARRAYS[each.described.dtype].BYTES_PER_ELEMENT;
      const row = count(shape.slice(each.axis + 1)) * bytes;
      const whole = new Uint8Array(count(shape) * bytes);
      const before = this.length ? await this.memory.look(this.rows(each)) : [];
      before.forEach((held, position) => whole.set(held, position * capacity * row));
      const address = this.memory.heap.take(BigInt(whole.byteLength));
      this.memory.write(address, whole);
      if (each.shape) this.memory.heap.giveBack(each.address);
      Object.assign(each, {shape, row, address});
    }
    this.capacity = capacity;
    return rows;
  }

  /** Return the addresses and sizes in bytes of the rows in a buffer. */
  rows({address, row, axis, shape}) {
    const starts = Array.from({length: count(shape.slice(0, axis))}, (_, place) => BigInt(place * shape[axis] * row));
    return starts.map((start) => [address + start, this.length * row]);
  }

  /** Return the values that the cache passes for an argument, or undefined for an argument of the caller. */
  passed(place) {
    if (place === this.entry.grown[0].length) return [0n, BigInt(this.length), 0n];
    const found = this.buffers.find((each) => each.input === place);
    return found && [found.address, ...found.shape.map(BigInt)];
  }

  /** Return a copy of the rows of an argument as {data, shape}. */
  get(name) {
    return this.program.inTurn(async () => {
      const found = this.buffers.find((each) => each.described.name === name && each.shape);
      if (!found) throw new TypeError(`the cache has no rows of '${name}'`);
      const bytes = await new Blob(await this.memory.look(this.rows(found))).arrayBuffer();
      return {data: new ARRAYS[found.described.dtype](bytes), shape: found.shape.with(found.axis, this.length)};
    });
  }

  free() {
    this.buffers.forEach((each) => each.shape && this.memory.heap.giveBack(each.address));
    this.buffers.forEach((each) => { each.shape = undefined; });
    this.length = this.capacity = 0;
  }
}

export class Program {
  constructor(program, memory, functions) {
    Object.assign(this, {program, memory, functions, entries: program.entries, last: Promise.resolve()});
  }

  /** Return an empty cache for the growing arguments of a function. `sizes` is {room, batch: 1}: the initial capacity in
   * rows, and the sizes that no other argument determines. */
  cache(name = "main", sizes = {}) {
    return new Cache(this, name, sizes);
  }

  /** Run a function and return its results by name, each as {data, shape}. Arguments are typed arrays, {data, shape} or
   * numbers. `of` is the name of a function, or a cache for the function. */
  run(given, of = "main") {
    return this.inTurn(() => (of instanceof Cache ? this.#run(given, of.name, of) : this.#run(given, of)));
  }

  /** Run asynchronous work after all earlier work of this program. */
  inTurn(work) {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }

  async #run(given, name, cache) {
    const entry = this.entries[name];
    if (!entry) throw new TypeError(`no function '${name}'; there are ${Object.keys(this.entries).join(", ")}`);
    if (entry.grown && !cache) throw new TypeError(`'${name}' adds rows to a cache: run(given, cache("${name}"))`);
    const run = new Run(this);
    try {
      const shapes = this.#shapes(entry.inputs.filter((_, place) => !cache?.places.has(place)), given);
      const added = await cache?.reserve(sizesOf(shapes));
      await run.enter(entry, this.#passed(run, entry, given, new Map(shapes), cache), "the program");
      const found = entry.outputs.map((_, place) => run.given.get(place));
      const pieces = found.map(({address, shape, elementBytes}) => [address, count(shape) * elementBytes]);
      const bytes = await this.memory.look(pieces);
      if (cache) cache.length += added;
      return Object.fromEntries(entry.outputs.map((each, place) => {
        const data = new ARRAYS[each.dtype](bytes[place].buffer);
        return [each.name, {data, shape: found[place].shape}];
      }));
    } finally {
      run.taken.forEach((address) => run.free(address));
      this.memory.launches = [];
    }
  }

  /** Check that the arguments match the inputs, and return the inputs that are tensors with their shapes. */
  #shapes(inputs, given) {
    const names = inputs.map((each) => each.name).join(", ");
    const unknown = Object.keys(given).find((name) => !inputs.some((each) => each.name === name));
    if (unknown) throw new TypeError(`no argument '${unknown}'; there are ${names}`);
    const missing = inputs.find(({name}) => given[name] === undefined);
    if (missing) throw new TypeError(`missing argument '${missing.name}'; there are ${names}`);
    return inputs.filter((each) => each.shape).map((input) => {
      const value = given[input.name];
      const data = value.data ?? value;
      const Kind = ARRAYS[input.dtype];
      if (!(data instanceof Kind)) throw new TypeError(`argument '${input.name}' has to be a ${Kind.name}`);
      const shape = shapeOf(input, value);
      if (shape.length !== input.shape.length || count(shape) !== data.length) {
        throw new TypeError(`argument '${input.name}' has ${data.length} elements, [${shape}] of [${input.shape}]`);
      }
      return [input, shape];
    });
  }

  #passed(run, entry, given, shapes, cache) {
    const copies = [];
    const values = entry.inputs.flatMap((input, place) => {
      const kept = cache?.passed(place);
      if (kept) return kept;
      const value = given[input.name];
      if (!input.shape) return [input.dtype.startsWith("f") ? Number(value) : BigInt(value)];
      const data = value.data ?? value;
      const address = run.take(BigInt(data.byteLength));
      copies.push([address, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]);
      return [address, ...shapes.get(input).map(BigInt)];
    });
    copies.forEach(([address, bytes]) => this.memory.write(address, bytes));
    return values;
  }
}

async function fetched(folder, name) {
  const response = await fetch(`${folder}/${name}`);
  if (!response.ok) throw new Error(`${folder}/${name}: ${response.status} ${response.statusText}`);
  return response;
}

/** Load a program from a folder that `relax-compile --target webgpu -o folder/` has written. `functions` has the
 * functions that the program calls by name. They take tensors as {data, shape}, and write to some of them. */
export async function load(folder = ".", device = undefined, functions = {}) {
  const program = await (await fetched(folder, "program.json")).json();
  if (program.version !== 1) throw new Error(`${folder}/program.json has version ${program.version}, not 1`);
  const chosen = device ?? await openDevice();
  checkNeeds(program.needs, chosen);
  const weights = new Uint8Array(await (await fetched(folder, "weights.bin")).arrayBuffer());
  const memory = new DeviceMemory(program, weights, chosen);
  await memory.makePipelines();
  return new Program(program, memory, functions);
}
