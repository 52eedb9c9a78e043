// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fill the side panel with the details of the selection.
function showDetails(selection) {
  const aside = at("details");
  aside.classList.toggle("empty", selection === null);
  if (selection === null) {
    fill(aside, el("p", { class: "title" }, "Nothing selected"),
      el("p", { class: "muted", style: { marginTop: "6px" } }, "Choose a box of the graph, a kernel or a piece of memory: here stands what it became, by which rule, in which kernel."));
    return;
  }
  const shown = { node: nodeDetails, operator: operatorDetails, call: callDetails, kernel: kernelDetails }[selection.kind](selection.number);
  fill(aside, el("button", { class: "close", type: "button", "aria-label": "Close", onclick: () => select(null) }, "×"), shown);
  aside.scrollTop = 0;
}

const heading = (kind, title, colour) => [
  el("div", { class: "kind" }, kind),
  el("div", { class: "title" }, colour === undefined ? null : swatch(colour), title),
];
const part = (title, ...content) => (content.flat().length ? [el("h3", {}, title), ...content.flat()] : []);
const list = (items) => (items.length ? [el("ul", {}, items.map((item) => el("li", {}, item)))] : []);

// Pairs of a name and a value. Empty values are left out.
function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== "–");
  return known.length ? [el("dl", {}, known.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))] : [];
}

function chip(selection, title, detail, kernel) {
  return el("button", { class: "chip", type: "button", onclick: () => select(selection, "details") },
    kernel === undefined ? null : swatch(kernel), el("span", {}, title, detail ? el("small", {}, detail) : null));
}

function some(items, most, show) {
  const shown = items.slice(0, most).map((item) => show(item));
  return items.length > most ? [...shown, el("span", { class: "muted" }, `and ${items.length - most} more`)] : shown;
}

const operatorChip = (number) => {
  const operator = data.operators[number];
  return chip({ kind: "operator", number }, operator.operator.replace("relax.", ""), ruleText(operator));
};
const ruleText = (operator) => (operator.rule ? `rule ${operator.rule} for ${operator.target}` : "stays as it is");
const callChip = (number, title = callLabel(number)) => {
  const call = data.calls[number];
  const detail = [call.outputs.map((place) => place.type).join(", "), call.seconds === undefined ? "" : secondsText(call.seconds)];
  return chip({ kind: "call", number }, title, detail.filter((text) => text).join(" · "), call.kernel);
};
// Link to one call of a kernel, labelled by the nodes of the model.
const callByNodes = (number) => {
  const { origins, position } = data.calls[number];
  return callChip(number, shortened(origins.length ? origins.map(lastPart).join(" + ") : `step at ${position}`, 90));
};
const nodeChip = (number) => chip({ kind: "node", number }, data.nodes[number].op, data.nodes[number].name);

function nodeDetails(number) {
  const node = data.nodes[number];
  const constants = new Set(node.constants.map((each) => each.name));
  const types = typesByName();
  return [
    heading("Node of the model", node.op),
    facts([
      ["name", node.name],
      ["operator set", `${node.domain || "ai.onnx"} ${node.version}`],
      ["nodes inside", node.inner || ""],
      ...Object.entries(node.attributes),
    ]),
    node.why ? el("p", { class: "why", style: { marginTop: "10px" } }, `Needs no operators: ${node.why}.`) : null,
    part("Inputs", list(node.inputs.filter((name) => name && !constants.has(name)).map((name) => valueLine(name, types.get(name))))),
    part("Constants", list(some(node.constants, 8, (each) => valueLine(each.name, `${each.type} · ${bytesText(each.bytes)}`)))),
    part("Outputs", list(node.outputs.map((each) => valueLine(each.name, each.type)))),
    part("Relax operators", list(some(node.operators, 30, operatorChip))),
    part("Kernel calls", list(some(node.calls.filter((call) => data.calls[call].kernel !== null), 30, callChip))),
    folded("As a script", node.operators.slice(0, 30).map((operator) => data.operators[operator]), false),
    kernelTexts(node.calls),
  ].flat(2);
}

