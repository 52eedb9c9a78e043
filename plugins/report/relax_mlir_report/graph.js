// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph: a canvas that is moved and zoomed, a small map of it, and keys that follow its edges.
const FONT = '600 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const SMALL_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

class GraphView {
  constructor() {
    this.frame = at("graph-frame");
    this.canvas = at("graph-canvas");
    this.map = at("graph-map");
    this.pen = this.canvas.getContext("2d");
    this.colours = "kernel";
    this.view = { x: 0, y: 0, scale: 1 };
    this.marked = new Set();
    this.hits = [];
    this.listen();
    this.show(0);
  }

  // ---- drawing ----

  show(level) {
    this.graph = data.graphs[level];
    this.pen.font = FONT;
    const width = (text) => this.pen.measureText(text).width;
    layOut(this.graph, (box) => Math.min(230, Math.max(70, width(shortened(box.label, 34)) + 26, Math.min(170, width(lastPart(box.detail)) * 0.85 + 22))));
    this.mostShare = Math.max(1e-9, ...this.graph.boxes.map((box) => shareOf(box) ?? 0));
    this.mark();
    this.resize();
    this.start();
  }

  mark() {
    const found = related(selected);
    const sets = { node: found.nodes, operator: found.operators, call: found.calls };
    this.marked = new Set(this.graph.boxes.filter((box) => sets[box.kind]?.has(box.number)).map((box) => box.id));
  }

