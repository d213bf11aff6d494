// The first lines: what is wrong, in red and in words, and the cluster as a whole.
//
// The title of the window counts what is wrong too, so that a tab in the background says it.

import { fold } from './groups.js';
import { STATES, element, format } from './readings.js';

/** States that somebody should look at, the worst first. */
const WRONG = ['dead', 'suspected', 'stale', 'unheard'];

/** Characters of the names of a state in the title at most; else there is the count alone. */
const TITLE_NAMES_MOST = 30;

/** Names in a line at most. */
const LISTS_MOST = 5;

const at = (id) => document.getElementById(id);

/** The nodes of each state, in the order of their names: [state, nodes], the best first. */
export function byState(nodes) {
  const found = [...Map.groupBy(nodes, ({ shown }) => shown)];
  return found.sort(([a], [b]) => STATES.indexOf(b) - STATES.indexOf(a));
}

/** What the nodes that take part have together: [title, text], those that are known. */
export function totals(nodes) {
  const here = nodes.filter(({ shown }) => ['alive', 'stale', 'suspected'].includes(shown));
  const sum = (key, those = here) =>
    those.reduce((total, node) => total + (node[key] ?? 0), 0);
  const having = (...keys) => here.filter((node) => keys.every((key) => node[key] !== null
    && node[key] !== undefined));
  const [timed, loaded] = [having('cores', 'cpu_busy_percent'), having('cores', 'load1')];
  const room = having('mem_available_bytes', 'mem_total_bytes');
  const cores = sum('cores');
  const busy = timed.reduce((total, node) => total + node.cores * node.cpu_busy_percent, 0);
  const found = [['nodes', `${here.length} of ${nodes.length}`]];
  if (cores > 0) found.push(['cores', `${cores}`]);
  if (timed.length > 0) found.push(['busy', format(busy / sum('cores', timed), 'percent')]);
  if (loaded.length > 0) {
    found.push(['load per core', format(sum('load1', loaded) / sum('cores', loaded), 'load')]);
  }
  if (room.length > 0) {
    const [free, all] = ['mem_available_bytes', 'mem_total_bytes'].map((key) => sum(key, room));
    found.push(['memory free', `${format(free, 'bytes')} of ${format(all, 'bytes')}`]);
  }
  return found;
}

/** What is wrong, as `2 dead (n[7-8]), 1 stale (n3)`; empty if nothing is. */
export function wrongIn(states) {
  const found = new Map(states);
  return WRONG.filter((state) => found.has(state)).map((state) => {
    const nodes = found.get(state);
    const names = fold(nodes.map(({ name }) => name), LISTS_MOST);
    const said = names.length <= TITLE_NAMES_MOST ? ` (${names})` : '';
    return `${nodes.length} ${state}${said}`;
  }).join(', ');
}

/** Shows the first lines; `choose(filter)` is called for a state that was clicked. */
export function showHeader(cluster, ordered, choose) {
  const { status } = cluster;
  const states = byState(ordered);
  const wrong = wrongIn(states);
  document.title = [wrong || (status.ill ? 'this agent is ill' : ''), status.cluster, 'Tidings']
    .filter(Boolean).join(' · ');
  at('title').textContent = status.cluster;
  const [average, most] = [status.age_avg_ms, status.age_max_ms].map((age) => format(age, 'ms'));
  const colony = status.colony === null || status.colony === undefined
    ? '' : ` · colony ${status.colony}, ${status.colonies} known`;
  at('summary').textContent = `seen by ${status.name} · ${status.known} of ${status.members} `
    + `nodes heard · ages ${average} on average, ${most} at most · `
    + `unit ${format(status.interval_ms, 'ms')}${colony}`;
  replace(at('states'), states, ([state, nodes]) => chip(state, nodes.length, choose));
  replace(at('totals'), totals(ordered), ([title, text]) =>
    element('div', {}, element('dt', {}, title), element('dd', {}, text)));
  replace(at('troubles'), troubles(states, status), (text) => element('li', {}, text));
  at('version').textContent = `Tidings ${status.version}`;
}

/** One line a state that is wrong: who, and since when nothing came. */
function troubles(states, status) {
  const lines = states.toReversed().filter(([state]) => WRONG.includes(state))
    .map(([state, nodes]) => {
      const ages = nodes.map(({ age_ms: age }) => age).filter((age) => age !== null);
      const [low, high] = [ages.reduce((a, b) => Math.min(a, b), Infinity),
        ages.reduce((a, b) => Math.max(a, b), 0)].map((age) => format(age, 'ms'));
      const since = ages.length === 0 ? ''
        : `, last entry ${low === high ? low : `${low} to ${high}`} ago`;
      return `${state}: ${fold(nodes.map(({ name }) => name), LISTS_MOST)}${since}`;
    });
  return status.ill ? [`this agent: ${status.ill}`, ...lines] : lines;
}

function chip(state, count, choose) {
  const made = element('button', { type: 'button', class: 'state', 'data-state': state,
    'data-wrong': WRONG.includes(state) }, `${count} ${state}`);
  const condition = state === 'stale' ? 'stale' : `state == ${state}`;
  made.title = `Show these: ${condition}`;
  made.addEventListener('click', () => choose(condition));
  return made;
}

/** Makes children anew only where what they say has changed, so that the focus stays. */
function replace(place, items, make) {
  const text = JSON.stringify(items.map((item) => Array.isArray(item?.[1])
    ? [item[0], item[1].length] : item));
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  const focused = [...place.children].indexOf(document.activeElement);
  place.replaceChildren(...items.map(make));
  if (focused >= 0) place.children[Math.min(focused, place.children.length - 1)]?.focus();
}
