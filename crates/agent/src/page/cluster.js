// The agent's answers so far: the nodes now, a short history, and the events between answers.
//
// The agent keeps no history, so the page does, in bounded memory: of each answer one array of all
// numbers, as many answers as fit. An event is a change of a node between two answers; what comes
// and goes within one period is not seen.

import { columnsOf, isNumeric, stateOf, valueOf } from './readings.js';

/** Numbers kept at most in the history, four bytes each: 16 MiB. */
const NUMBERS_MOST = 4 << 20;

/** Answers kept at most. */
const ANSWERS_MOST = 300;

/** Events kept at most. */
const EVENTS_MOST = 500;

/** Events of one answer that are listed one by one; of more there is a line for each kind. */
const NAMED_MOST = 20;

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
  #byName = new Map();
  #slots = new Map();
  #fields = new Map();
  #answers = [];

  /** Adds an answer to /v1/nodes and one to /v1/status, received at `at`; returns its events. */
  take(answer, status, at) {
    if (!Array.isArray(answer?.nodes)) throw new Error('the answer has no list of nodes');
    if (typeof status?.cluster !== 'string') throw new Error('the answer has no status');
    const before = this.#byName;
    this.intervalMs = answer.interval_ms > 0 ? answer.interval_ms : 256;
    this.observer = String(answer.observer);
    this.nodes = answer.nodes;
    this.#byName = new Map();
    for (const node of this.nodes) {
      node.shown = stateOf(node, this.intervalMs);
      this.#byName.set(node.name, node);
    }
    this.columns = columnsOf(this.nodes);
    const sameNames = this.#byName.size === before.size
      && this.nodes.every((node) => before.has(node.name));
    if (!sameNames) this.generation += 1;
    const events = this.heardAt === null ? [] : changes(before, this.#byName);
    if (this.status && this.status.pid !== status.pid) {
      events.push({ kind: 'agent', name: status.name, text: 'this agent was restarted' });
    }
    this.status = status;
    this.heardAt = at;
    this.#remember(at);
    return this.note(events, at);
  }

  /** Adds events that happened at `at`; returns them as they are listed. */
  note(events, at) {
    const listed = summed(events).map((event) => ({ at, ...event }));
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

/** The events between two answers. */
export function changes(before, after) {
  const events = [];
  const say = (kind, name, text) => events.push({ kind, name, text });
  for (const [name, node] of after) {
    const was = before.get(name);
    if (!was) {
      say('joined', name, 'joined');
      continue;
    }
    const gone = was.shown === 'dead' || was.shown === 'left';
    if (was.shown !== node.shown) {
      const living = node.shown === 'alive';
      if (living && gone) say('back', name, 'is back');
      else if (living && was.shown === 'unheard') say('heard', name, 'sent its first entry');
      else if (living) say('fresh', name, `is fresh again, was ${was.shown}`);
      else say(node.shown, name, VERBS[node.shown] ?? `is now ${node.shown}`);
    }
    if (!gone && was.incarnation > 0 && node.incarnation > was.incarnation) {
      say('restarted', name, 'was restarted');
    }
  }
  for (const name of before.keys()) {
    if (!after.has(name)) say('forgotten', name, 'is forgotten');
  }
  return events;
}

const VERBS = {
  dead: 'is dead',
  suspected: 'is suspected: it does not answer',
  stale: 'is stale: no entry for 64 units',
  left: 'left',
  unheard: 'is unheard',
};

/** Many events of one kind become one line. */
function summed(events) {
  if (events.length <= NAMED_MOST) return events;
  const kinds = Map.groupBy(events, (event) => event.kind);
  return [...kinds.values()].flatMap((same) => same.length <= 3 ? same : [{
    kind: same[0].kind, name: null, text: `${same.length} nodes: ${same[0].text}`,
  }]);
}
