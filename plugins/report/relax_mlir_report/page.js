// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts the page together.
function switches(place, names, choose) {
  const buttons = names.map((name, number) => el("button", { type: "button", "aria-pressed": String(number === 0), onclick: () => {
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === number)));
    choose(number);
  } }, name));
  if (names.length > 1) fill(at(place), buttons);
}

function showHead() {
  document.title = `${data.title}: compilation report`;
  at("title").textContent = data.title;
  const target = data.triple ? `${data.target} (${data.triple})` : data.target;
  at("subtitle").textContent = [`relax-mlir ${data.version}`, target, ...data.options.map(([name, value]) => `${name} ${value}`)].join(" · ");
  const called = data.calls.filter((call) => call.kernel !== null);
  const folded = data.nodes.filter((node) => node.why).length;
  const graphOperators = data.operators.filter((operator) => !operator.made);
  const parts = data.kernels.filter((kernel) => kernel.codegen), kernels = data.kernels.filter((kernel) => !kernel.codegen);
  const steps = [
    data.nodes.length ? [data.nodes.length, "nodes", folded ? `${countText(folded)} need no operators` : "of the model"] : null,
    [graphOperators.length, graphOperators.length === 1 ? "operator" : "operators", `${countText(graphOperators.filter((operator) => !operator.rule).length)} of them stay as they are`],
    [called.length, called.length === 1 ? "call" : "calls", [kernels.length ? plural(kernels.length, "kernel") : "", parts.length ? `${plural(parts.length, "part")} of ${codegens.join(", ")}` : ""].filter(Boolean).join(", ")],
  ].filter((step) => step);
  fill(at("flow"), steps.flatMap(([count, name, more], number) => [
    number ? el("span", { "aria-hidden": "true" }, "→") : null,
    el("div", {}, el("b", {}, countText(count)), name, el("small", {}, more)),
  ]));
  const compile = sum(data.stages.map((stage) => stage.seconds));
  const arena = sum(data.memory.map((plan) => plan.arena));
  const flops = called.map((call) => call.flops).filter((count) => count !== null);
  const isAll = flops.length === called.length, isTold = sum(flops) > 0 && flops.length * 2 > called.length;
  const tiles = [
    [bytesText(data.weights.bytes), `weights, ${plural(data.weights.count, "tensor")}`],
    [bytesText(arena), "arena for temporaries"],
    [bytesText(data.code_bytes), "machine code"],
    parts.length ? [bytesText(sum((data.others.external ?? []).map((each) => each.bytes ?? 0))), `code and weights of ${codegens.join(", ")}`] : null,
    isTold ? [`${isAll ? "" : "≥ "}${flopText(sum(flops))}`, "arithmetic in a run"] : null,
    [secondsText(compile), "to compile"],
    isMeasured ? [secondsText(data.seconds), "a run"] : null,
    data.roofline ? [flopText(data.roofline.flops, "FLOP/s"), `${flopText(data.roofline.memory, "B/s")} of memory: the machine, one thread`] : null,
  ];
  fill(at("tiles"), tiles.filter((tile) => tile).map(([value, name]) => el("div", {}, el("b", {}, value), el("small", {}, name))));
  at("note").hidden = data.note === "";
  at("note").classList.toggle("quiet", isMeasured);
  at("note").textContent = data.note;
}

function showSections() {
  const sections = [...document.querySelectorAll("main > section[aria-labelledby]")].filter((section) => !section.hidden);
  fill(at("sections"), sections.map((section) => el("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
}

function start() {
  showHead();
  showDetails(null);
  if (data.graphs.length) {
    const graph = new GraphView();
    switches("levels", data.graphs.map((each) => each.name), (number) => graph.show(number));
    const colours = ["Kernel", ...(isMeasured ? ["Time"] : []), ...(codegens.length ? ["Codegen"] : [])];
    switches("colours", colours, (number) => { graph.colours = colours[number].toLowerCase(); graph.draw(); });
    at("find").addEventListener("input", (event) => graph.find(event.target.value));
    at("find").addEventListener("keydown", (event) => { if (event.key === "Enter") graph.nextHit(); });
  } else {
    at("graph").hidden = true;
  }
  showKernels();
  showParts();
  if (data.memory.length) {
    const memory = new MemoryView();
    switches("functions", data.memory.map((plan) => plan.function), (number) => memory.show(data.memory[number]));
  } else {
    at("memory").hidden = true;
  }
  showComparison();
  showStages();
  showPasses();
  showOthers();
  showSections();
}

start();