let valueTypes = null;
function typesByName() {
  if (valueTypes === null) {
    valueTypes = new Map((data.model?.inputs ?? []).map((input) => [input.name, input.type]));
    data.nodes.forEach((node) => node.outputs.forEach((output) => valueTypes.set(output.name, output.type)));
  }
  return valueTypes;
}
const valueLine = (name, type) => el("span", {}, el("code", {}, name), type ? el("span", { class: "muted" }, `  ${type}`) : null);

function operatorDetails(number) {
  const operator = data.operators[number];
  return [
    heading("Relax operator", operator.operator),
    facts([
      ["rule", operator.rule], ["for target", operator.rule ? operator.target : ""], ["written in", operator.place],
      ["stays", operator.rule ? "" : "it is a view, or what the target takes itself"],
      ["PrimFuncs", operator.rule ? operator.kernels.join(", ") : ""],
      ["results", (operator.results ?? []).join(", ")], ["origins", operator.origins.join(", ")],
      ["made by", operator.made ? "the rule of another operator" : ""],
    ]),
    part("Nodes", list(some(nodesOfOperator[number], 12, nodeChip))),
    part("Kernel calls", list(some(operator.calls.filter((call) => data.calls[call].kernel !== null), 30, callChip))),
    folded("As a script", [operator], true),
    kernelTexts(operator.calls),
  ].flat(2);
}

function callDetails(number) {
  const call = data.calls[number];
  const kernel = call.kernel === null ? null : data.kernels[call.kernel];
  const place = (each) => {
    const where = each.buffer !== undefined ? `buffer ${each.buffer}` : each.input ? `input ${each.input}` : each.constant ? "constant" : "";
    return el("span", {}, el("code", {}, each.type), el("span", { class: "muted" }, `  ${where}`));
  };
  return [
    heading(kernel === null ? "Operation without a kernel" : "Kernel call", callLabel(number), call.kernel),
    facts([
      ["operation", call.operation], ["in function", call.function],
      ["time", call.seconds === undefined ? "" : `${secondsText(call.seconds)} · ${percentText(call.seconds / totalSeconds)}`],
      ["fastest and slowest", call.spread ? spreadText(...call.spread) : ""],
      ["bytes read and written", bytesText(call.bytes)],
      ["arithmetic", call.flops ? flopText(call.flops) : ""],
      ["speed", call.flops && call.seconds ? flopText(call.flops / call.seconds, "FLOP/s") : ""],
      ["traffic", call.bytes && call.seconds ? flopText(call.bytes / call.seconds, "B/s") : ""],
      ["of the roofline", call.roofline ? percentText(call.roofline) : ""],
    ]),
    kernel === null ? [] : part("Kernel", list([kernelChip(call.kernel)])),
    part("Steps", list(some(call.steps ?? [], 40, (step) => el("span", {}, step.name, el("span", { class: "muted" }, `  ${[secondsText(step.seconds), shortened(step.nodes.join(", "), 120)].filter(Boolean).join(" · ")}`))))),
    part("Inputs", list(call.inputs.map(place))),
    part("Outputs", list(call.outputs.map(place))),
    part("Nodes", list(some(nodesOfCall[number], 20, nodeChip))),
    part(call.members.length > 1 ? "Made one of" : "Operators", list(some(operatorsOfCall[number], 30, operatorChip))),
    part("Not made one with", list(some(call.apart ?? [], 12, (each) => el("div", {}, callChip(each.call), el("small", { class: "muted" }, each.reason))))),
    kernel === null ? [] : kernelText(kernel, true),
  ].flat(2);
}

const kernelChip = (number) => {
  const kernel = data.kernels[number];
  return chip({ kind: "kernel", number }, kernel.title, `${plural(kernel.calls.length, "call")} · ${operatorText(kernel.operator)}`, number);
};