  boxOf(selection) {
    const exact = this.graph.boxes.find((box) => selection && box.kind === selection.kind && box.number === selection.number);
    return exact ?? this.graph.boxes[[...this.marked][0]];
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.map]) {
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    }
    this.ratio = ratio;
    // Keep the centre of the view.
    const width = this.canvas.clientWidth;
    if (this.view && this.width) this.view.x += (width - this.width) / 2;
    this.width = width;
    this.draw();
  }

  get size() { return { width: this.canvas.clientWidth, height: this.canvas.clientHeight }; }

  // The beginning of the graph, as wide as fits and can be read.
  start() {
    const { left, right, top, bottom } = this.graph.bounds;
    const wide = (this.size.width - 66) / (right - left || 1), high = (this.size.height - 40) / (bottom - top || 1);
    const scale = Math.min(1, Math.max(0.55, Math.min(wide, Math.max(high, 0.9))));
    const near = this.graph.boxes.filter((box) => box.y < this.size.height / scale);
    const middle = wide < scale ? sum(near.map((box) => box.x)) / (near.length || 1) : (left + right) / 2;
    if (this.map.hidden !== (wide >= scale && high >= scale)) {
      this.map.hidden = !this.map.hidden;
      this.resize();
    }
    this.view = { scale, x: this.size.width / 2 - middle * scale, y: 22 - top * scale };
    this.draw();
  }

  all() {
    const { left, right, top, bottom } = this.graph.bounds;
    const scale = Math.min(1.2, (this.size.width - 46) / (right - left || 1), (this.size.height - 30) / (bottom - top || 1));
    this.view = { scale, x: (this.size.width - (left + right) * scale) / 2, y: (this.size.height - (top + bottom) * scale) / 2 };
    this.draw();
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const scale = Math.min(3, Math.max(0.02, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.draw();
  }

  centre(box) {
    if (!box) return;
    if (this.view.scale < 0.5) this.view.scale = 0.8;
    const { scale } = this.view;
    this.view.x = this.size.width / 2 - box.x * scale;
    this.view.y = this.size.height / 2 - (box.y + BOX_HEIGHT / 2) * scale;
    this.draw();
  }

  isSeen(box) {
    const x = box.x * this.view.scale + this.view.x, y = box.y * this.view.scale + this.view.y;
    return x > 60 && x < this.size.width - 36 && y > 10 && y < this.size.height - 60;
  }

  // ---- drawing ----

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.paint(); });
  }

  paint() {
    const { pen, view, size } = this;
    this.ink = { text: style("--chip-ink"), idle: style("--idle"), idleText: style("--idle-ink"), edge: style("--edge"), accent: style("--accent"), panel: style("--panel"), ink: style("--ink") };
    this.saturation = style("--saturation");
    this.lightness = style("--lightness");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    pen.translate(view.x, view.y);
    pen.scale(view.scale, view.scale);
    const seen = { left: -view.x / view.scale, top: -view.y / view.scale };
    seen.right = seen.left + size.width / view.scale;
    seen.bottom = seen.top + size.height / view.scale;
    this.paintEdges(seen);
    for (const box of this.graph.boxes) {
      const isOut = box.x + box.width / 2 < seen.left || box.x - box.width / 2 > seen.right || box.y > seen.bottom || box.y + BOX_HEIGHT < seen.top;
      if (!isOut) this.paintBox(box);
    }
    this.paintMap(seen);
  }

  paintEdges(seen) {
    const { pen } = this;
    for (const isStrong of [false, true]) {
      pen.beginPath();
      for (const path of this.graph.paths) {
        if (isStrong !== (this.marked.has(path.source) || this.marked.has(path.target))) continue;
        const first = path.points[0], last = path.points.at(-1);
        if (first[1] > seen.bottom || last[1] + BOX_HEIGHT < seen.top) continue;
        if (path.isFar && !isStrong) this.traceEnds(first, last);
        else this.trace(path.points, seen);
      }
      pen.strokeStyle = isStrong ? this.ink.accent : this.ink.edge;
      pen.lineWidth = Math.max(isStrong ? 1.8 : 1.1, 0.6 / this.view.scale);
      pen.stroke();
    }
  }

  // Adjacent far edges would hide everything else; they are whole when one of their ends is selected.
  traceEnds([fromX, fromTop], [toX, toY]) {
    const { pen } = this;
    pen.moveTo(fromX, fromTop + BOX_HEIGHT);
    pen.lineTo(fromX + 4, fromTop + BOX_HEIGHT + 9);
    pen.moveTo(toX - 4, toY - 9);
    pen.lineTo(toX, toY);
  }

  trace(points, seen) {
    const { pen } = this;
    for (let step = 1; step < points.length; step += 1) {
      const [fromX, fromTop] = points[step - 1], [toX, toY] = points[step];
      const isLane = step > 1, fromY = fromTop + BOX_HEIGHT;
      if (fromY > seen.bottom + 200 || toY + BOX_HEIGHT < seen.top - 200) continue;
      if (isLane) { pen.moveTo(fromX, fromTop); pen.lineTo(fromX, fromY); } else pen.moveTo(fromX, fromY);
      const bend = (toY - fromY) / 2;
      pen.bezierCurveTo(fromX, fromY + bend, toX, toY - bend, toX, toY);
    }
  }

  fillOf(box) {
    if (this.colours === "time" && isMeasured) {
      const share = shareOf(box);
      const heat = share === null ? 0 : Math.sqrt(share / this.mostShare);
      return share === null ? this.ink.idle : `hsl(${(58 - 52 * heat).toFixed(0)} ${(14 + 76 * heat).toFixed(0)}% ${this.lightness})`;
    }
    if (this.colours === "codegen") {
      const codegen = box.kernel === null ? "" : data.kernels[box.kernel].codegen;
      return codegen ? `hsl(${hue(codegens.indexOf(codegen)).toFixed(1)} ${this.saturation} ${this.lightness})` : this.ink.idle;
    }
    return box.kernel === null ? this.ink.idle : `hsl(${hue(box.kernel).toFixed(1)} ${this.saturation} ${this.lightness})`;
  }

  paintBox(box) {
    const { pen } = this;
    const left = box.x - box.width / 2, isPort = box.kind === "input" || box.kind === "output";
    const isMarked = this.marked.has(box.id), isDim = selected !== null && this.marked.size > 0 && !isMarked;
    pen.globalAlpha = isDim ? 0.28 : 1;
    pen.beginPath();
    pen.roundRect(left, box.y, box.width, BOX_HEIGHT, isPort ? BOX_HEIGHT / 2 : 8);
    pen.fillStyle = isPort ? this.ink.panel : this.fillOf(box);
    pen.fill();
    if (isPort || isMarked || this.hits.includes(box.id)) {
      pen.strokeStyle = isPort && !isMarked ? this.ink.edge : this.ink.accent;
      pen.lineWidth = isMarked ? Math.max(2.5, 2 / this.view.scale) : 1.5;
      pen.stroke();
    }
    // The text of a dim box has the page's colour to stay readable, as the box is almost transparent.
    pen.globalAlpha = isDim ? 0.72 : 1;
    if (this.view.scale > 0.28) this.write(box, left, isPort || isDim);
    pen.globalAlpha = 1;
  }

  write(box, left, isOnPage) {
    const { pen } = this;
    pen.fillStyle = isOnPage ? this.ink.ink : box.kernel === null ? this.ink.idleText : this.ink.text;
    pen.font = FONT;
    const detail = box.detail && this.view.scale > 0.45 ? lastPart(box.detail) : "";
    pen.fillText(this.cut(box.label, box.width - 18), left + 10, box.y + (detail ? 17 : 25));
    if (!detail) return;
    pen.font = SMALL_FONT;
    pen.globalAlpha *= 0.78;
    pen.fillText(this.cut(detail, box.width - 18), left + 10, box.y + 31);
  }

  // The end of a name says more than its beginning, so the middle goes.
  cut(text, width) {
    const { pen } = this;
    if (pen.measureText(text).width <= width) return text;
    let kept = Math.max(4, Math.floor(text.length * width / pen.measureText(text).width) - 1);
    while (kept > 4 && pen.measureText(text.slice(0, kept)).width > width - 8) kept -= 1;
    const head = Math.ceil(kept * 0.55);
    return `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
  }

  get mapScale() {
    const { left, right, top, bottom } = this.graph.bounds;
    return { x: (this.map.clientWidth - 12) / (right - left || 1), y: (this.map.clientHeight - 12) / (bottom - top || 1), left, top };
  }

  paintMap(seen) {
    const pen = this.map.getContext("2d"), scale = this.mapScale;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.map.clientWidth, this.map.clientHeight);
    const x = (value) => 6 + (value - scale.left) * scale.x, y = (value) => 6 + (value - scale.top) * scale.y;
    for (const box of this.graph.boxes) {
      pen.fillStyle = this.marked.has(box.id) ? this.ink.accent : this.fillOf(box);
      pen.fillRect(x(box.x - box.width / 2), y(box.y), Math.max(2, box.width * scale.x), Math.max(1.2, Math.min(BOX_HEIGHT * scale.y, 12)));
    }
    pen.strokeStyle = this.ink.accent;
    pen.lineWidth = 1.5;
    const edge = (value, end) => Math.min(Math.max(value, 1), end - 1);
    const [left, right] = [edge(x(seen.left), this.map.clientWidth), edge(x(seen.right), this.map.clientWidth)];
    const [top, bottom] = [edge(y(seen.top), this.map.clientHeight), edge(y(seen.bottom), this.map.clientHeight)];
    pen.strokeRect(left, top, right - left, bottom - top);
  }

  // ---- pointer and keys ----

  boxUnder(event) {
    const x = (event.offsetX - this.view.x) / this.view.scale, y = (event.offsetY - this.view.y) / this.view.scale;
    return this.graph.boxes.find((box) => y >= box.y && y <= box.y + BOX_HEIGHT && Math.abs(x - box.x) <= box.width / 2);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      this.drag = { x: event.clientX, y: event.clientY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("pointerup", (event) => {
      const wasClick = this.drag && !this.drag.moved;
      this.drag = null;
      canvas.classList.remove("moving");
      if (wasClick) this.choose(this.boxUnder(event) ?? null);
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0016), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.map.addEventListener("pointerdown", (event) => { this.map.setPointerCapture(event.pointerId); this.jump(event); });
    this.map.addEventListener("pointermove", (event) => { if (event.buttons) this.jump(event); });
    at("zoom-in").addEventListener("click", () => this.zoom(1.3));
    at("zoom-out").addEventListener("click", () => this.zoom(1 / 1.3));
    at("zoom-all").addEventListener("click", () => this.all());
    addEventListener("resize", () => this.resize());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    listeners.push((selection, from) => {
      this.mark();
      const box = this.boxOf(selection);
      if (from !== "graph" && box && !this.isSeen(box)) this.centre(box);
      this.draw();
    });
  }

  moved(event) {
    if (this.drag) {
      const x = event.clientX - this.drag.x, y = event.clientY - this.drag.y;
      if (!this.drag.moved && Math.abs(x) + Math.abs(y) < 4) return;
      this.view.x += x;
      this.view.y += y;
      this.drag = { x: event.clientX, y: event.clientY, moved: true };
      this.canvas.classList.add("moving");
      hideTip();
      this.draw();
      return;
    }
    const box = this.boxUnder(event);
    if (!box) { hideTip(); return; }
    const kernel = box.kernel === null ? "" : kernelLine(box.kernel);
    showTip(event, box.label, box.detail, kernel, timeLine(box));
  }

  jump(event) {
    const scale = this.mapScale;
    const x = (event.offsetX - 6) / scale.x + scale.left, y = (event.offsetY - 6) / scale.y + scale.top;
    this.view.x = this.size.width / 2 - x * this.view.scale;
    this.view.y = this.size.height / 2 - y * this.view.scale;
    this.draw();
  }

  choose(box) {
    if (box && box.number === null) { this.draw(); return; }
    this.current = box ? box.id : null;
    select(box ? { kind: box.kind, number: box.number } : null, "graph");
    if (box) this.say(box);
  }

  say(box) {
    const kernel = box.kernel === null ? "no kernel" : kernelLine(box.kernel);
    at("spoken").textContent = `${box.label} ${box.detail}, ${kernel}`;
  }

  key(event) {
    const moves = { ArrowDown: "readers", ArrowUp: "reads", ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in moves) this.walk(moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.all();
    else if (event.key === "Home") this.start();
    else if (event.key === "Escape") this.choose(null);
    else if (event.key === "Enter") at("details").focus();
    else return;
    event.preventDefault();
  }

  walk(move) {
    const boxes = this.graph.boxes;
    const here = boxes[this.current] ?? this.boxOf(selected);
    let next = here;
    if (!here) next = boxes.find((box) => box.number !== null);
    else if (typeof move === "string") {
      next = boxes[here[move].find((id) => boxes[id].number !== null) ?? here.id];
    } else {
      const row = this.graph.rows[here.layer].filter((id) => boxes[id].number !== null);
      next = boxes[row[row.indexOf(here.id) + move] ?? here.id];
    }
    this.choose(next);
    if (next && !this.isSeen(next)) this.centre(next);
  }

  // ---- finding ----

  find(text) {
    const wanted = text.trim().toLowerCase();
    this.hits = wanted === "" ? [] : this.graph.boxes.filter((box) => searchText(box).includes(wanted)).map((box) => box.id);
    this.hit = -1;
    at("found").textContent = wanted === "" ? "" : this.hits.length ? `${plural(this.hits.length, "hit")}, Enter goes through them` : "nothing found";
    this.draw();
  }

  nextHit() {
    if (!this.hits.length) return;
    this.hit = (this.hit + 1) % this.hits.length;
    const box = this.graph.boxes[this.hits[this.hit]];
    this.choose(box);
    this.centre(box);
  }
}

const callsOfBox = (box) =>
  box.kind === "node" ? data.nodes[box.number].calls : box.kind === "operator" ? data.operators[box.number].calls : box.kind === "call" ? [box.number] : [];
const timeOfBox = (box) => sum(callsOfBox(box).map((call) => data.calls[call].seconds ?? 0));

function shareOf(box) {
  return callsOfBox(box).some((call) => data.calls[call].seconds !== undefined) ? timeOfBox(box) / totalSeconds : null;
}

function timeLine(box) {
  const share = isMeasured ? shareOf(box) : null;
  if (share === null) return "";
  const isShared = callsOfBox(box).some((call) => nodesOfCall[call].length > 1) && box.kind !== "call";
  return `${secondsText(timeOfBox(box))}, ${percentText(share)}${isShared ? " (with what it is fused with)" : ""}`;
}

const searchText = (box) => `${box.label} ${box.detail} ${box.kernel === null ? "" : `${data.kernels[box.kernel].name} ${data.kernels[box.kernel].title}`}`.toLowerCase();
