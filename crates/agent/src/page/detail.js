// One node: all its readings, and the history of the chosen one since the page was opened.
//
// Next to the rest if there is room; on a narrow screen a sheet above it, which keeps the focus.

import { rangeOf } from './colours.js';
import { element, format, isNumeric, shownIn } from './readings.js';

const WIDTH = 320;
const HEIGHT = 110;

/** Where the axes of the chart end: left, right, top, bottom. */
const FRAME = { left: 4, right: WIDTH - 4, top: 16, bottom: HEIGHT - 18 };

export class Detail {
  #dialog = document.getElementById('detail');
  #close;
  #name = null;
  #returnTo = null;

  /** `close()` is called when the user has closed it. */
  constructor(close) {
    this.#close = close;
    this.#dialog.addEventListener('close', () => this.#closed());
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.close(); // beside the sheet
    });
  }

  get isOpen() {
    return this.#dialog.open;
  }

  /** Opens a node's detail and gives it the focus. */
  open(name, cluster, column) {
    const from = document.activeElement;
    if (!this.#dialog.contains(from)) this.#returnTo = from;
    if (!this.#dialog.open) {
      this.#name = name;
      this.show(name, cluster, column);
      const narrow = matchMedia('(max-width: 60rem)').matches;
      if (narrow) this.#dialog.showModal();
      else this.#dialog.show();
    }
    this.show(name, cluster, column);
    document.getElementById('detail-name').focus();
  }

  close() {
    this.#dialog.close();
    this.#returnTo?.focus();
  }

  show(name, cluster, column) {
    this.#name = name;
    if (!document.getElementById('detail-name')) this.#frame();
    document.getElementById('detail-name').textContent = name;
    const node = cluster.node(name);
    const state = document.getElementById('detail-state');
    state.textContent = !node ? 'not in the cluster any more'
      : node.shown === 'alive' || node.age_ms === null ? node.shown
        : `${node.shown}; these are its last readings, ${oldness(node.readings_age_ms)}`;
    state.dataset.state = node ? node.shown : 'forgotten';
    sparkline(document.getElementById('detail-spark'), cluster.history(name, column.key), column,
      rangeOf(cluster.nodes, column));
    const list = document.getElementById('detail-readings');
    const columns = cluster.columns.filter(({ key }) => key !== 'name' && key !== 'state');
    list.replaceChildren(...(node ? columns : []).flatMap((column) => [
      element('dt', {}, column.title),
      element('dd', {}, shownIn(node, column)),
    ]));
  }

  #frame() {
    const close = element('button', { type: 'button', 'aria-label': 'Close' }, '✕');
    close.addEventListener('click', () => this.close());
    this.#dialog.replaceChildren(
      element('div', { class: 'top' },
        element('h2', { id: 'detail-name', tabindex: '-1' }), close),
      element('p', { id: 'detail-state' }),
      element('figure', { id: 'detail-spark' }),
      element('dl', { id: 'detail-readings' }),
    );
  }

  /** Comes some time after the closing: a node may be open again, and the focus elsewhere. */
  #closed() {
    if (this.#dialog.open) return;
    this.#close();
    if (document.activeElement !== document.body) return;
    (this.#returnTo?.isConnected ? this.#returnTo : document.getElementById('map')).focus();
  }
}

/**
 * Draws values, given as [at, value or null]; gaps stay gaps. The axis is the map's scale, from 0
 * for what cannot be less, so that little changes look little.
 */
export function sparkline(place, values, column, [low, high]) {
  if (!isNumeric(column)) {
    place.replaceChildren();
    return;
  }
  const seen = values.filter(([, value]) => value !== null);
  const title = column.title;
  if (seen.length === 0) {
    place.replaceChildren(element('figcaption', {}, `${title}: no reading`));
    return;
  }
  const all = seen.map(([, value]) => value);
  const [least, most] = [all.reduce((a, b) => Math.min(a, b)),
    all.reduce((a, b) => Math.max(a, b))];
  const [bottom, top] = [Math.min(low, least), Math.max(high, most)];
  const [first, last] = [values[0][0], values.at(-1)[0]];
  const point = ([at, value]) => {
    const along = (at - first) / Math.max(1, last - first);
    const up = (value - bottom) / (top - bottom || 1);
    const [x, y] = [FRAME.left + along * (FRAME.right - FRAME.left),
      FRAME.bottom - up * (FRAME.bottom - FRAME.top)];
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  const [lowest, highest] = [format(least, column.kind), format(most, column.kind)];
  const text = `${title}: ${format(all.at(-1), column.kind)} now, `
    + (lowest === highest ? 'steady' : `${lowest} to ${highest}`)
    + ` in ${format(last - first, 'ms')}`;
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': text,
    'data-points': seen.length, 'data-from': bottom, 'data-to': top });
  svg.append(...axes([bottom, top].map((end) => format(end, column.kind)), last - first));
  for (const run of runs(values)) {
    const points = run.length === 1 ? [run[0], run[0]] : run;
    svg.append(element('polyline', { points: points.map(point).join(' '), class: 'spark' }));
  }
  const [x, y] = point(seen.at(-1)).split(',');
  svg.append(element('circle', { cx: x, cy: y, r: 3, class: 'now' }));
  place.replaceChildren(svg, element('figcaption', {}, text));
}

/** Lines at the ends of the axis with their values, and the time below. */
function axes([bottom, top], spanMs) {
  const line = (y) => element('line', { x1: FRAME.left, x2: FRAME.right, y1: y, y2: y,
    class: 'axis' });
  const label = (x, y, place, text) => element('text', { x, y, class: place }, text);
  return [line(FRAME.top), line(FRAME.bottom),
    label(FRAME.left, FRAME.top - 4, 'start', top),
    label(FRAME.left, HEIGHT - 5, 'start', `${bottom} · ${format(spanMs, 'ms')} ago`),
    label(FRAME.right, HEIGHT - 5, 'end', 'now')];
}

/** The intervals without a gap. */
function runs(values) {
  const found = [[]];
  for (const sample of values) {
    if (sample[1] !== null) found.at(-1).push(sample);
    else if (found.at(-1).length > 0) found.push([]);
  }
  return found.filter((run) => run.length > 0);
}

/** How old readings are, which is more than the age of the entry of a node that died or left. */
function oldness(age) {
  return age === null ? 'made nobody knows when' : `${format(age, 'ms')} old`;
}
