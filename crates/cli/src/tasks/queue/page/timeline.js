// The time line: for each host a picture with a row for each slot of its workers, and a bar for
// each try. What a picture shows is also said in words above it.

import { clock, element, format } from './elements.js';

/** The tries that are kept, and those of them that are drawn. */
const KEPT_MOST = 20000;
const DRAWN_MOST = 3000;

/** The hosts, and the slots of one host, that are drawn. */
const HOSTS_MOST = 64;
const SLOTS_MOST = 64;

const ROW = 12;
const WIDTH = 1000;

/** Of a width; a try is to be seen, however short it was. */
const THINNEST = 3;

export class Timeline {
  #ended = [];

  /** Adds tries that have ended. */
  take(ended) {
    this.#ended.push(...ended);
    this.#ended.splice(0, Math.max(0, this.#ended.length - KEPT_MOST));
  }

  /** Shows the time until `now`; returns what could not be drawn, in words. */
  show(place, running, now, span) {
    const begin = now - span;
    const inside = this.#ended.filter((one) => one.ended_ms >= begin);
    const drawn = [...inside.slice(-DRAWN_MOST), ...running];
    const hosts = new Map();
    for (const one of drawn) {
      if (!hosts.has(one.host)) hosts.set(one.host, []);
      hosts.get(one.host).push(one);
    }
    const names = [...hosts.keys()].sort().slice(0, HOSTS_MOST);
    place.replaceChildren(...names.map((name) => figure(name, hosts.get(name), begin, now)));
    const missing = [];
    if (inside.length > DRAWN_MOST) {
      missing.push(`the last ${DRAWN_MOST} of ${inside.length} tries`);
    }
    if (hosts.size > HOSTS_MOST) missing.push(`${HOSTS_MOST} of ${hosts.size} hosts`);
    if (names.length === 0) return 'No try has ended in this time, and none runs.';
    return missing.length > 0 ? `Drawn are ${missing.join(', and ')}.` : '';
  }
}

function figure(host, tries, begin, end) {
  const places = [...new Set(tries.map(placeOf))].sort().slice(0, SLOTS_MOST);
  const height = places.length * ROW;
  const caption = element('figcaption', {}, words(host, tries, places.length, begin, end));
  const picture = element('svg', {
    role: 'img', viewBox: `0 0 ${WIDTH} ${height}`, height, preserveAspectRatio: 'none',
    'aria-label': `Time line of ${caption.textContent}`,
  });
  const rows = new Map(places.map((place, at) => [place, at]));
  for (const one of tries) {
    const row = rows.get(placeOf(one));
    if (row !== undefined) picture.append(bar(one, row, begin, end));
  }
  return element('figure', { 'data-host': host }, caption, picture);
}

function placeOf({ worker, slot }) {
  return `${worker} ${String(slot).padStart(6, '0')}`;
}

function bar(one, row, begin, end) {
  const x = (ms) => Math.max(0, Math.min(1, (ms - begin) / (end - begin))) * WIDTH;
  const [left, right] = [x(one.since_ms), x(one.ended_ms)];
  const kind = kindOf(one);
  const inset = kind === 'bad' ? 0 : 2;
  const width = Math.max(THINNEST, right - left);
  const made = element('rect', {
    class: `try ${kind}`, x: Math.min(left, WIDTH - width), width,
    y: row * ROW + inset, height: ROW - 2 * inset,
  });
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  title.textContent = `${one.queue}, task ${one.task.slice(0, 8)}, attempt ${one.attempt}: `
    + `${one.outcome}, ${format(one.ended_ms - one.since_ms, 'ms')} from ${clock(one.since_ms)}, `
    + `${one.worker} slot ${one.slot}`;
  made.append(title);
  return made;
}

function kindOf({ outcome }) {
  if (outcome === 'done') return 'done';
  return outcome === 'running' ? 'runs' : 'bad';
}

function words(host, tries, slots, begin, end) {
  const count = (kind) => tries.filter((one) => kindOf(one) === kind).length;
  const busy = tries.reduce((sum, one) =>
    sum + Math.max(0, Math.min(end, one.ended_ms) - Math.max(begin, one.since_ms)), 0);
  const share = Math.min(100, 100 * busy / (slots * (end - begin)));
  return `${host}: ${slots} slots used, ${count('done')} done, ${count('bad')} failed, `
    + `${count('runs')} run, busy ${share.toFixed(0)} %`;
}
