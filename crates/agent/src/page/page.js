// The page: queries the agent, keeps its answers, and shows them in a map, a table, ages and
// events.
//
// It asks once a second, or a millisecond per node if that is longer, so that a large cluster
// costs agent and browser no more per second than a thousand nodes do. While the agent is silent
// the page reports that, greys its content, and tries again.

import { showAges } from './page/ages.js';
import { Cluster } from './page/cluster.js';
import { Detail } from './page/detail.js';
import { clock } from './page/elements.js';
import { Events } from './page/events.js';
import { NodeMap } from './page/map.js';
import { element, format, isNumeric } from './page/readings.js';
import { Table, byName, matcher, sorted } from './page/table.js';

const PERIOD_MS = 1000;
const HIDDEN_MS = 10000;
const PATIENCE_MS = 8000;
const RETRY_MOST_MS = 10000;

const at = (id) => document.getElementById(id);
const cluster = new Cluster();
const map = new NodeMap(open);
const table = new Table(open, sortBy);
const events = new Events(open);
const detail = new Detail(() => { view.node = null; show(); });

const view = { by: 'load1', sort: 'name', descending: false, filter: '', node: null };
let paused = false;
let asking = false;
let timer = null;
let failures = 0;
let reason = '';
let drawnMs = 0;
let answerBytes = 0;
let ordered = { generation: -1, names: [] };

async function ask(path) {
  const answer = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim() || `status ${answer.status}`);
  return text;
}

async function poll() {
  if (asking) return;
  asking = true;
  clearTimeout(timer);
  const began = performance.now();
  let latest = null;
  try {
    const [nodes, status] = await Promise.all([ask('/v1/nodes'), ask('/v1/status')]);
    answerBytes = nodes.length + status.length;
    latest = cluster.take(JSON.parse(nodes), JSON.parse(status), Date.now());
  } catch (error) {
    fail(error);
  }
  asking = false;
  if (latest !== null) heard(latest);
  if (!paused) timer = setTimeout(poll, wait(performance.now() - began));
}

function wait(spentMs) {
  if (failures > 0) return Math.min(RETRY_MOST_MS, PERIOD_MS * 2 ** Math.min(failures - 1, 5));
  const period = Math.max(PERIOD_MS, cluster.nodes.length, document.hidden ? HIDDEN_MS : 0);
  return Math.max(100, period - spentMs);
}

function heard(latest) {
  if (failures > 0) {
    latest.push(...cluster.note([{ kind: 'agent', name: null,
      text: 'this agent answers again' }], Date.now()));
  }
  failures = 0;
  document.body.classList.remove('away');
  at('notice').hidden = true;
  show(latest);
}

function fail(error) {
  failures += 1;
  reason = error.name === 'TimeoutError' ? 'no answer in time' : error.message;
  if (failures === 1) {
    const text = 'this agent does not answer';
    cluster.note([{ kind: 'agent', name: null, text }], Date.now());
    events.show(cluster.events, []);
  }
  document.body.classList.add('away');
  tellAway();
}

/** Shows how old the data is while the agent is silent. */
function tellAway() {
  if (failures === 0) return;
  const { heardAt } = cluster;
  const old = heardAt === null
    ? 'It has not answered yet.'
    : `Below is what it said ${format(Date.now() - heardAt, 'ms')} ago, at ${clock(heardAt)}.`;
  const text = `The agent does not answer (${reason}). The page tries again.`;
  at('notice').hidden = false;
  if (at('alert').textContent !== text) at('alert').textContent = text;
  at('old').textContent = old;
}

/** Nodes in natural order of their names, which is sorted again only when nodes come or go. */
function inOrder() {
  if (ordered.generation !== cluster.generation) {
    const names = byName(cluster.nodes).map((node) => node.name);
    ordered = { generation: cluster.generation, names };
  }
  return ordered.names.map((name) => cluster.node(name));
}

function columnFor(key, usable) {
  const columns = cluster.columns;
  return columns.find((column) => column.key === key && usable(column))
    ?? columns.find((column) => usable(column));
}

