// The graph of a queue: a box for each node, layer by layer from left to right, and a line from
// what it waits for. The state of a node is told by colour, by a shape and in words; what is on
// the critical path has thick lines.
//
// One node takes part in the order of the tab key; arrows go to the others, left and right along
// the lines and up and down in a layer. What is said of it stands below the picture.

import { element, format } from './elements.js';

const [WIDTH, HEIGHT] = [184, 58];
const [GAP, SPACE] = [56, 14];
const NAME_MOST = 18;
const LINE_MOST = 27;

/** The paths of the shapes, 12 by 12; those of all other states are hollow diamonds. */
const SHAPES = {
  done: 'M0 0 H12 V12 H0 Z',
  running: 'M1 0 L12 6 L1 12 Z',
  failed: 'M0 3 L3 0 L6 3 L9 0 L12 3 L9 6 L12 9 L9 12 L6 9 L3 12 L0 9 L3 6 Z',
  cancelled: 'M0 4 H12 V8 H0 Z',
};
const DIAMOND = 'M6 0 L12 6 L6 12 L0 6 Z';

export class Graph {
  #place;
  #detail;
  #boxes = [];
  #nodes = [];
  #current = 0;

  constructor(place, detail) {
    this.#place = place;
    this.#detail = detail;
  }

  /** Shows a graph; returns what it is, in words. */
  show(graph) {
    const { nodes } = graph;
    const had = this.#boxes.includes(document.activeElement);
    const before = this.#nodes[this.#current];
    const same = nodes.findIndex((node) => before && nameOf(node) === nameOf(before));
    this.#nodes = nodes;
    this.#current = Math.max(0, same);
    const spots = placed(nodes);
    const size = [Math.max(...spots.map(([x]) => x)) + WIDTH + 4,
      Math.max(...spots.map(([, y]) => y)) + HEIGHT + 4];
    const lines = nodes.flatMap((node, at) => node.inputs.map((input) =>
      line(spots[input], spots[at], node.critical && nodes[input].critical)));
    this.#boxes = nodes.map((node, at) => this.#box(node, spots[at], at));
    const picture = element('svg', {
      role: 'group', 'aria-label': `Graph: ${words(graph)} Arrow keys go from node to node.`,
      viewBox: `-2 -2 ${size[0]} ${size[1]}`, width: size[0], height: size[1],
    }, ...lines, ...this.#boxes);
    this.#place.replaceChildren(picture);
    if (had) this.#boxes[this.#current].focus();
    else this.#tell();
    return words(graph);
  }

  clear() {
    this.#boxes = [];
    this.#nodes = [];
    this.#place.replaceChildren();
    this.#detail.textContent = '';
  }

  #box(node, [x, y], at) {
    const marks = node.critical ? ' critical' : '';
    const box = element('g', {
      class: `node ${node.state}${marks}`, transform: `translate(${x} ${y})`, role: 'img',
      tabindex: at === this.#current ? 0 : -1, 'aria-label': about(node), 'data-name': node.name,
    },
    element('rect', { width: WIDTH, height: HEIGHT, rx: 6 }),
    element('path', { class: 'shape', d: SHAPES[node.state] ?? DIAMOND,
      transform: 'translate(8 7)' }),
    text(18, title(node), 26, 'name'),
    text(35, cut(state(node), LINE_MOST)),
    text(50, cut(place(node), LINE_MOST)));
    box.addEventListener('focus', () => this.#enter(at));
    box.addEventListener('click', () => box.focus());
    box.addEventListener('keydown', (event) => this.#key(event, at));
    return box;
  }

  #enter(at) {
    this.#boxes[this.#current]?.setAttribute('tabindex', -1);
    this.#current = at;
    this.#boxes[at].setAttribute('tabindex', 0);
    this.#tell();
  }

  #tell() {
    const node = this.#nodes[this.#current];
    this.#detail.textContent = node ? about(node) : '';
  }

