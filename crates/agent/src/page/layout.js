// Where each node's cell lies on the map, and where names stand.
//
// The largest cells that fit the height win: with whole names in them; else with what their group
// does not say already; else bare, with the first name of a row before it. So there are names at
// any size. Groups are blocks that flow like words.

import { parts } from './groups.js';

const NAMED = { height: [44, 22], room: 12, least: 44 };
const SHORT = { height: [28, 20], room: 8, least: 24 };
const BARE_MOST = 40;
const BARE_LEAST = 4;
const HEADING = 18;
const GAP = 10;

/** A title narrower than this widens its block; a longer one is cut. */
const TITLE_MOST = 150;

/** Row names at least so far apart. */
const ROW_NAMES_APART = 13;

/** Numbers of columns at which rows begin with even numbers. */
const EVEN = [8, 10, 12, 16, 20, 24, 25, 30, 32, 40, 48, 50, 60, 64, 80, 100, 120, 128, 150, 160,
  200, 250, 256, 300, 320, 400, 500, 512];

/**
 * The layout of groups in a width, with a wanted height, where `measure` gives the width of a text:
 * {width, height, cell: [w, h], places: [x, y, …], labels, titles, rowNames}.
 */
export function layout(groups, width, wanted, measure) {
  const whole = groups.map(({ nodes }) => nodes.map(({ name }) => name));
  const short = groups.map(({ title, nodes }) => nodes.map(({ name }) => brief(name, title)));
  for (const [form, labels] of [[NAMED, whole], [SHORT, short]]) {
    const count = labels.reduce((sum, list) => sum + list.length, 0);
    if (count * form.least * form.height[1] > width * wanted) continue;
    const widest = labels.flat().reduce((most, text) => Math.max(most, measure(text)), 0);
    const across = Math.max(form.least, Math.ceil(widest) + form.room);
    if (across > width) continue;
    for (let down = form.height[0]; down >= form.height[1]; down -= 2) {
      const placed = flow(groups, width, [across, down], measure, 0);
      if (placed.height <= wanted) return { ...placed, labels: labels.flat(), rowNames: [] };
    }
  }
  return bare(groups, width, wanted, measure);
}

function brief(name, title) {
  const { digits, after } = parts(name);
  return digits === '' ? name : title === '' || after.length < 3 ? digits + after : digits;
}

function bare(groups, width, wanted, measure) {
  const alone = groups.length === 1;
  const margin = alone ? Math.ceil(measure(groups[0].nodes.at(-1)?.name ?? '')) + 8 : 0;
  let placed;
  for (let size = BARE_MOST; size >= BARE_LEAST; size -= 1) {
    placed = flow(groups, width, [size, size], measure, margin < width / 3 ? margin : 0);
    if (placed.height <= wanted) break;
  }
  const named = alone && margin < width / 3;
  return { ...placed, labels: null, rowNames: named ? rowNames(groups[0].nodes, placed) : [] };
}

/** The name before each row, where rows are lower than letters before every other. */
function rowNames(nodes, { columns, cell: [, down] }) {
  const every = Math.max(1, Math.ceil(ROW_NAMES_APART / down));
  const names = [];
  for (let row = 0; row * columns < nodes.length; row += every) {
    names.push({ text: nodes[row * columns].name, y: Math.max(6.5, row * down + down / 2) });
  }
  return names;
}

function flow(groups, width, cell, measure, margin) {
  const [across, down] = cell;
  const alone = groups.length === 1;
  const most = Math.max(1, Math.floor((width - margin) / across));
  const largest = groups.reduce((size, { nodes }) => Math.max(size, nodes.length), 1);
  const square = Math.ceil(Math.sqrt((largest * 2 * down) / across));
  const columns = alone ? even(most, largest) : parting(Math.min(most, square), largest);
  const places = [];
  const titles = [];
  let [x, y, tallest, right] = [margin, 0, 0, 0];
  for (const { title, nodes } of groups) {
    const wide = Math.min(columns, nodes.length);
    const needed = title === '' ? 0 : Math.min(TITLE_MOST, measure(title) + 2);
    const block = Math.min(width - margin, Math.max(wide * across, needed));
    if (x > margin && x + block > width) [x, y, tallest] = [margin, y + tallest + GAP, 0];
    const top = y + (title === '' ? 0 : HEADING);
    if (title !== '') titles.push({ text: title, x, y, room: block });
    nodes.forEach((_, i) => places.push(x + (i % columns) * across,
      top + Math.floor(i / columns) * down));
    const bottom = top + Math.ceil(nodes.length / columns) * down;
    tallest = Math.max(tallest, bottom - y);
    right = Math.max(right, x + block);
    x += block + GAP;
  }
  return { width: right, height: y + tallest, cell, places, titles, columns };
}

/** A number of columns that leaves no gap in the last row, if there is one near to `most`. */
function parting(most, count) {
  const exact = EVEN.findLast((columns) => columns <= most && count % columns === 0);
  return count > most && exact > most / 2 ? exact : even(most, count);
}

/** The largest even number of columns that is not more than fits, where there are several rows. */
function even(most, count) {
  if (count <= most) return Math.max(1, most);
  return EVEN.findLast((columns) => columns <= most) ?? most;
}
