// Groups of nodes, and many names in few letters.
//
// Names fold as the hostlists of the command line do: n[0001-0996,0999]. Nodes are grouped by what
// their names have in common beside the last number, or by a metric that users publish, as `rack`.

import { valueOf } from './readings.js';

/** A group by the names themselves; the other ways are the keys of columns. */
export const BY_NAME = 'name';

/** No groups. */
export const UNGROUPED = '';

/** More groups than this are too many for headings. */
const GROUPS_MOST = 512;

/** A name as what is before its last number, the number, and what is behind it. */
export function parts(name) {
  const [, before, digits, after] = /^(.*?)(\d*)(\D*)$/s.exec(name);
  return { before, digits, after };
}

/** Names in their order as hostlists, each list of numbers with at most `most` parts. */
export function fold(names, most = 6) {
  const lists = Map.groupBy(names, (name) => {
    const { before, digits, after } = parts(name);
    const padded = digits.length > 1 && digits.startsWith('0') ? digits.length : 0;
    return JSON.stringify(digits === '' ? [name] : [before, after, padded]);
  });
  const padless = joined(lists);
  const said = padless.slice(0, most).map((list) => folded(list, most));
  const left = padless.slice(most).reduce((sum, list) => sum + list.length, 0);
  return said.join(', ') + (left > 0 ? ` and ${left} more` : '');
}

/** Lists whose numbers have the same width although only some begin with 0 become one. */
function joined(lists) {
  const whole = new Map();
  for (const list of lists.values()) {
    const { before, digits, after } = parts(list[0]);
    const same = list.every((name) => parts(name).digits.length === digits.length);
    const key = JSON.stringify([before, after, same ? digits.length : 0, digits === '']);
    whole.set(key, [...(whole.get(key) ?? []), ...list]);
  }
  return [...whole.values()];
}

function folded(names, most) {
  if (names.length === 1) return names[0];
  const { before, after } = parts(names[0]);
  const numbers = names.map((name) => parts(name).digits).sort((a, b) => a - b);
  const ranges = [];
  for (const digits of numbers) {
    const last = ranges.at(-1);
    if (last && Number(digits) === Number(last[1]) + 1) last[1] = digits;
    else ranges.push([digits, digits]);
  }
  const said = ranges.slice(0, most).map(([from, to]) => from === to ? from : `${from}-${to}`);
  return `${before}[${said.join()}${ranges.length > most ? ',…' : ''}]${after}`;
}

/** By which columns nodes can be grouped: what users publish and several nodes share. */
export function choices(nodes, columns) {
  const shared = columns.filter(({ key }) => key.startsWith('user.')).filter((column) => {
    const values = nodes.map((node) => valueOf(node, column)).filter((value) => value !== null);
    const different = new Set(values).size;
    return different > 1 && different <= Math.min(GROUPS_MOST, values.length / 2);
  });
  return shared.map(({ key, title }) => ({ key, title }));
}

/**
 * Nodes, which come in order of their names, in groups: [{title, nodes}]. Where each node would be
 * alone, or there is one group only, it has no title.
 */
export function groupsOf(nodes, by, columns) {
  const column = columns.find(({ key }) => key === by);
  if (by === UNGROUPED || (by !== BY_NAME && !column)) return [{ title: '', nodes }];
  const key = by === BY_NAME
    ? ({ name }) => JSON.stringify([parts(name).before, parts(name).after])
    : (node) => valueOf(node, column);
  const found = [...Map.groupBy(nodes, key)];
  if (found.length < 2 || found.length > Math.min(GROUPS_MOST, nodes.length / 2)) {
    return [{ title: '', nodes }];
  }
  if (by === BY_NAME) return found.map(([, same]) => ({ title: foldedNames(same), nodes: same }));
  const natural = new Intl.Collator('en', { numeric: true });
  const last = (value) => value === null;
  found.sort(([a], [b]) => last(a) - last(b) || natural.compare(a, b));
  return found.map(([value, same]) => ({
    title: value === null ? `no ${column.title}` : `${column.title} ${value}`, nodes: same,
  }));
}

function foldedNames(nodes) {
  return fold(nodes.map(({ name }) => name), 2);
}
