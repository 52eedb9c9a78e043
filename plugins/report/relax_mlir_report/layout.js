// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places the boxes of a graph in layers: a reader is below its producers. Time grows with boxes and edges.
const BOX_HEIGHT = 40, LAYER_GAP = 30, BOX_GAP = 18, LANE_WIDTH = 12;
const MOST_LANES = 12000, LONGEST_LANE = 40;

// Gives each box x, y, width, layer, its readers and what it reads; each edge the points that it goes through.
function layOut(graph, widthOf) {
  if (graph.isPlaced) return;
  const boxes = graph.boxes;
  boxes.forEach((box, number) => Object.assign(box, { id: number, reads: [], readers: [], width: widthOf(box), height: BOX_HEIGHT }));
  for (const [source, target] of graph.edges) {
    boxes[target].reads.push(source);
    boxes[source].readers.push(target);
  }
  findLayers(boxes);
  const places = boxes.map((box) => ({ box, layer: box.layer, width: box.width, above: [], below: [], x: 0 }));
  const paths = makePaths(graph, boxes, places);
  const layers = inLayers(places);
  order(layers);
  align(layers);
  places.forEach((place) => {
    place.y = place.layer * (BOX_HEIGHT + LAYER_GAP);
    if (place.box) Object.assign(place.box, { x: place.x, y: place.y });
  });
  graph.paths = paths.map((path) => ({
    source: path.source, target: path.target, isFar: path.isFar, points: path.places.map((place) => [place.x, place.y]),
  }));
  const left = Math.min(...places.map((place) => place.x - place.width / 2));
  const right = Math.max(...places.map((place) => place.x + place.width / 2));
  graph.bounds = { left, right, top: 0, bottom: layers.length * (BOX_HEIGHT + LAYER_GAP) - LAYER_GAP };
  graph.rows = layers.map((layer) => layer.filter((place) => place.box).map((place) => place.box.id));
  graph.isPlaced = true;
}

// The longest path from an input. A box without operands is right above its first reader.
function findLayers(boxes) {
  const waiting = boxes.map((box) => box.reads.length);
  const ready = boxes.filter((box) => box.reads.length === 0).map((box) => box.id);
  boxes.forEach((box) => { box.layer = 0; });
  const done = [];
  for (let next = 0; next < ready.length; next += 1) {
    const box = boxes[ready[next]];
    done.push(box);
    for (const reader of box.readers) {
      boxes[reader].layer = Math.max(boxes[reader].layer, box.layer + 1);
      waiting[reader] -= 1;
      if (waiting[reader] === 0) ready.push(reader);
    }
  }
  for (const box of done) {
    if (box.reads.length === 0 && box.readers.length > 0) {
      box.layer = Math.max(0, Math.min(...box.readers.map((reader) => boxes[reader].layer)) - 1);
    }
  }
  const last = Math.max(0, ...boxes.map((box) => box.layer));
  boxes.forEach((box) => { if (box.kind === "output") box.layer = Math.min(last, box.layer); });
}

// An edge over several layers has a lane in each of them. Far ones have none: of those only the ends are drawn.
function makePaths(graph, boxes, places) {
  let lanes = 0;
  const spanOf = ([source, target]) => boxes[target].layer - boxes[source].layer;
  return [...graph.edges].sort((one, other) => spanOf(one) - spanOf(other)).map(([source, target]) => {
    const path = { source, target, places: [places[source]] };
    const span = spanOf([source, target]);
    path.isFar = span > 1 && (span > LONGEST_LANE || lanes + span > MOST_LANES);
    if (span > 1 && !path.isFar) {
      lanes += span;
      for (let layer = boxes[source].layer + 1; layer < boxes[target].layer; layer += 1) {
        const lane = { box: null, layer, width: LANE_WIDTH, above: [], below: [], x: 0 };
        places.push(lane);
        path.places.push(lane);
      }
    }
    path.places.push(places[target]);
    if (path.isFar) return path; // it has no say in where boxes stand
    for (let step = 1; step < path.places.length; step += 1) {
      path.places[step - 1].below.push(path.places[step]);
      path.places[step].above.push(path.places[step - 1]);
    }
    return path;
  });
}

function inLayers(places) {
  const layers = [];
  for (const place of places) (layers[place.layer] ??= []).push(place);
  for (let layer = 0; layer < layers.length; layer += 1) layers[layer] ??= [];
  return layers;
}

// Few crossings: each place goes to the mean of its neighbours, layer by layer, down and up.
function order(layers) {
  const number = (layer) => layer.forEach((place, position) => { place.position = position; });
  layers.forEach(number);
  const sweep = (layer, side) => {
    for (const place of layer) {
      const near = place[side];
      place.wish = near.length ? sum(near.map((each) => each.position)) / near.length : place.position;
    }
    layer.sort((one, other) => one.wish - other.wish || one.position - other.position);
    number(layer);
  };
  for (let round = 0; round < 8; round += 1) {
    layers.forEach((layer) => sweep(layer, "above"));
    [...layers].reverse().forEach((layer) => sweep(layer, "below"));
  }
  layers.forEach((layer) => sweep(layer, "above"));
}

// Straight edges: each place goes as near to the mean of its neighbours as its neighbours allow.
function align(layers) {
  layers.forEach((layer) => spread(layer, layer.map(() => 0)));
  const sweep = (layer, sides) => spread(layer, layer.map((place) => {
    const near = sides.flatMap((side) => place[side]);
    const weights = near.map(pull);
    return near.length ? sum(near.map((each, number) => each.x * weights[number])) / sum(weights) : place.x;
  }));
  for (let round = 0; round < 10; round += 1) {
    layers.forEach((layer) => sweep(layer, ["above"]));
    [...layers].reverse().forEach((layer) => sweep(layer, round < 7 ? ["below"] : ["above", "below"]));
  }
}

// Weight of a place in the positions of others: near zero for a box without operands, low for passing edges.
const LANE_PULL = 0.15;
const pull = (place) => (!place.box ? LANE_PULL : place.above.length === 0 && place.box.kind !== "input" ? 0.02 : 1);

// The positions in order that are nearest to the wishes: neighbours that would overlap move as one block.
function spread(layer, wishes) {
  const blocks = [];
  let offset = 0;
  layer.forEach((place, number) => {
    if (number > 0) offset += (layer[number - 1].width + place.width) / 2 + BOX_GAP;
    place.offset = offset;
    const weight = pull(place);
    let block = { total: (wishes[number] - offset) * weight, weight, places: [place] };
    while (blocks.length && blocks.at(-1).total / blocks.at(-1).weight > block.total / block.weight) {
      const before = blocks.pop();
      block = { total: before.total + block.total, weight: before.weight + block.weight, places: before.places.concat(block.places) };
    }
    blocks.push(block);
  });
  for (const block of blocks) for (const place of block.places) place.x = block.total / block.weight + place.offset;
}
