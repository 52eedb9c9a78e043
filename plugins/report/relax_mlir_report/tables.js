// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that are sorted and filtered: kernels, buffers, stages, facts of kinds that this page does not know.

// A column has a name, a sort key, a cell text, and a flag for numbers.
class SortedTable {
  constructor(table, columns, rows, start) {
    Object.assign(this, { table, columns, rows, filter: () => true });
    this.column = start.column;
    this.isDown = start.isDown;
    this.head = columns.map((column, number) => el("th", { class: column.isNumber ? "number" : null, scope: "col", title: column.about },
      el("button", { type: "button", onclick: () => this.sortBy(number) }, column.name)));
    this.body = el("tbody");
    fill(table, el("thead", {}, el("tr", {}, this.head)), this.body);
    this.show();
  }

  sortBy(number) {
    this.isDown = number === this.column ? !this.isDown : Boolean(this.columns[number].isNumber);
    this.column = number;
    this.show();
  }

  show() {
    const value = this.columns[this.column].value;
    const compare = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }));
    const known = this.rows.filter(this.filter);
    known.sort((one, other) => compare(value(one) ?? -1, value(other) ?? -1) * (this.isDown ? -1 : 1));
    this.head.forEach((cell, number) => cell.setAttribute("aria-sort", number !== this.column ? "none" : this.isDown ? "descending" : "ascending"));
    fill(this.body, known.map((row) => this.line(row)));
    this.shown = known.length;
  }

  line(row) {
    const cells = this.columns.map((column) => el("td", { class: column.isNumber ? "number" : null }, column.show ? column.show(row) : String(column.value(row) ?? "–")));
    const isChosen = row.selection && selected && row.selection.kind === selected.kind && row.selection.number === selected.number;
    return el("tr", { class: `${row.selection ? "row" : ""}${isChosen ? " chosen" : ""}`, onclick: () => { if (row.selection) select(row.selection, "table"); } }, cells);
  }
}

// The bar is as long as its column for the largest share.
function shareBar(share, most) {
  return el("span", { class: "share" }, el("i", {}, el("i", { style: { width: `${Math.max(0.5, (share / most) * 100)}%` } })), el("b", {}, percentText(share)));
}

function kernelRows() {
  return data.kernels.map((kernel, number) => {
    const calls = kernel.calls.map((call) => data.calls[call]);
    const nodes = new Set(kernel.calls.flatMap((call) => nodesOfCall[call]));
    return {
      kernel, number, calls, nodes, bytes: sumOf(calls, (call) => call.bytes), selection: { kind: "kernel", number },
      seconds: isMeasured ? kernelSeconds(kernel) : null,
      flops: sumOf(calls, (call) => call.flops),
      fastest: isMeasured ? sum(calls.map((call) => call.spread?.[0] ?? 0)) : null,
      slowest: isMeasured ? sum(calls.map((call) => call.spread?.[1] ?? 0)) : null,
      roofline: rooflineOf(calls),
      text: [kernel.name, kernel.title, kernel.operator, ...calls.flatMap((call) => call.origins)].join("\n").toLowerCase(),
    };
  });
}

function scheduleText(kernel) {
  const main = kernel.loops.reduce((best, each) => (workOf(each) > workOf(best) ? each : best), kernel.loops[0]);
  if (!main) return kernel.schedule.schedule || (kernel.pattern ? "plain loops" : "–");
  return main.reason ? "plain loops" : `${main.plan}, ${Object.entries(main.tile).filter(([dim, points]) => points > 1 && Number(dim) !== main.vector).map(([, points]) => `${points}×`).join("")}${main.tile[main.vector] ?? 1}×${main.lanes}`;
}
const workOf = (loops) => (loops.reason ? -1 : loops.sizes.reduce((total, size) => total * (typeof size === "number" ? size : 1000), Math.max(1, loops.flops)));

const two = (first, second) => [first, el("small", { class: "muted under" }, second)];
const rateText = (count) => (count === null ? "" : flopText(count, "B/s"));
const codeText = (kernel) => (kernel.code.bytes === undefined ? "" : bytesText(kernel.code.bytes));
const rate = (work, seconds) => (work && seconds ? work / seconds : null);
const spreadText = (fastest, slowest) => (fastest === null ? "" : `${secondsText(fastest)} – ${secondsText(slowest)}`);

