// The agent's answers so far: the nodes now, a short history, and the events between answers.
//
// The agent keeps no history of readings, so the page does, in bounded memory: of each answer one
// array of all numbers, as many answers as fit. Events are the agent's, also those from before the
// page was opened, each with the time at which the agent noticed it; what only the page says of a
// node, that it is stale, is compared between two answers.

import { fold } from './groups.js';
import { columnsOf, derive, isNumeric, stateOf, valueOf } from './readings.js';

/** Numbers kept at most in the history, four bytes each: 16 MiB. */
const NUMBERS_MOST = 4 << 20;

/** Answers kept at most. */
const ANSWERS_MOST = 300;

/** Events kept at most. */
const EVENTS_MOST = 500;

/** Events of one answer that are listed one by one; of more those at one time are one line. */
const NAMED_MOST = 20;

/** How long one time is then, in milliseconds. */
const AT_ONCE_MS = 10000;

export class Cluster {
  nodes = [];
  columns = [];
  intervalMs = 256;
  observer = '';
  status = null;
  /** When the last answer came, in milliseconds since 1970; null before the first. */
  heardAt = null;
  /** Newest first: {at, kind, name, text}. */
  events = [];
  /** How often names came or went: an order by name stays valid while this does not change. */
  generation = 0;
  /** The number of the first event that the agent has not told of yet. */
  nextEvent = 1;
  #byName = new Map();
  #slots = new Map();
  #fields = new Map();
  #answers = [];

  /**
   * Adds answers to /v1/nodes, /v1/status and /v1/events, received at `at`; returns what is new in
   * the list of events.
   */
  take(answer, status, noticed, at) {
    if (!Array.isArray(answer?.nodes)) throw new Error('the answer has no list of nodes');
    if (typeof status?.cluster !== 'string') throw new Error('the answer has no status');
    const before = this.#byName;
    this.intervalMs = answer.interval_ms > 0 ? answer.interval_ms : 256;
    this.observer = String(answer.observer);
    this.nodes = answer.nodes;
    this.#byName = new Map();
    for (const node of this.nodes) {
      node.shown = stateOf(node, this.intervalMs);
      derive(node);
      this.#byName.set(node.name, node);
    }
    this.columns = columnsOf(this.nodes);
    const sameNames = this.#byName.size === before.size
      && this.nodes.every((node) => before.has(node.name));
    if (!sameNames) this.generation += 1;
    const events = this.heardAt === null ? [] : changes(before, this.#byName);
    events.forEach((event) => { event.at = at; });
    events.push(...this.#noticed(noticed, at));
    if (this.status && this.status.pid !== status.pid) {
      events.push({ kind: 'agent', name: status.name, text: 'this agent was restarted', at });
    }
    this.status = status;
    this.heardAt = at;
    this.#remember(at);
    return this.note(events, at);
  }

  /** The agent's own events, of which it keeps the last few. */
  #noticed({ first, events }, at) {
    const [missed, anew] = [first - this.nextEvent, first < this.nextEvent];
    const begun = this.nextEvent > 1 && !anew;
    this.nextEvent = first + events.length;
    const gap = begun && missed > 0
      ? [{ kind: 'agent', name: null, text: `${missed} earlier events were not kept`, at }] : [];
    return [...gap, ...events.map(({ event, name, time_ms: time }) =>
      ({ kind: event, name, text: VERBS[event] ?? event, at: time }))];
  }

  /** Adds events, by default of the time `at`; returns them as they are listed. */
  note(events, at) {
    const timed = events.map((event) => ({ at, ...event })).sort((a, b) => a.at - b.at);
    const listed = summed(timed);
    this.events = [...listed.toReversed(), ...this.events].slice(0, EVENTS_MOST);
    return listed;
  }

  node(name) {
    return this.#byName.get(name) ?? null;
  }

  /** The values of a node in a column, as [at, value or null], the oldest first. */
  history(name, key) {
    const slot = this.#slots.get(name);
    const field = this.#fields.get(key);
    return this.#answers.map(({ at, fields, numbers }) => {
      const value = field < fields ? numbers[slot * fields + field] : NaN;
      return [at, Number.isFinite(value) ? value : null];
    });
  }

  #remember(at) {
    if (this.#slots.size > 2 * this.nodes.length + 64) {
      this.#slots.clear();
      this.#answers = [];
    }
    const columns = this.columns.filter(isNumeric);
    for (const { key } of columns) {
      if (!this.#fields.has(key)) this.#fields.set(key, this.#fields.size);
    }
    for (const { name } of this.nodes) {
      if (!this.#slots.has(name)) this.#slots.set(name, this.#slots.size);
    }
    const fields = this.#fields.size;
    const numbers = new Float32Array(fields * this.#slots.size).fill(NaN);
    for (const column of columns) {
      const field = this.#fields.get(column.key);
      for (const node of this.nodes) {
        numbers[this.#slots.get(node.name) * fields + field] = valueOf(node, column) ?? NaN;
      }
    }
    this.#answers.push({ at, fields, numbers });
    const keep = Math.min(ANSWERS_MOST, Math.max(2, Math.floor(NUMBERS_MOST / numbers.length)));
    while (this.#answers.length > keep) this.#answers.shift();
  }
}

/** What the page alone says between two answers: stale, no longer stale, a first entry. */
export function changes(before, after) {
  const events = [];
  const say = (kind, name) => events.push({ kind, name, text: VERBS[kind] });
  for (const [name, node] of after) {
    const was = before.get(name);
    if (!was || was.shown === node.shown) continue;
    if (node.shown === 'stale') say('stale', name);
    else if (node.shown === 'alive' && was.shown === 'stale') say('fresh', name);
    else if (node.shown === 'alive' && was.shown === 'unheard') say('heard', name);
  }
  return events;
}

const VERBS = {
  joined: 'joined',
  suspected: 'is suspected: it does not answer',
  cleared: 'answers again',
  dead: 'is dead',
  back: 'is back',
  left: 'left',
  restarted: 'was restarted',
  forgotten: 'is forgotten',
  stale: 'is stale: no entry for 64 units',
  fresh: 'is fresh again',
  heard: 'sent its first entry',
};

/** Many events of one kind at one time become one line. */
function summed(events) {
  if (events.length <= NAMED_MOST) return events;
  const alike = Map.groupBy(events, ({ kind, at }) => `${kind} ${Math.floor(at / AT_ONCE_MS)}`);
  return [...alike.values()].flatMap((same) => {
    if (same.length <= 3) return same;
    const names = fold(same.map(({ name }) => name), 3);
    const text = `${same.length} nodes: ${same[0].text} (${names})`;
    return [{ ...same.at(-1), name: null, text }];
  }).sort((a, b) => a.at - b.at);
}