function kernelDetails(number) {
  const kernel = data.kernels[number];
  return [
    heading(kernel.codegen ? "Part of a codegen" : "Kernel", kernel.title, number),
    facts([
      ["codegen", kernel.codegen], ["function", kernel.codegen ? kernel.name : ""], ["operators", operatorText(kernel.operator)], ["pattern", kernel.pattern],
      ["schedule", kernel.schedule.schedule ? `${kernel.schedule.schedule} (${kernel.schedule.place})` : kernel.pattern ? "plain loops" : ""],
      ["machine code", kernel.code.bytes === undefined ? "" : bytesText(kernel.code.bytes)],
      ["compiled in", kernel.code.seconds ? secondsText(kernel.code.seconds) : kernel.code.cached ? "nothing: it was in the cache" : ""],
      ["time", isMeasured ? `${secondsText(kernelSeconds(kernel))} · ${percentText(kernelSeconds(kernel) / totalSeconds)}` : ""],
    ]),
    part("Loops", list(kernel.loops.map(loopLine))),
    stepsText(kernel.schedule.steps ?? []),
    part("Schedules that declined", list((kernel.schedule.declined ?? []).map((each) => el("span", {}, each.schedule, el("span", { class: "muted" }, `: ${each.reason}`))))),
    part("Calls", list(some(kernel.calls, 40, callByNodes))),
    kernelText(kernel, true),
  ].flat(2);
}

// The same as lines that relax-compile --schedules takes.
function stepsText(lines) {
  if (!lines.length) return [];
  return [el("details", {}, el("summary", {}, "Loops as steps of a schedule"), el("pre", { tabindex: "0" }, lines.join("\n")))];
}

// Loops of an operation as text: 64 × 112 × 112, summed over 3 × 7 × 7.
function loopLine(loops) {
  if (loops.reason) return el("span", {}, "plain loops", el("span", { class: "muted" }, `: ${loops.reason}`));
  const size = (dim) => (typeof loops.sizes[dim] === "number" ? loops.sizes[dim] : "?");
  const all = loops.sizes.map((_, dim) => dim);
  const outer = all.filter((dim) => !loops.reductions.includes(dim)).map(size).join(" × ");
  const inner = loops.reductions.map(size).join(" × ");
  const tiles = Object.entries(loops.tile).filter(([, points]) => points > 1);
  const tileText = tiles.map(([dim, points]) => (Number(dim) === loops.vector ? `${points} vectors` : `${points} points of loop ${dim}`)).join(" by ");
  const detail = [
    `vectors of ${loops.lanes} along loop ${loops.vector}`, tileText ? `tile ${tileText}` : "",
    loops.blocks.map(([dim, points]) => `blocks of ${points} along loop ${dim}`).join(", "),
    loops.packs ? "packs an input" : "", loops.epilogue === null ? "" : "goes on with the results in registers",
  ];
  return el("span", {}, el("b", {}, loops.plan), ` ${outer}${inner ? `, reduces ${inner}` : ""}`,
    el("div", { class: "muted" }, detail.filter((text) => text).join("; ")));
}

const kernelText = (kernel, isOpen) => folded(`PrimFunc ${kernel.name}`, [kernel], isOpen);

// Scripts, one below the other, with coloured marks.
function folded(title, scripts, isOpen) {
  const known = scripts.filter((script) => script.text);
  if (!known.length) return [];
  const lines = known.flatMap((script, number) => [...(number ? ["\n"] : []), ...coloured(script)]);
  return [el("details", { open: isOpen }, el("summary", {}, title), el("pre", { tabindex: "0" }, lines))];
}

// Marks are triples: characters before a word, characters of it, its kind.
function coloured({ text, marks }) {
  const letters = [...text], parts = [];
  let end = 0;
  for (let place = 0; place < marks.length; place += 3) {
    const start = end + marks[place];
    parts.push(letters.slice(end, start).join(""));
    end = start + marks[place + 1];
    parts.push(el("span", { class: data.marks[marks[place + 2]] }, letters.slice(start, end).join("")));
  }
  return [...parts, letters.slice(end).join("")];
}

function kernelTexts(calls) {
  const kernels = [...new Set(calls.map((call) => data.calls[call].kernel))].filter((kernel) => kernel !== null);
  return kernels.slice(0, 4).flatMap((kernel, place) => kernelText(data.kernels[kernel], place === 0));
}

listeners.push(showDetails);