function kernelColumns() {
  const mostSeconds = Math.max(1e-12, ...data.kernels.map(kernelSeconds));
  const name = (row) => el("button", { class: "link name", type: "button" }, swatch(row.number), el("span", {}, breakable(row.kernel.title)));
  const outputs = (row) => [...new Set(row.calls.flatMap((call) => call.outputs.map((place) => place.type)))];
  const measured = [
    { name: "Time", isNumber: true, about: "Of all its calls, in one run; under it that of the fastest and of the slowest run", value: (row) => row.seconds, show: (row) => two(secondsText(row.seconds), spreadText(row.fastest, row.slowest)) },
    { name: "Share", isNumber: true, about: "Of the time of a run", value: (row) => row.seconds, show: (row) => shareBar(row.seconds / totalSeconds, mostSeconds / totalSeconds) },
    { name: "FLOP/s", isNumber: true, about: "Operations on numbers a second; under it what is read and written", value: (row) => rate(row.flops, row.seconds), show: (row) => two(flopsText(rate(row.flops, row.seconds)), rateText(rate(row.bytes, row.seconds))) },
    { name: "Roofline", isNumber: true, about: "Of what this machine reaches on one thread: of its arithmetic or of its traffic, whichever bounds the kernel more", value: (row) => row.roofline, show: (row) => (row.roofline === null ? "–" : percentText(row.roofline)) },
  ];
  return [
    { name: "Kernel", value: (row) => row.kernel.title, show: (row) => two(name(row), operatorText(row.kernel.operator)) },
    ...(isMeasured ? measured : []),
    { name: "Calls", isNumber: true, value: (row) => row.calls.length },
    { name: "Writes", about: "Types of the outputs", value: (row) => outputs(row)[0] ?? "", show: (row) => el("code", { class: "types" }, breakable(shortened(outputs(row).join(", ") || "–", 60))) },
    { name: "FLOP", isNumber: true, about: "Operations on numbers, of all calls; under it what is read and written", value: (row) => row.flops, show: (row) => two(flopsText(row.flops), bytesText(row.bytes)) },
    { name: "Schedule", about: "Plan, and the tile: points × vectors × lanes; under it the bytes of machine code", value: (row) => scheduleText(row.kernel), show: (row) => two(scheduleText(row.kernel), codeText(row.kernel)) },
  ];
}

function showKernels() {
  const rows = kernelRows(), columns = kernelColumns();
  const start = { column: columns.findIndex((column) => column.name === (isMeasured ? "Time" : "FLOP")), isDown: true };
  const table = new SortedTable(at("kernel-table"), columns, rows, start);
  const count = () => { at("filtered").textContent = table.shown === rows.length ? plural(rows.length, "kernel") : `${table.shown} of ${plural(rows.length, "kernel")}`; };
  at("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    table.filter = (row) => row.text.includes(wanted);
    table.show();
    count();
  });
  count();
  listeners.push(() => table.show());
  showStrip(rows);
}

// The whole run as one strip: each kernel with its share of the time.
function showStrip(rows) {
  if (!isMeasured) return;
  const sorted = [...rows].sort((one, other) => other.seconds - one.seconds);
  const piece = (colour, share, title, act) => el("i", { style: { flexGrow: share * 1000, flexBasis: 0, background: colour }, onclick: act, onpointermove: (event) => showTip(event, title, percentText(share)), onpointerleave: hideTip });
  fill(at("strip"), sorted.map((row) => piece(kernelColour(row.number), row.seconds / totalSeconds, row.kernel.title, () => select(row.selection, "table"))),
    piece("var(--idle)", data.between / totalSeconds, "Between kernels"));
}

// Table of the steps that codegens report for their parts.
function showParts() {
  const rows = data.calls.flatMap((call, number) => (call.steps ?? []).map((step) => ({ ...step, kernel: data.kernels[call.kernel], colour: call.kernel, selection: { kind: "call", number } })));
  at("parts").hidden = rows.length === 0;
  if (!rows.length) return;
  const most = Math.max(1e-12, ...rows.map((row) => row.seconds));
  const nodes = (row) => el("span", { class: "name", title: row.nodes.join("\n") }, el("span", {}, breakable(shortened(row.nodes.map(lastPart).join(" + ") || "–", 120))));
  const columns = [
    { name: "Step", about: "As the codegen calls it; under it the operators of the model", value: (row) => row.name, show: (row) => two(row.name, row.operator === row.name ? "" : operatorText(row.operator)) },
    { name: "Part", value: (row) => row.kernel.title, show: (row) => el("button", { class: "link name", type: "button" }, swatch(row.colour), el("span", {}, breakable(row.kernel.title))) },
    { name: "Nodes", value: (row) => row.nodes.join(" + "), show: nodes },
    { name: "Time", isNumber: true, about: "Of all its calls, in one run", value: (row) => row.seconds, show: (row) => secondsText(row.seconds) },
    { name: "Share", isNumber: true, about: "Of the time of a run", value: (row) => row.seconds, show: (row) => shareBar(row.seconds / totalSeconds, most / totalSeconds) },
    { name: "Calls", isNumber: true, value: (row) => row.calls },
  ];
  const table = new SortedTable(at("part-table"), columns, rows, { column: 3, isDown: true });
  listeners.push(() => table.show());
}

