// The histogram of ages: how old the entries of living nodes are, in bins of even width.
//
// The tail is long when a node is silent: ages beyond twice the 90th percentile fall
// into one last bin, so that the others stay readable.

import { element, format, roundUp } from './readings.js';

const BINS = 20;
const WIDTH = 320;
const HEIGHT = 110;
const BASE = 92;

/** Bins of the ages: {width, counts, beyond}; null without any. */
export function histogram(ages) {
  if (ages.length === 0) return null;
  const ordered = Float64Array.from(ages).sort();
  const reach = Math.min(ordered.at(-1), 2 * quantile(ordered, 0.9));
  const width = roundUp(Math.max(reach, 1) / BINS, 'ms');
  const counts = new Array(Math.min(BINS, Math.floor(reach / width) + 1)).fill(0);
  let beyond = 0;
  for (const age of ordered) {
    const bin = Math.floor(age / width);
    if (bin < counts.length) counts[bin] += 1;
    else beyond += 1;
  }
  return { width, counts, beyond };
}

/** The value that a share of the ordered values does not exceed. */
export function quantile(ordered, share) {
  return ordered[Math.max(0, Math.ceil(share * ordered.length) - 1)];
}

/** Shows the ages of living nodes but the observer, whose own is always 0. */
export function showAges(cluster) {
  const living = cluster.nodes.filter((node) =>
    !['dead', 'left', 'unheard'].includes(node.shown) && node.name !== cluster.observer);
  const ages = living.map((node) => node.age_ms).filter((age) => age !== null);
  const place = document.getElementById('ages');
  const text = document.getElementById('ages-text');
  const bins = histogram(ages);
  place.closest('section').hidden = bins === null; // a node by itself knows no age
  if (bins === null) return;
  const ordered = ages.toSorted((a, b) => a - b);
  const say = (share) => format(quantile(ordered, share), 'ms');
  const units = (ordered.at(-1) / cluster.intervalMs).toFixed(1);
  text.textContent = `Half are younger than ${say(0.5)}, 99 % than ${say(0.99)}; the oldest `
    + `is ${say(1)} (${units} units). ${ages.length} nodes.`;
  place.replaceChildren(chart(bins, text.textContent));
}

function chart({ width, counts, beyond }, text) {
  const all = beyond > 0 ? [...counts, beyond] : counts;
  const most = Math.max(...all);
  const gap = beyond > 0 ? 14 : 0;
  const step = (WIDTH - gap) / Math.max(all.length, 8);
  const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
  const svg = element('svg', { viewBox, role: 'img', 'aria-label': text });
  all.forEach((count, bin) => {
    const last = beyond > 0 && bin === counts.length;
    const height = count === 0 ? 0 : Math.max(2, (count / most) * (BASE - 16));
    const x = bin * step + (last ? gap : 0);
    svg.append(element('rect', { x: x + 1, y: BASE - height, width: step - 2, height,
      class: last ? 'bin beyond' : 'bin' }));
    if (bin === all.indexOf(most) || last) {
      svg.append(element('text', { x: x + step / 2, y: BASE - height - 4, class: 'middle' },
        String(count)));
    }
  });
  svg.append(element('line', { x1: 0, x2: WIDTH, y1: BASE, y2: BASE, class: 'axis' }));
  const half = Math.floor(counts.length / 2);
  const ticks = beyond > 0 ? [0, half] : [0, half, counts.length];
  for (const at of new Set(ticks)) {
    const end = at === counts.length && counts.length >= 8;
    const place = at === 0 ? 'start' : end ? 'end' : 'middle';
    svg.append(element('text', { x: at * step, y: HEIGHT - 4, class: place },
      format(at * width, 'ms')));
  }
  if (beyond > 0) svg.append(element('text', { x: WIDTH, y: HEIGHT - 4, class: 'end' }, 'older'));
  return svg;
}
