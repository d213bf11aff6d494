// The map: one cell per node, coloured by a value, with a sign for its state.
//
// One canvas for one node or ten thousand: the DOM would need as many elements. To assistive
// programs it is a grid of which the current cell alone exists, and describes the cell.

import { colour, gradient, placeOf, rangeOf, saturates } from './colours.js';
import { layout } from './layout.js';
import { Painter, measurer } from './painter.js';
import { STATES, element, format, shownIn, valueOf } from './readings.js';

/** The height that the map should not exceed, as a share of the window's. */
const HEIGHT_SHARE = 0.42;
const HEIGHT_LEAST = 260;

export class NodeMap {
  #place;
  #open;
  #nodes = [];
  #column = null;
  #range = [0, 1];
  #matches = () => true;
  #generation = '';
  #current = null;
  #shape = { cell: [1, 1], places: [], columns: 1 };
  #groups = [];
  /** What the layout follows from; it is made again only when that changes. */
  #form = '';
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

  /**
   * Shows groups of nodes, coloured by a column; those that do not match are faint. `generation`
   * says when other names belong to the groups.
   */
  show(groups, column, matches, generation) {
    this.#groups = groups;
    this.#nodes = groups.flatMap(({ nodes }) => nodes);
    this.#column = column;
    this.#matches = matches;
    this.#range = rangeOf(this.#nodes, column);
    this.#generation = `${generation} ${groups.map(({ title }) => title).join()}`;
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
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext('2d');
    this.#arrange(width, context);
    const { places, labels, titles, rowNames, cell, width: wide, height } = this.#shape;
    const look = `${wide}x${height}@${ratio}`;
    if (look !== this.#look) {
      this.#look = look;
      this.canvas.width = Math.round(wide * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${wide}px`;
      this.canvas.style.height = `${height}px`;
    }
    this.canvas.dataset.texts = titles.length + rowNames.length + (labels?.length ?? 0);
    const painter = new Painter(context, ratio, cell);
    painter.clear(wide, height);
    for (const { text, x, y, room } of titles) painter.text(text, x, y + 8, room, { strong: true });
    const beside = { align: 'right' };
    for (const { text, y } of rowNames) painter.text(text, places[0] - 6, y, Infinity, beside);
    const paint = (node, index) => {
      const value = valueOf(node, this.#column);
      const place = value === null ? null : placeOf(value, this.#range);
      painter.node(places[2 * index], places[2 * index + 1], node, place, this.#matches(node),
        labels?.[index]);
    };
    const dead = []; // above the others, which they may overlap
    this.#nodes.forEach((node, index) => {
      if (node.shown === 'dead') dead.push([node, index]);
      else paint(node, index);
    });
    dead.forEach(([node, index]) => paint(node, index));
    const at = this.#at();
    if (at !== null && document.activeElement === this.#place) {
      painter.frame(places[2 * at], places[2 * at + 1]);
    }
  }

  /** Lays the cells out, if names, groups or the room for them have changed. */
  #arrange(width, context) {
    const wanted = Math.max(HEIGHT_LEAST, Math.round(window.innerHeight * HEIGHT_SHARE));
    const form = `${this.#generation} ${this.#nodes.length} ${width} ${wanted}`;
    if (form === this.#form) return;
    this.#form = form;
    this.#shape = layout(this.#groups, width, wanted, measurer(context));
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
    const { places, cell: [, down] } = this.#shape;
    const top = this.canvas.getBoundingClientRect().top + (places[2 * (this.#at() ?? 0) + 1] ?? 0);
    if (top < 0 || top + down > window.innerHeight) {
      window.scrollBy(0, top < 0 ? top - down : top + 2 * down - window.innerHeight);
    }
  }

  #key(event) {
    const at = this.#at() ?? 0;
    const moves = {
      ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.#nodes.length - 1,
      ArrowUp: this.#beside(at, -1), ArrowDown: this.#beside(at, 1),
      PageUp: this.#beside(at, -1, 8), PageDown: this.#beside(at, 1, 8),
    };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const chosen = event.key === 'Enter' || event.key === ' ';
    if (event.key in moves) this.#point(moves[event.key]);
    else if (chosen && this.#current !== null) this.#open(this.#current);
    else return;
    event.preventDefault();
  }

  /** The cell nearest to one in the next row above (-1) or below (1), some rows further. */
  #beside(at, way, rows = 1) {
    const { places } = this.#shape;
    const lines = [...new Set(places.filter((_, i) => i % 2 === 1))].sort((a, b) => way * (a - b));
    const further = lines.filter((line) => way * (line - places[2 * at + 1]) > 0);
    const line = further[Math.min(rows, further.length) - 1];
    if (line === undefined) return at;
    let best = at;
    let least = Infinity;
    for (let index = 0; 2 * index < places.length; index += 1) {
      const far = Math.abs(places[2 * index] - places[2 * at]);
      if (places[2 * index + 1] === line && far < least) [best, least] = [index, far];
    }
    return best;
  }

  #under({ offsetX, offsetY }) {
    const { places, cell: [across, down] } = this.#shape;
    return this.#nodes.find((_, index) => {
      const [x, y] = [offsetX - places[2 * index], offsetY - places[2 * index + 1]];
      return x >= 0 && x < across && y >= 0 && y < down;
    });
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
    const value = shownIn(node, this.#column);
    const age = node.age_ms === null ? 'no entry' : `${format(node.age_ms, 'ms')} old`;
    const shown = this.#column.key === 'age_ms' ? [] : [`${this.#column.title} ${value}`];
    return [node.name, node.shown, ...shown, age].join(' · ');
  }

  /** Describes the current cell to screen readers, and in the line below the canvas. */
  #describe() {
    const { columns } = this.#shape;
    const rows = Math.max(1, Math.ceil(this.#nodes.length / columns));
    const at = this.#at();
    const cell = document.getElementById('map-cell');
    this.#place.setAttribute('aria-rowcount', rows);
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
        element('span', {}, format(high, kind) + (saturates(this.#column) ? ' and more' : '')),
        element('span', { class: 'aside' }, title)),
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
  const painter = new Painter(canvas.getContext('2d'), ratio, [size, size]);
  painter.node(0, 0, node, place, true);
  return canvas;
}
