// One node: all its readings, and the history of the chosen one since the page was opened.
//
// Next to the rest if there is room; on a narrow screen a sheet above it, which keeps the focus.

import { element, format, isNumeric, valueOf } from './readings.js';

const WIDTH = 320;
const HEIGHT = 72;

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
    state.textContent = node ? node.shown : 'not in the cluster any more';
    state.dataset.state = node ? node.shown : 'forgotten';
    sparkline(document.getElementById('detail-spark'), cluster.history(name, column.key), column);
    const list = document.getElementById('detail-readings');
    const columns = cluster.columns.filter(({ key }) => key !== 'name' && key !== 'state');
    list.replaceChildren(...(node ? columns : []).flatMap((column) => [
      element('dt', {}, column.title),
      element('dd', {}, format(valueOf(node, column), column.kind)),
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

/** Draws values, given as [at, value or null]; gaps stay gaps. */
export function sparkline(place, values, column) {
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
  const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const [first, last] = [values[0][0], values.at(-1)[0]];
  const spread = high - low || 1;
  const point = ([at, value]) => {
    const x = 4 + ((at - first) / Math.max(1, last - first)) * (WIDTH - 8);
    return `${x.toFixed(1)},${(HEIGHT - 6 - ((value - low) / spread) * (HEIGHT - 12)).toFixed(1)}`;
  };
  const [lowest, highest] = [format(low, column.kind), format(high, column.kind)];
  const text = `${title}: ${format(all.at(-1), column.kind)} now, `
    + (lowest === highest ? 'steady' : `${lowest} to ${highest}`)
    + ` in ${format(last - first, 'ms')}`;
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': text,
    'data-points': seen.length });
  for (const run of runs(values)) {
    const points = run.length === 1 ? [run[0], run[0]] : run;
    svg.append(element('polyline', { points: points.map(point).join(' '), class: 'spark' }));
  }
  const [x, y] = point(seen.at(-1)).split(',');
  svg.append(element('circle', { cx: x, cy: y, r: 3, class: 'now' }));
  place.replaceChildren(svg, element('figcaption', {}, text));
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