  #key(event, at) {
    const nodes = this.#nodes;
    const inLayer = (to) => (nodes[to]?.layer === nodes[at].layer ? to : undefined);
    const first = (all) => all.find((one) => nodes[one].critical) ?? all[0];
    const behind = () => nodes.flatMap((node, to) => (node.inputs.includes(at) ? [to] : []));
    const to = {
      ArrowUp: () => inLayer(at - 1),
      ArrowDown: () => inLayer(at + 1),
      ArrowLeft: () => first(nodes[at].inputs),
      ArrowRight: () => first(behind()),
      Home: () => 0,
      End: () => nodes.length - 1,
    }[event.key];
    if (!to) return;
    event.preventDefault();
    this.#boxes[to() ?? at].focus();
  }
}

/** Where each node is: a column a layer. */
function placed(nodes) {
  const rows = new Map();
  return nodes.map(({ layer }) => {
    const row = rows.get(layer) ?? 0;
    rows.set(layer, row + 1);
    return [layer * (WIDTH + GAP), row * (HEIGHT + SPACE)];
  });
}

function line([fromX, fromY], [toX, toY], critical) {
  const [x1, y1, x2, y2] = [fromX + WIDTH, fromY + HEIGHT / 2, toX, toY + HEIGHT / 2];
  const bend = Math.min(GAP, (x2 - x1) / 2);
  return element('path', {
    class: `edge${critical ? ' critical' : ''}`,
    d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
  });
}

function text(y, content, x = 8, kind = '') {
  return element('text', { x, y, class: kind }, content);
}

function cut(content, most) {
  return content.length > most ? `${content.slice(0, most - 1)}…` : content;
}

/** The name, and of how many tasks. */
function title({ name, tasks }) {
  const many = tasks > 1 ? ` ×${tasks}` : '';
  return `${cut(name, NAME_MOST - many.length)}${many}`;
}

function nameOf(node) {
  return node.task ?? `${node.layer} ${node.name}`;
}

function counts(states) {
  return Object.entries(states).map(([name, count]) => `${count} ${name}`).join(', ');
}

function state(node) {
  const time = node.ms > 0 ? ` · ${format(node.ms, 'ms')}` : '';
  const again = node.again > 0 ? ' · again' : '';
  return `${node.tasks > 1 ? counts(node.states) : node.state}${again}${time}`;
}

function hosts({ names, total }) {
  const more = total - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Where its output lies, or where it runs or ran. */
function place(node) {
  if (node.lies.total > 0) return `data on ${hosts(node.lies)}`;
  if (node.hosts.total === 0) return '';
  return `${node.state === 'running' ? 'runs' : 'ran'} on ${hosts(node.hosts)}`;
}

/** All that is known of a node. */
function about(node) {
  const parts = [`${node.name}: ${node.tasks > 1 ? `${node.tasks} tasks, ` : ''}`
    + `${counts(node.states)}`];
  if (node.critical) parts.push('on the critical path');
  if (node.ms > 0) parts.push(`${format(node.ms, 'ms')}${node.tasks > 1 ? ' at most' : ''}`);
  if (node.hosts.total > 0) parts.push(`ran on ${hosts(node.hosts)}`);
  if (node.lies.total > 0) {
    parts.push(`${format(node.bytes, 'bytes')} of output on ${hosts(node.lies)}`);
  }
  if (node.again > 0) parts.push(`${node.again} made again`);
  parts.push(`waits for ${node.inputs.length} nodes`);
  return `${parts.join('; ')}.`;
}

function words(graph) {
  const { critical, left_out: left } = graph;
  const parts = [`${graph.tasks} tasks in ${graph.layers} layers: ${counts(graph.states)}.`,
    `Critical path: ${format(critical.ms, 'ms')} in ${critical.tasks.length} tasks.`];
  if (graph.more) parts.push('There are more tasks: only the first were read.');
  if (left.nodes > 0) parts.push(`Left out: ${left.nodes} nodes with ${left.tasks} tasks.`);
  if (left.edges > 0) parts.push(`Left out: ${left.edges} lines.`);
  return parts.join(' ');
}
