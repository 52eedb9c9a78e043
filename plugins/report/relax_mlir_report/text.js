// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Common code of the page: the data, elements, numbers for people, colours, the tip under the pointer.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

// An element; text is always set as text, so that no name can become markup.
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

function scaled(value, units, base) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < units.length) { value /= base; unit += 1; }
  const digits = unit === 0 ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}
const bytesText = (count) => (count === null || count === undefined ? "–" : scaled(count, ["B", "KiB", "MiB", "GiB", "TiB"], 1024));
const flopsText = (count) => (count === null || count === undefined ? "–" : scaled(count, ["", "K", "M", "G", "T"], 1000).trim());
const flopText = (count, unit = "FLOP") => scaled(count, [unit, `K${unit}`, `M${unit}`, `G${unit}`, `T${unit}`], 1000);
const countText = (count) => count.toLocaleString("en-US");
const percentText = (share) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;

function secondsText(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0) return `−${secondsText(-seconds)}`;
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(seconds >= 1e-2 ? 1 : 2)} ms`;
  return `${(seconds * 1e6).toFixed(seconds >= 1e-5 ? 0 : 1)} µs`;
}

const plural = (count, word) => `${countText(count)} ${word}${count === 1 ? "" : "s"}`;
const shortened = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);
const lastPart = (name) => name.split("/").filter((part) => part).slice(-2).join("/") || name;
// Text that may be broken behind underscores, slashes and commas.
const breakable = (text) => text.split(/(?<=[_/,])/).flatMap((piece, number) => (number ? [el("wbr"), piece] : [piece]));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const operatorText = (names) => names.replaceAll("relax.", "").replaceAll("+", " + ");

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Neighbours in the list are far apart on the wheel.
const hue = (kernel) => (kernel * 137.508 + 24) % 360;
const kernelColour = (kernel) => `hsl(${hue(kernel).toFixed(1)} var(--saturation) var(--lightness))`;

function swatch(kernel) {
  return el("span", { class: "swatch", style: { background: kernel === null ? "var(--idle)" : kernelColour(kernel) } });
}

function showTip(event, title, ...lines) {
  const tip = at("tip");
  fill(tip, el("b", {}, title), ...lines.filter((line) => line).map((line) => el("div", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? Math.max(8, event.clientY - box.height - 12) : event.clientY + 18}px`;
}
const hideTip = () => { at("tip").hidden = true; };

// ---- what belongs together ----

const nodesOfOperator = data.operators.map(() => []);
const nodesOfCall = data.calls.map(() => []);
const operatorsOfCall = data.calls.map(() => []);
data.nodes.forEach((node, number) => {
  node.operators.forEach((operator) => nodesOfOperator[operator].push(number));
  node.calls.forEach((call) => nodesOfCall[call].push(number));
});
data.operators.forEach((operator, number) => operator.calls.forEach((call) => operatorsOfCall[call].push(number)));

// Codegens of the parts of the program.
const codegens = [...new Set(data.kernels.map((kernel) => kernel.codegen).filter(Boolean))];
const isMeasured = data.calls.some((call) => call.seconds !== undefined);
// Sum of a value over calls, or null if a call lacks the value.
const sumOf = (calls, value) => (calls.some((call) => value(call) === null) ? null : sum(calls.map(value)));
// Average share of the machine's roofline that calls reach, weighted by time.
function rooflineOf(calls) {
  const known = calls.filter((call) => call.roofline !== null && call.roofline !== undefined);
  return known.length ? sum(known.map((call) => call.roofline * call.seconds)) / sum(known.map((call) => call.seconds)) : null;
}
const kernelSeconds = (kernel) => sum(kernel.calls.map((number) => data.calls[number].seconds ?? 0));
const totalSeconds = sum(data.calls.map((call) => call.seconds ?? 0)) + data.between;
const callLabel = (number) => {
  const call = data.calls[number];
  return call.kernel === null ? call.operation.replace("relax.", "") : data.kernels[call.kernel].title;
};
const kernelLine = (number) => (data.kernels[number].codegen ? data.kernels[number].title : `kernel ${data.kernels[number].title}`);

// Return the objects of a selection {kind, number} on every level.
function related(selection) {
  const found = { nodes: new Set(), operators: new Set(), calls: new Set() };
  if (selection === null) return found;
  const { kind, number } = selection;
  if (kind === "node") {
    found.nodes.add(number);
    data.nodes[number].operators.forEach((each) => found.operators.add(each));
    data.nodes[number].calls.forEach((each) => found.calls.add(each));
  } else if (kind === "operator") {
    found.operators.add(number);
    nodesOfOperator[number].forEach((each) => found.nodes.add(each));
    data.operators[number].calls.forEach((each) => found.calls.add(each));
  } else {
    const calls = kind === "kernel" ? data.kernels[number].calls : [number];
    for (const call of calls) {
      found.calls.add(call);
      operatorsOfCall[call].forEach((each) => found.operators.add(each));
      nodesOfCall[call].forEach((each) => found.nodes.add(each));
    }
  }
  return found;
}

const listeners = [];
let selected = null;
function select(selection, from) {
  selected = selection;
  listeners.forEach((listener) => listener(selection, from));
}
