// The tables of queues and workers, and the list of failures; how fast each queue ends tasks.

import { clock, element, format } from './elements.js';

const WINDOW_MS = 10000;

/** How fast counts rise, over the last seconds: a row of [time, count] for each name. */
export class Rates {
  #rows = new Map();

  note(counts, now) {
    for (const name of this.#rows.keys()) if (!counts.has(name)) this.#rows.delete(name);
    for (const [name, count] of counts) {
      let row = this.#rows.get(name) ?? [];
      // A count that has fallen is that of another coordinator.
      if (row.length > 0 && row.at(-1)[1] > count) row = [];
      row.push([now, count]);
      while (row.length > 2 && now - row[1][0] > WINDOW_MS) row.shift();
      this.#rows.set(name, row);
    }
  }

  /** So many a second, or null. */
  of(name) {
    const row = this.#rows.get(name) ?? [];
    if (row.length < 2) return null;
    const [[begin, first], [end, last]] = [row[0], row.at(-1)];
    return end > begin ? (last - first) * 1000 / (end - begin) : null;
  }
}

export function showQueues(table, queues, rates) {
  const rows = queues.map((queue) => {
    const rate = rates.of(queue.name);
    const left = queue.ready + queue.delayed + queue.waiting + queue.running;
    const speed = rate === null ? '–' : rate.toFixed(1);
    return [queue.name, queue.ready, queue.delayed, queue.waiting, queue.running,
      trouble(queue.unfit), queue.done, trouble(queue.failed), speed,
      rate > 0 ? format(left / rate, 's') : '–'];
  });
  show(table, ['queue', 'ready', 'delayed', 'waiting', 'running', 'unfit', 'done', 'failed',
    'ended/s', 'time left'], rows, 1);
}

export function showWorkers(table, workers) {
  const rows = workers.map(({ name, host, slots, running, silent_ms: silent, full }) => {
    const takes = full ? element('span', { class: 'trouble', title: full }, 'no space') : slots;
    return [name, host, takes, running, format(silent, 'ms')];
  });
  show(table, ['worker', 'host', 'slots', 'running', 'heard'], rows, 2);
}

/** What is not as it should be, if it is there at all. */
function trouble(count) {
  return count > 0 ? element('span', { class: 'trouble' }, String(count)) : 0;
}

function show(table, headings, rows, texts) {
  const kind = (at) => (at < texts ? { class: 'text' } : {});
  const head = element('tr', {}, ...headings.map((heading, at) =>
    element('th', { scope: 'col', ...kind(at) }, heading)));
  const body = rows.map((cells) => element('tr', {}, ...cells.map((cell, at) =>
    element(at === 0 ? 'th' : 'td', { ...(at === 0 ? { scope: 'row' } : {}), ...kind(at) },
      typeof cell === 'number' ? String(cell) : cell))));
  table.replaceChildren(element('thead', {}, head), element('tbody', {}, ...body));
}

export function showFailures(list, failures) {
  list.replaceChildren(...failures.map((one) => element('li', { 'data-task': one.task },
    element('time', {}, clock(one.ended_ms)),
    `${one.outcome}: ${one.queue}, task ${one.task.slice(0, 8)}, attempt ${one.attempt}, on `
      + `${one.host}`,
    element('p', {}, one.text ?? ''))));
}
