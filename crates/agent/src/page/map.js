// The map: one cell per node, coloured by a value, with a sign for its state.
//
// One canvas for one node or ten thousand: the DOM would need as many elements. To assistive
// programs it is a grid of which the current cell alone exists, and describes the cell.

import { colour, gradient, ink, placeOf, rangeOf } from './colours.js';
import { STATES, element, format, valueOf } from './readings.js';

const CELL_MOST = 48;
const CELL_LEAST = 6;
const HEIGHT_WANTED = 300;

/** The narrowest cell with a name in it: there is room for a mark above. */
const NAMED_LEAST = 38;

export class NodeMap {
  #place;
  #open;
  #nodes = [];
  #column = null;
  #range = [0, 1];
  #matches = () => true;
  #current = null;
  #shape = { columns: 1, cell: CELL_MOST };
  #look = '';

  /** `open(name)` is called for the node that was chosen. */
  constructor(open) {
    this.#place = document.getElementById('map');
    this.#open = open;
    this.canvas = document.getElementById('canvas');
    this.#place.addEventListener('keydown', (event) => this.#key(event));
    this.#place.addEventListener('focus', () => this.#point(this.#at() ?? 0));
    this.#place.addEventListener('blur', () => this.draw());
    this.canvas.addEventListener('pointermove', (event) => this.#hover(event));
    this.canvas.addEventListener('click', (event) => {
      const node = this.#under(event);
      if (!node) return;
      this.#current = node.name;
      this.#open(node.name);
    });
    new ResizeObserver(() => this.draw()).observe(this.#place);
    for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)']) {
      matchMedia(query).addEventListener('change', () => this.#repaint());
    }
  }

  /** Shows nodes in their order, coloured by a column; those that do not match are faint. */
  show(nodes, column, matches) {
    this.#nodes = nodes;
    this.#column = column;
    this.#matches = matches;
    this.#range = rangeOf(nodes, column);
    this.draw();
    this.#describe();
    this.#legend();
  }

  /** Draws everything again, with other colours. */
  #repaint() {
    delete document.getElementById('legend').dataset.text;
    if (!this.#column) return;
    this.draw();
    this.#legend();
  }

  /** The colour of a node's cell; null where the value is missing. */
  colour(node) {
    const value = valueOf(node, this.#column);
    return value === null ? null : colour(placeOf(value, this.#range));
  }

  draw() {
    const width = this.#place.clientWidth;
    if (width === 0 || !this.#column) return;
    this.#shape = shape(this.#nodes.length, width);
    const { columns, cell, rows } = this.#shape;
    const ratio = window.devicePixelRatio || 1;
    const look = `${columns * cell}x${rows * cell}@${ratio}`;
    if (look !== this.#look) {
      this.#look = look;
      this.canvas.width = Math.round(columns * cell * ratio);
      this.canvas.height = Math.round(rows * cell * ratio);
      this.canvas.style.width = `${columns * cell}px`;
      this.canvas.style.height = `${rows * cell}px`;
    }
    const painter = new Painter(this.canvas.getContext('2d'), ratio, cell);
    painter.clear(columns * cell, rows * cell);
    const names = cell < NAMED_LEAST ? [] : this.#nodes.map((node) => node.name);
    const label = labelOf(names, (text) => painter.fits(text));
    this.#nodes.forEach((node, index) => {
      const value = valueOf(node, this.#column);
      const place = value === null ? null : placeOf(value, this.#range);
      const [x, y] = [(index % columns) * cell, Math.floor(index / columns) * cell];
      painter.node(x, y, node, place, this.#matches(node), label(node.name));
    });
    const at = this.#at();
    if (at !== null && document.activeElement === this.#place) {
      painter.frame((at % columns) * cell, Math.floor(at / columns) * cell);
    }
  }

  #at() {
    const at = this.#nodes.findIndex((node) => node.name === this.#current);
    return at < 0 ? null : at;
  }

  #point(index) {
    const last = this.#nodes.length - 1;
    const node = this.#nodes[Math.min(last, Math.max(0, index))];
    this.#current = node?.name ?? null;
    this.draw();
    this.#describe();
    const { columns, cell } = this.#shape;
    const top = this.canvas.getBoundingClientRect().top
      + Math.floor((this.#at() ?? 0) / columns) * cell;
    if (top < 0 || top + cell > window.innerHeight) {
      window.scrollBy(0, top < 0 ? top - cell : top + 2 * cell - window.innerHeight);
    }
  }

  #key(event) {
    const { columns, rows } = this.#shape;
    const at = this.#at() ?? 0;
    const page = columns * Math.max(1, Math.floor(rows / 4));
    const moves = {
      ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - columns, ArrowDown: at + columns,
      Home: 0, End: this.#nodes.length - 1, PageUp: at - page, PageDown: at + page,
    };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const chosen = event.key === 'Enter' || event.key === ' ';
    if (event.key in moves) this.#point(moves[event.key]);
    else if (chosen && this.#current !== null) this.#open(this.#current);
    else return;
    event.preventDefault();
  }

  #under(event) {
    const { columns, cell } = this.#shape;
    const [x, y] = [Math.floor(event.offsetX / cell), Math.floor(event.offsetY / cell)];
    return x >= 0 && x < columns && y >= 0 ? this.#nodes[y * columns + x] : undefined;
  }

  #hover(event) {
    const node = this.#under(event);
    if (node) this.#caption(node);
  }

  #caption(node) {
    const text = this.#words(node);
    const caption = document.getElementById('map-caption');
    if (caption.textContent !== text) caption.textContent = text;
  }

  #words(node) {
    const value = format(valueOf(node, this.#column), this.#column.kind);
    const age = node.age_ms === null ? 'no entry' : `${format(node.age_ms, 'ms')} old`;
    const shown = this.#column.key === 'age_ms' ? [] : [`${this.#column.title} ${value}`];
    return [node.name, node.shown, ...shown, age].join(' · ');
  }

  /** Describes the current cell to screen readers, and in the line below the canvas. */
  #describe() {
    const { columns, rows } = this.#shape;
    const at = this.#at();
    const cell = document.getElementById('map-cell');
    this.#place.setAttribute('aria-rowcount', rows ?? 1);
    this.#place.setAttribute('aria-colcount', columns);
    if (at === null) {
      this.#place.removeAttribute('aria-activedescendant');
      return;
    }
    const node = this.#nodes[at];
    document.getElementById('map-row').setAttribute('aria-rowindex', Math.floor(at / columns) + 1);
    cell.setAttribute('aria-colindex', (at % columns) + 1);
    cell.textContent = this.#words(node);
    this.#place.setAttribute('aria-activedescendant', 'map-cell');
    this.#caption(node);
  }

  #legend() {
    const [low, high] = this.#range;
    const { kind, title, key } = this.#column;
    const counts = Map.groupBy(this.#nodes, (node) => node.shown);
    const states = [...counts.keys()].sort((a, b) => STATES.indexOf(b) - STATES.indexOf(a));
    const text = JSON.stringify([low, high, key, states.map((s) => [s, counts.get(s).length])]);
    const legend = document.getElementById('legend');
    if (legend.dataset.text === text) return;
    legend.dataset.text = text;
    const bar = element('span', { class: 'bar' });
    bar.style.background = gradient();
    legend.replaceChildren(
      element('span', { class: 'scale' }, element('span', {}, format(low, kind)), bar,
        element('span', {}, format(high, kind)), element('span', { class: 'aside' }, title)),
      element('span', { class: 'key' }, swatch({ shown: 'alive' }, null), 'no reading'),
      ...states.map((state) => element('span', { class: 'key' },
        swatch({ shown: state }, state === 'unheard' || state === 'dead' ? null : 0.75),
        `${state} ${counts.get(state).length}`)),
    );
  }
}

function swatch(node, place) {
  const size = 16;
  const ratio = window.devicePixelRatio || 1;
  const canvas = element('canvas', { width: size * ratio, height: size * ratio, class: 'swatch',
    'aria-hidden': 'true' });
  const painter = new Painter(canvas.getContext('2d'), ratio, size);
  painter.node(0, 0, node, place, true);
  return canvas;
}

/** How many cells of which width fill a place: as large as the height allows. */
export function shape(count, width) {
  let cell = CELL_MOST;
  while (cell > CELL_LEAST && Math.ceil(count / Math.floor(width / cell)) * cell > HEIGHT_WANTED) {
    cell -= 1;
  }
  const columns = Math.max(1, Math.min(count, Math.floor(width / cell)));
  return { columns, cell, rows: Math.max(1, Math.ceil(count / columns)) };
}

/**
 * The text in the cells: whole names if all of them fit, else what follows their common
 * beginning if that fits, else nothing: names cut so that several look alike would mislead.
 */
export function labelOf(names, fits) {
  if (names.length === 0) return () => '';
  if (names.every(fits)) return (name) => name;
  const first = names.reduce((a, b) => (b < a ? b : a));
  const last = names.reduce((a, b) => (b > a ? b : a));
  let common = 0;
  while (common < first.length && first[common] === last[common]) common += 1;
  const rest = (name) => `…${name.slice(common)}`;
  const told = names.every((name) => name.length > common && fits(rest(name)));
  return told ? rest : () => '';
}

/** Paints cells of one size. */
class Painter {
  #context;
  #cell;
  #hatch;
  #style;

  constructor(context, ratio, cell) {
    const style = getComputedStyle(document.documentElement);
    this.#context = context;
    this.#cell = cell;
    this.#style = (name) => style.getPropertyValue(name);
    this.#hatch = hatch(context, this.#style('--hatch'), this.#style('--panel'), ratio);
    this.colours = { edge: this.#style('--edge'), text: this.#style('--text') };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
  }

  clear(width, height) {
    this.#context.clearRect(0, 0, width, height);
  }

  /** Whether a text has room in a cell. */
  fits(text) {
    return this.#context.measureText(text).width <= this.#cell - 8;
  }

  node(x, y, node, place, matches, label = '') {
    const context = this.#context;
    const gap = this.#cell > 10 ? 2 : 1;
    const size = this.#cell - gap;
    context.globalAlpha = matches ? 1 : 0.15;
    context.fillStyle = place === null ? this.#hatch : colour(place);
    context.fillRect(x, y, size, size);
    if (size > 10) {
      context.strokeStyle = this.colours.edge;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    }
    const paint = place === null ? this.colours.text : ink(place);
    if (node.shown !== 'alive') {
      if (place === null) this.#clearing(x, y, size);
      this.#mark(x, y, size, node.shown, paint, label !== '');
    }
    if (label) this.#label(x, y, size, node, paint, label);
    context.globalAlpha = 1;
  }

  #label(x, y, size, node, paint, text) {
    const context = this.#context;
    const middle = node.shown === 'alive' ? y + size / 2 : y + size - 9;
    if (paint === this.colours.text && node.shown === 'alive') this.#clearing(x, y, size);
    context.fillStyle = paint;
    context.fillText(text, x + size / 2, middle);
  }

  /** Makes room for a mark in the hatching. */
  #clearing(x, y, size) {
    this.#context.fillStyle = this.#style('--panel');
    const inset = Math.max(1, size * 0.07);
    this.#context.fillRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
  }

  /** One sign per state: a cross, a question mark, a clock, a dash, a point. */
  #mark(x, y, size, state, paint, labelled) {
    const context = this.#context;
    const [centre, middle] = [x + size / 2, y + (labelled ? size * 0.36 : size / 2)];
    const reach = labelled ? size * 0.22 : size * 0.3;
    context.strokeStyle = paint;
    context.fillStyle = paint;
    context.lineWidth = Math.max(1.2, size / 12);
    context.beginPath();
    if (state === 'dead') {
      context.moveTo(centre - reach, middle - reach);
      context.lineTo(centre + reach, middle + reach);
      context.moveTo(centre + reach, middle - reach);
      context.lineTo(centre - reach, middle + reach);
    } else if (state === 'left') {
      context.moveTo(centre - reach, middle);
      context.lineTo(centre + reach, middle);
    } else if (state === 'stale') {
      context.arc(centre, middle, reach, 0, 2 * Math.PI);
      context.moveTo(centre, middle - reach * 0.7);
      context.lineTo(centre, middle);
      context.lineTo(centre + reach * 0.5, middle);
    } else if (state === 'unheard') {
      context.arc(centre, middle, Math.max(1, reach * 0.6), 0, 2 * Math.PI);
      context.fill();
    } else {
      context.arc(centre, middle - reach * 0.4, reach * 0.55, Math.PI, 2.4 * Math.PI);
      context.lineTo(centre, middle + reach * 0.4);
      context.moveTo(centre, middle + reach * 0.8);
      context.lineTo(centre, middle + reach * 1.1);
    }
    context.stroke();
  }

  frame(x, y) {
    const context = this.#context;
    const size = this.#cell - 1;
    context.lineWidth = 4;
    context.strokeStyle = this.#style('--panel');
    context.strokeRect(x + 1, y + 1, size - 2, size - 2);
    context.lineWidth = 2;
    context.strokeStyle = this.#style('--focus');
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  }
}

function hatch(context, line, ground, ratio) {
  const size = 6 * Math.ceil(ratio);
  const tile = element('canvas', { width: size, height: size });
  const paint = tile.getContext('2d');
  paint.fillStyle = ground;
  paint.fillRect(0, 0, size, size);
  paint.strokeStyle = line;
  paint.lineWidth = ratio;
  for (const shift of [-size, 0, size]) {
    paint.moveTo(shift, size);
    paint.lineTo(shift + size, 0);
  }
  paint.stroke();
  const pattern = context.createPattern(tile, 'repeat');
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}
