// The page: queries the agent, keeps its answers, and shows them in a map, a table, ages and
// events.
//
// It asks once a second, or a millisecond per node if that is longer, so that a large cluster
// costs agent and browser no more per second than a thousand nodes do. While the agent is silent
// the page reports that, greys its content, and tries again.

import { showAges } from './page/ages.js';
import { Cluster } from './page/cluster.js';
import { showColonies } from './page/colonies.js';
import { Columns } from './page/columns.js';
import { Detail } from './page/detail.js';
import { clock } from './page/elements.js';
import { Events } from './page/events.js';
import { Filter } from './page/filter.js';
import { BY_NAME, UNGROUPED, choices, groupsOf } from './page/groups.js';
import { showHeader } from './page/header.js';
import { NodeMap } from './page/map.js';
import { element, format, isNumeric } from './page/readings.js';
import { Table, byName, sorted } from './page/table.js';

const PERIOD_MS = 1000;
const HIDDEN_MS = 10000;
const PATIENCE_MS = 8000;
const RETRY_MOST_MS = 10000;

/** A condition is sent when nothing was typed for so long. */
const TYPING_MS = 250;

/** By which the map is grouped if nobody has chosen and users publish it. */
const RACK = 'user.rack';

const at = (id) => document.getElementById(id);
const cluster = new Cluster();
const map = new NodeMap(open);
const table = new Table(open, sortBy);
const events = new Events(open);
const detail = new Detail(() => { view.node = null; show(); });

const filter = new Filter();
const columns = new Columns(() => show());

/** `group` is null until it is chosen. */
const view = { by: 'cpu_busy_percent', sort: 'name', descending: false, group: null, node: null };
let paused = false;
let asking = false;
let timer = null;
let failures = 0;
let reason = '';
let drawnMs = 0;
let answerBytes = 0;
let ordered = { generation: -1, names: [] };
let typing = null;

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
    const answers = await Promise.all(['/v1/nodes', '/v1/status',
      `/v1/events?from=${cluster.nextEvent}`].map(ask));
    answerBytes = answers.reduce((sum, { length }) => sum + length, 0);
    latest = cluster.take(...answers.map((answer) => JSON.parse(answer)), Date.now());
    await filter.refresh(ask);
    const colonies = cluster.status.colony !== null && cluster.status.colony !== undefined;
    showColonies(colonies ? JSON.parse(await ask('/v1/colonies')) : null);
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
  const { matches } = filter;
  const nodes = inOrder();
  const rows = sorted(nodes.filter(matches), sort, view.descending);
  const group = offerGroups(nodes);
  map.show(groupsOf(nodes, group, cluster.columns), by, matches, cluster.generation);
  table.show(inFront(columns.shown(cluster.columns), by), rows, { key: sort.key,
    descending: view.descending, coloured: by.key, paint: (node) => map.colour(node),
    selected: view.node });
  showAges(cluster);
  showHeader(cluster, nodes, choose);
  showFilter(rows.length, nodes.length);
  events.show(cluster.events, latest);
  if (view.node !== null) detail.show(view.node, cluster, by);
  drawnMs = performance.now() - began;
  at('cost').textContent = `Received ${clock(cluster.heardAt)}${paused ? ', paused' : ''} · answer `
    + `${format(answerBytes, 'bytes')} · shown in ${drawnMs.toFixed(1)} ms`;
}

/** How many nodes the filter leaves, and what is wrong with it. */
function showFilter(count, all) {
  at('count').textContent = count === all ? `${all}` : `${count} of ${all}`;
  at('filter').setAttribute('aria-invalid', filter.error !== '');
  at('filter-error').hidden = filter.error === '';
  if (at('filter-error').textContent !== filter.error) {
    at('filter-error').textContent = filter.error;
  }
}

/** Filters by a text, as if it had been typed. */
function choose(text) {
  at('filter').value = filter.text === text ? '' : text;
  typed(0);
}

function typed(waitMs = TYPING_MS) {
  filter.set(at('filter').value);
  keep();
  show();
  clearTimeout(typing);
  typing = setTimeout(async () => {
    await filter.refresh(ask);
    show();
  }, waitMs);
}

/** The columns with the coloured one behind name, state and age, where a phone shows it too. */
function inFront(columns, by) {
  const first = ['name', 'state', 'age_ms'];
  if (first.includes(by.key)) return columns;
  const leading = columns.filter(({ key }) => first.includes(key));
  return [...leading, by, ...columns.filter(({ key }) => key !== by.key && !first.includes(key))];
}

function offerColours() {
  offer(at('colour'), cluster.columns.filter(isNumeric));
  const by = columnFor(view.by, isNumeric);
  if (by) at('colour').value = by.key;
}

/** The ways to group the nodes; returns the one that holds. */
function offerGroups(nodes) {
  const ways = [{ key: BY_NAME, title: 'name' }, ...choices(nodes, cluster.columns),
    { key: UNGROUPED, title: 'nothing' }];
  offer(at('group'), ways);
  const wanted = view.group ?? RACK;
  const by = ways.some(({ key }) => key === wanted) ? wanted : BY_NAME;
  at('group').value = by;
  return by;
}

function offer(select, options) {
  const keys = options.map(({ key }) => key).join();
  if (select.dataset.keys === keys) return;
  select.dataset.keys = keys;
  select.replaceChildren(...options.map(({ key, title }) =>
    element('option', { value: key }, title)));
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
  const { by, sort, descending, group } = view;
  const parts = new URLSearchParams({ by, sort: (descending ? '-' : '') + sort });
  if (group !== null) parts.set('group', group);
  if (filter.text) parts.set('filter', filter.text);
  history.replaceState(null, '', `#${parts}`);
}

function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const sort = parts.get('sort') ?? 'name';
  view.by = parts.get('by') ?? view.by;
  view.descending = sort.startsWith('-');
  view.sort = sort.replace(/^-/, '');
  view.group = parts.get('group');
  filter.set(parts.get('filter') ?? '');
  at('filter').value = filter.text;
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
  g: () => at('group').focus(),
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
at('group').addEventListener('change', () => { view.group = at('group').value; keep(); show(); });
at('filter').addEventListener('input', () => typed());
at('pause').addEventListener('click', pause);
at('help-button').addEventListener('click', () => at('help').showModal());
at('help-close').addEventListener('click', () => at('help').close());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !paused && failures === 0) poll();
});
setInterval(tellAway, PERIOD_MS);
poll();