// Table of the differences to another report.
function showComparison() {
  const { compared } = data;
  at("compared").hidden = compared === null;
  if (compared === null) return;
  const text = { seconds: secondsText, bytes: bytesText, "": countText };
  const factor = (before, now) => (before && now ? `${(now / before).toFixed(2)}×` : "–");
  at("compared-text").textContent = `Before: ${[compared.title, ...compared.about].join(" · ")}. A factor below 1 is less now.`;
  const total = ({ name, unit, before, now }) => el("div", {}, el("b", {}, factor(before, now)), el("small", {}, `${name}: ${before === null ? "–" : text[unit](before)} → ${now === null ? "–" : text[unit](now)}`));
  fill(at("compared-totals"), compared.totals.map(total));
  const kernels = (side) => el("span", {}, breakable(shortened(side.kernels.join(" + ") || "no kernel", 90)));
  const columns = [
    { name: "Nodes", value: (part) => part.nodes.join(" + "), show: (part) => el("span", { class: "name", title: part.nodes.join("\n") }, el("span", {}, breakable(shortened(part.nodes.map(lastPart).join(" + "), 120)))) },
    { name: "Before", value: (part) => part.before.kernels.join(), show: (part) => kernels(part.before) },
    { name: "Now", value: (part) => part.now.kernels.join(), show: (part) => kernels(part.now) },
    { name: "Time before", isNumber: true, value: (part) => part.before.seconds, show: (part) => secondsText(part.before.seconds) },
    { name: "Time now", isNumber: true, value: (part) => part.now.seconds, show: (part) => secondsText(part.now.seconds) },
    { name: "Factor", isNumber: true, value: (part) => (part.before.seconds && part.now.seconds ? part.now.seconds / part.before.seconds : null), show: (part) => factor(part.before.seconds, part.now.seconds) },
    { name: "Gained", isNumber: true, about: "Time before less time now", value: (part) => (part.before.seconds ?? 0) - (part.now.seconds ?? 0), show: (part) => (part.before.seconds === null || part.now.seconds === null ? "–" : secondsText(part.before.seconds - part.now.seconds)) },
  ];
  new SortedTable(at("compared-table"), columns, compared.parts, { column: 3, isDown: true });
}

function showStages() {
  const total = sum(data.stages.map((stage) => stage.seconds));
  const longest = Math.max(...data.stages.map((stage) => stage.seconds), 1e-9);
  const bars = data.stages.map((stage) => [
    el("span", {}, stage.name),
    el("i", { style: { width: `${(stage.seconds / longest) * 100}%` } }),
    el("span", {}, `${secondsText(stage.seconds)} · ${percentText(stage.seconds / (total || 1))}`),
  ]);
  fill(at("stage-bars"), data.stages.length ? el("div", { class: "bars" }, bars.flat()) : el("p", { class: "muted" }, "No stage reported its time."),
    piecesText() ? el("p", { class: "muted hint" }, piecesText()) : null);
}

// Table of the passes: the change in the number of operators and functions, and the applied patterns.
function showPasses() {
  at("passes").hidden = data.passes.length === 0;
  const changes = (pass) => Object.entries(pass.operations).map(([name, count]) => `${name} ${count > 0 ? "+" : "−"}${Math.abs(count)}`).join(", ");
  const patterns = (pass) => Object.entries(pass.patterns).map(([name, count]) => `${name} ${count}×`).join(", ");
  const columns = [
    { name: "Number", isNumber: true, value: (pass) => pass.number, show: (pass) => String(pass.number) },
    { name: "Stage", value: (pass) => pass.stage, show: (pass) => pass.stage },
    { name: "Pass", value: (pass) => pass.name, show: (pass) => el("span", { class: "name" }, el("span", {}, breakable(pass.name))) },
    { name: "Operators", value: changes, show: changes },
    { name: "Patterns applied", value: patterns, show: patterns },
  ];
  const rows = data.passes.map((pass, place) => ({ ...pass, number: place + 1 }));
  new SortedTable(at("pass-table"), columns, rows, { column: 0, isDown: false });
}

function piecesText() {
  const { made, found, seconds } = data.pieces;
  if (made + found < 2) return "";
  const parts = [made ? `${plural(made, "piece")} of code made in ${secondsText(seconds)} of all processes` : "", found ? `${plural(found, "piece")} found in the cache` : ""];
  return `${parts.filter((text) => text).join(", ")}.`;
}

// Text of a fact: a list with commas, or counts by name.
function factText(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(factText).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, each]) => `${name} ${factText(each)}`).join(", ");
  return String(value);
}

// Facts of other kinds, as passes reported them: a table each.
function showOthers() {
  const kinds = Object.entries(data.others);
  at("facts").hidden = kinds.length === 0;
  fill(at("fact-tables"), kinds.map(([kind, rows]) => {
    const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((field) => field !== "kind");
    const table = el("table");
    const columns = fields.map((field) => ({ name: field, isNumber: rows.every((row) => typeof row[field] === "number"), value: (row) => (typeof row[field] === "number" ? row[field] : factText(row[field])), show: (row) => { const text = factText(row[field]); return el("span", text.length > 80 ? { title: text } : {}, breakable(shortened(text, 80))); } }));
    new SortedTable(table, columns, rows, { column: 0, isDown: false });
    return el("div", { class: "plain" }, el("h3", {}, kind), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Facts of kind ${kind}` }, table));
  }));
}
