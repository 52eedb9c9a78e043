// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that are sorted and filtered: kernels, buffers, stages, facts of kinds that this page does not know.

// Columns have a name, the value to sort by, what is shown, and whether they are numbers.
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
    const bytes = sum(calls.map(callBytes));
    return {
      kernel, number, calls, nodes, bytes: Number.isNaN(bytes) ? null : bytes, selection: { kind: "kernel", number },
      seconds: isMeasured ? kernelSeconds(kernel) : null,
      flops: kernel.flops === null ? null : kernel.flops * calls.length,
      text: [kernel.name, kernel.operator, ...calls.flatMap((call) => call.origins)].join("\n").toLowerCase(),
    };
  });
}

function scheduleText(kernel) {
  const main = kernel.loops.reduce((best, each) => (workOf(each) > workOf(best) ? each : best), kernel.loops[0]);
  if (!main) return kernel.schedule.schedule || (kernel.pattern ? "plain loops" : "–");
  return main.reason ? "plain loops" : `${main.plan}, ${Object.entries(main.tile).filter(([dim, points]) => points > 1 && Number(dim) !== main.vector).map(([, points]) => `${points} × `).join("")}${main.tile[main.vector] ?? 1} × ${main.lanes}`;
}
const workOf = (loops) => (loops.reason ? -1 : loops.sizes.reduce((total, size) => total * (size ?? 1000), Math.max(1, loops.flops)));

function kernelColumns() {
  const mostSeconds = Math.max(1e-12, ...data.kernels.map(kernelSeconds));
  const name = (row) => el("button", { class: "link name", type: "button" }, swatch(row.number), el("span", {}, breakable(row.kernel.name)));
  const outputs = (row) => [...new Set(row.calls.flatMap((call) => call.outputs.map((place) => place.type)))];
  const measured = [
    { name: "Time", isNumber: true, about: "Of all its calls, in one run", value: (row) => row.seconds, show: (row) => secondsText(row.seconds) },
    { name: "Share", isNumber: true, about: "Of the time of a run", value: (row) => row.seconds, show: (row) => shareBar(row.seconds / totalSeconds, mostSeconds / totalSeconds) },
    { name: "FLOP/s", isNumber: true, value: (row) => (row.flops && row.seconds ? row.flops / row.seconds : null), show: (row) => (row.flops && row.seconds ? flopsText(row.flops / row.seconds) : "–") },
  ];
  const hasCode = data.kernels.some((kernel) => kernel.code.bytes !== undefined);
  return [
    { name: "Kernel", value: (row) => row.kernel.name, show: name },
    { name: "Operators", value: (row) => row.kernel.operator, show: (row) => operatorText(row.kernel.operator) || "–" },
    ...(isMeasured ? measured : []),
    { name: "Calls", isNumber: true, value: (row) => row.calls.length },
    ...(data.nodes.length ? [{ name: "Nodes", isNumber: true, about: "Of the model, whose work it does", value: (row) => row.nodes.size }] : []),
    { name: "Writes", about: "Types of the outputs", value: (row) => outputs(row)[0] ?? "", show: (row) => el("code", {}, shortened(outputs(row).join(", ") || "–", 60)) },
    { name: "Bytes", isNumber: true, about: "Read and written, of all calls", value: (row) => row.bytes, show: (row) => bytesText(row.bytes) },
    { name: "FLOP", isNumber: true, about: "Operations on numbers, of all calls", value: (row) => row.flops, show: (row) => flopsText(row.flops) },
    { name: "Schedule", about: "Plan, and the tile: points × vectors × lanes", value: (row) => scheduleText(row.kernel), show: (row) => el("span", { class: "line" }, scheduleText(row.kernel)) },
    ...(hasCode ? [{ name: "Code", isNumber: true, value: (row) => row.kernel.code.bytes, show: (row) => bytesText(row.kernel.code.bytes) }] : []),
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
  fill(at("strip"), sorted.map((row) => piece(kernelColour(row.number), row.seconds / totalSeconds, row.kernel.name, () => select(row.selection, "table"))),
    piece("var(--idle)", data.between / totalSeconds, "Between kernels"));
}

function showStages() {
  const total = sum(data.stages.map((stage) => stage.seconds));
  const longest = Math.max(...data.stages.map((stage) => stage.seconds), 1e-9);
  const bars = data.stages.map((stage) => [
    el("span", {}, stage.name),
    el("i", { style: { width: `${(stage.seconds / longest) * 100}%` } }),
    el("span", {}, `${secondsText(stage.seconds)} · ${percentText(stage.seconds / (total || 1))}`),
  ]);
  fill(at("stage-bars"), data.stages.length ? el("div", { class: "bars" }, bars.flat()) : el("p", { class: "muted" }, "No stage told its time."),
    piecesText() ? el("p", { class: "muted hint" }, piecesText()) : null);
}

function piecesText() {
  const { made, found, seconds } = data.pieces;
  if (made + found < 2) return "";
  const parts = [made ? `${plural(made, "piece")} of code made in ${secondsText(seconds)} of all processes` : "", found ? `${plural(found, "piece")} found in the cache` : ""];
  return `${parts.filter((text) => text).join(", ")}.`;
}

// Facts of other kinds, as passes told them: a table each.
function showOthers() {
  const kinds = Object.entries(data.others);
  at("facts").hidden = kinds.length === 0;
  fill(at("fact-tables"), kinds.map(([kind, rows]) => {
    const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((field) => field !== "kind");
    const cell = (value) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));
    const table = el("table");
    const columns = fields.map((field) => ({ name: field, isNumber: rows.every((row) => typeof row[field] === "number"), value: (row) => (typeof row[field] === "number" ? row[field] : cell(row[field])), show: (row) => cell(row[field]) }));
    new SortedTable(table, columns, rows, { column: 0, isDown: false });
    return el("div", { class: "plain" }, el("h3", {}, kind), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Facts of kind ${kind}` }, table));
  }));
}
