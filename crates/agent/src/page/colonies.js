// The colonies of a large cluster, one line each: how many nodes, and how they are. The map and the
// table show the nodes of the own colony.

import { element, format } from './readings.js';

/** Lines at most; of the others only the number is given. */
const LINES_MOST = 256;

const HEADINGS = ['colony', 'nodes', 'fresh', 'stale', 'left', 'unheard', 'CPU busy', 'load, 1 min',
  'memory available', 'told'];

const place = document.getElementById('colonies');

/** Shows an answer to /v1/colonies; without one there are none. */
export function showColonies(answer) {
  place.hidden = answer === null;
  if (answer === null) return;
  const lines = answer.colonies.slice(0, LINES_MOST)
    .map((colony) => line(colony, answer.colony));
  const { total, total_colonies: count } = answer;
  const all = element('tr', { class: 'total' }, ...cells(`${count} together`, total, ''));
  place.querySelector('thead').replaceChildren(element('tr', {}, ...HEADINGS.map((title) =>
    element('th', { scope: 'col' }, title))));
  place.querySelector('tbody').replaceChildren(...lines, all);
  const more = answer.colonies.length - lines.length;
  document.getElementById('colonies-more').textContent = more > 0 ? `and ${more} more` : '';
}

function line({ colony, age_ms: age, aggregate }, own) {
  const name = colony === own ? `${colony}, this one` : `${colony}`;
  const told = age === null ? 'not yet' : age === 0 ? 'now' : `${format(age, 'ms')} ago`;
  const row = element('tr', {}, ...cells(name, aggregate, told));
  row.dataset.wrong = aggregate === null || aggregate.stale + aggregate.unheard > 0;
  return row;
}

function cells(name, aggregate, told) {
  const mean = (key, kind) => {
    const reading = aggregate?.readings[key];
    return format(reading?.nodes > 0 ? reading.sum / reading.nodes : null, kind);
  };
  const counts = ['nodes', 'fresh', 'stale', 'left', 'unheard']
    .map((key) => aggregate ? String(aggregate[key]) : '–');
  return [element('th', { scope: 'row' }, name), ...[...counts, mean('cpu_busy_percent', 'percent'),
    mean('load1', 'load'), mean('mem_available_bytes', 'bytes'), told]
    .map((text) => element('td', {}, text))];
}
