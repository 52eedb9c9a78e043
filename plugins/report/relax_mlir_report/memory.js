// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory over time: steps, which are calls and what else writes memory, run to the right, the arena's bytes up. Each buffer is where it is while it is in use.
class MemoryView {
  constructor() {
    this.svg = at("memory-chart");
    this.plan = data.memory[0];
    addEventListener("resize", () => this.draw());
    listeners.push(() => this.draw());
    this.show(this.plan);
  }

  show(plan) {
    this.plan = plan;
    this.findUsers();
    const outside = plan.buffers.filter((buffer) => buffer.offset === null);
    const returned = outside.filter((buffer) => buffer.output !== null).length;
    const parts = [`${plural(plan.buffers.length - outside.length, "buffer")} share an arena of ${bytesText(plan.arena)}; most is in use at step ${plan.peak_step + 1} of ${plan.steps.length}: ${bytesText(plan.peak)}.`];
    if (returned) parts.push(`In the caller's memory: ${plural(returned, "result")}.`);
    if (outside.length > returned) parts.push(`Allocated when made, as sizes are unknown before: ${plural(outside.length - returned, "buffer")}.`);
    if (plan.symbolic.length) parts.push(`Drawn for ${plan.symbolic.map((name) => `${name} = ${data.sizes[name] ?? 1}`).join(", ")}.`);
    at("memory-text").textContent = parts.join(" ");
    this.draw();
    this.table();
  }

  make(tag, attributes, text) {
    const made = document.createElementNS(this.svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  draw() {
    const { plan } = this;
    const width = Math.max(320, at("memory-frame").clientWidth), liveHeight = 64, arenaHeight = 300, left = 70, gap = 26, right = 8;
    const high = liveHeight + gap + arenaHeight + 26, steps = Math.max(plan.steps.length, 1), top = liveHeight + gap;
    const x = (step) => left + (step / steps) * (width - left - right);
    const total = Math.max(plan.arena, 1);
    const y = (bytes) => top + arenaHeight - (bytes / total) * arenaHeight;
    const found = related(selected);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${high}`);
    this.svg.setAttribute("height", high);
    const shapes = [...this.axes(x, y, top, arenaHeight, width - right, left, steps, high)];
    shapes.push(...this.live(x, liveHeight, steps));
    for (const buffer of plan.buffers) if (buffer.offset !== null && buffer.bytes) shapes.push(this.rectangle(buffer, x, y, found));
    const middle = x(plan.peak_step + 0.5), isRight = middle > width * 0.7;
    shapes.push(this.make("line", { class: "peak", x1: middle, x2: middle, y1: 14, y2: top + arenaHeight }));
    shapes.push(this.make("text", { class: "peak-text", x: middle + (isRight ? -6 : 6), y: 11, "text-anchor": isRight ? "end" : "start" }, shortened(`peak ${bytesText(plan.peak)} at ${this.stepName(plan.peak_step)}`, Math.max(12, Math.floor((isRight ? middle - left : width - middle) / 7)))));
    this.svg.replaceChildren(...shapes);
  }

  stepName(step) {
    const call = this.plan.steps[step];
    return call === undefined ? "the beginning" : callLabel(call);
  }

  *axes(x, y, top, arenaHeight, right, left, steps, high) {
    for (let part = 0; part <= 4; part += 1) {
      const bytes = (this.plan.arena * part) / 4;
      yield this.make("line", { class: "axis", x1: left, x2: right, y1: y(bytes), y2: y(bytes) });
      yield this.make("text", { x: left - 8, y: y(bytes) + 4, "text-anchor": "end" }, bytesText(Math.round(bytes)));
    }
    const stride = Math.max(1, Math.ceil(steps / 12));
    for (let step = 0; step < steps; step += stride) yield this.make("text", { x: x(step + 0.5), y: high - 6, "text-anchor": "middle" }, step + 1);
    yield this.make("text", { x: left - 8, y: 14, "text-anchor": "end" }, "in use");
    yield this.make("text", { x: left - 8, y: high - 6, "text-anchor": "end" }, "step");
  }

  // The bytes in use at each call.
  *live(x, height, steps) {
    const most = Math.max(this.plan.peak, 1), { live } = this.plan;
    const y = (bytes) => height - (bytes / most) * (height - 20);
    let path = `M ${x(0)} ${height}`;
    live.forEach((bytes, step) => { path += ` L ${x(step)} ${y(bytes)} L ${x(step + 1)} ${y(bytes)}`; });
    yield this.make("path", { class: "live", d: `${path} L ${x(steps)} ${height} Z` });
  }

  rectangle(buffer, x, y, found) {
    const call = this.writers.get(buffer.number) ?? null;
    const kernel = call === null ? null : data.calls[call].kernel;
    const isOff = found.calls.size > 0 && ![...this.users.get(buffer.number)].some((each) => found.calls.has(each));
    const made = this.make("rect", {
      class: `buffer${isOff ? " off" : ""}`, x: x(buffer.start), width: Math.max(1, x(buffer.end + 1) - x(buffer.start)),
      y: y(buffer.offset + buffer.bytes), height: Math.max(1, y(buffer.offset) - y(buffer.offset + buffer.bytes)),
    });
    made.style.fill = kernel === null ? "var(--idle)" : kernelColour(kernel);
    made.addEventListener("pointermove", (event) => showTip(event, buffer.origins.map(lastPart).join(" + ") || `buffer ${buffer.number}`,
      `${buffer.type} · ${bytesText(buffer.bytes)}${buffer.text ? ` (${buffer.text})` : ""}`, `at byte ${countText(buffer.offset)}, steps ${buffer.start + 1} to ${buffer.end + 1}`,
      call === null ? "" : `made by ${callLabel(call)}`));
    made.addEventListener("pointerleave", hideTip);
    if (call !== null) made.addEventListener("click", () => select({ kind: "call", number: call }, "memory"));
    return made;
  }

  // For each buffer the first call that writes it, and all that read or write it.
  findUsers() {
    this.writers = new Map();
    this.users = new Map(this.plan.buffers.map((buffer) => [buffer.number, new Set()]));
    for (const number of this.plan.steps) {
      const call = data.calls[number];
      for (const place of call.outputs) if (!this.writers.has(place.buffer)) this.writers.set(place.buffer, number);
      for (const place of [...call.inputs, ...call.outputs]) this.users.get(place.buffer)?.add(number);
    }
  }

  table() {
    const where = (buffer) => (buffer.output !== null ? `result ${buffer.output}` : buffer.offset === null ? "allocated when made" : countText(buffer.offset));
    const columns = [
      { name: "Buffer", isNumber: true, value: (buffer) => buffer.number },
      { name: "Made for", value: (buffer) => buffer.origins.join(" + "), show: (buffer) => el("span", { class: "name" }, buffer.origins.join(" + ") || "–") },
      { name: "Type", value: (buffer) => buffer.type, show: (buffer) => el("code", {}, buffer.type) },
      { name: "Bytes", isNumber: true, value: (buffer) => buffer.bytes, show: (buffer) => bytesText(buffer.bytes) },
      { name: "Offset", isNumber: true, value: (buffer) => buffer.offset ?? -1, show: where },
      { name: "From step", isNumber: true, value: (buffer) => buffer.start + 1 },
      { name: "To step", isNumber: true, value: (buffer) => buffer.end + 1 },
    ];
    new SortedTable(at("buffer-table"), columns, this.plan.buffers, { column: 0, isDown: false });
  }
}