function show(latest = []) {
  if (cluster.heardAt === null) return;
  const began = performance.now();
  offerColours();
  const by = columnFor(view.by, isNumeric) ?? { key: 'age_ms', title: 'age', kind: 'ms' };
  const sort = columnFor(view.sort, () => true);
  const matches = matcher(view.filter);
  const nodes = inOrder();
  const rows = sorted(nodes.filter(matches), sort, view.descending);
  map.show(nodes, by, matches);
  table.show(inFront(cluster.columns, by), rows, { key: sort.key, descending: view.descending,
    coloured: by.key, paint: (node) => map.colour(node), selected: view.node });
  showAges(cluster);
  events.show(cluster.events, latest);
  if (view.node !== null) detail.show(view.node, cluster, by);
  at('count').textContent = rows.length === nodes.length
    ? `${nodes.length}` : `${rows.length} of ${nodes.length}`;
  summarise();
  drawnMs = performance.now() - began;
  at('cost').textContent = `Received ${clock(cluster.heardAt)}${paused ? ', paused' : ''} · answer `
    + `${format(answerBytes, 'bytes')} · shown in ${drawnMs.toFixed(1)} ms`;
}

/** The columns with the coloured one behind name, state and age, where a phone shows it too. */
function inFront(columns, by) {
  const first = ['name', 'state', 'age_ms'];
  if (first.includes(by.key)) return columns;
  const leading = columns.filter(({ key }) => first.includes(key));
  return [...leading, by, ...columns.filter(({ key }) => key !== by.key && !first.includes(key))];
}

function summarise() {
  const { status } = cluster;
  const colony = status.colony === null || status.colony === undefined
    ? '' : ` · colony ${status.colony}, ${status.colonies} known`;
  at('title').textContent = status.cluster;
  document.title = `${status.cluster} · Tidings`;
  const [average, most] = [status.age_avg_ms, status.age_max_ms].map((age) => format(age, 'ms'));
  at('summary').textContent = `seen by ${status.name} · ${status.known} of ${status.members} `
    + `nodes heard · ages ${average} on average, ${most} at most · `
    + `unit ${format(status.interval_ms, 'ms')}${colony}`;
}

function offerColours() {
  const choices = cluster.columns.filter(isNumeric);
  const select = at('colour');
  const keys = choices.map(({ key }) => key).join();
  if (select.dataset.keys !== keys) {
    select.dataset.keys = keys;
    select.replaceChildren(...choices.map(({ key, title }) =>
      element('option', { value: key }, title)));
  }
  const by = columnFor(view.by, isNumeric);
  if (by) select.value = by.key;
}

function open(name) {
  view.node = name;
  keep();
  const by = columnFor(view.by, isNumeric);
  show();
  detail.open(name, cluster, by);
}

function sortBy(key) {
  view.descending = view.sort === key ? !view.descending : false;
  view.sort = key;
  keep();
  show();
}

/** The view is in the address, so that a reload and a bookmark show the same. */
function keep() {
  const { by, sort, descending, filter } = view;
  const parts = new URLSearchParams({ by, sort: (descending ? '-' : '') + sort });
  if (filter) parts.set('filter', filter);
  history.replaceState(null, '', `#${parts}`);
}

function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const sort = parts.get('sort') ?? 'name';
  view.by = parts.get('by') ?? view.by;
  view.descending = sort.startsWith('-');
  view.sort = sort.replace(/^-/, '');
  view.filter = parts.get('filter') ?? '';
  at('filter').value = view.filter;
}

function pause() {
  paused = !paused;
  at('pause').setAttribute('aria-pressed', paused);
  at('pause').textContent = paused ? 'Resume' : 'Pause';
  if (paused) clearTimeout(timer);
  else poll();
  show();
}

const SHORTCUTS = {
  '?': () => at('help').showModal(),
  '/': () => at('filter').focus(),
  c: () => at('colour').focus(),
  m: () => at('map').focus(),
  t: () => at('table').focus(),
  e: () => at('events').focus(),
  p: pause,
};

function shortcut(event) {
  const typing = event.target.closest('input, select, textarea');
  const modal = document.querySelector('dialog:modal');
  if (typing || modal || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === 'Escape' && detail.isOpen) detail.close();
  if (!at('letters').checked) return;
  const action = Object.hasOwn(SHORTCUTS, event.key) ? SHORTCUTS[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
}

recall();
document.addEventListener('keydown', shortcut);
at('controls').addEventListener('submit', (event) => event.preventDefault());
at('colour').addEventListener('change', () => { view.by = at('colour').value; keep(); show(); });
at('filter').addEventListener('input', () => { view.filter = at('filter').value; keep(); show(); });
at('pause').addEventListener('click', pause);
at('help-button').addEventListener('click', () => at('help').showModal());
at('help-close').addEventListener('click', () => at('help').close());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !paused && failures === 0) poll();
});
setInterval(tellAway, PERIOD_MS);
poll();
