// The page of tasks: asks once a second, and shows queues, workers, failures, a time line
// and, if one is chosen, a graph.
//
// While the store is silent the page reports that, greys its content, and tries again.

import { clock, element } from './page/elements.js';
import { Graph } from './page/graph.js';
import { Rates, showFailures, showQueues, showWorkers } from './page/tables.js';
import { Timeline } from './page/timeline.js';

const PERIOD_MS = 1000;
const HIDDEN_MS = 10000;
const PATIENCE_MS = 8000;

const at = (id) => document.getElementById(id);
const rates = new Rates();
const timeline = new Timeline();
const graph = new Graph(at('graph'), at('graph-detail'));

let last = '0';
let picture = null;
let paused = false;
let timer = null;
let graphOf = '';
let failures = 0;

async function ask(path) {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(path, { cache: 'no-store', signal: patience });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim() || `status ${answer.status}`);
  return JSON.parse(text);
}

async function poll() {
  clearTimeout(timer);
  let more = false;
  try {
    const answer = await ask(`v1/tasks?after=${last}`);
    take(answer);
    ({ more } = answer);
    await showGraph();
  } catch (error) {
    away(error.name === 'TimeoutError' ? 'no answer in time' : error.message);
  }
  const period = document.hidden ? HIDDEN_MS : PERIOD_MS * Math.min(10, 2 ** failures);
  if (!paused) timer = setTimeout(poll, more ? 0 : period);
}

function take(answer) {
  last = answer.last ?? last;
  picture = answer;
  failures = 0;
  timeline.take(answer.ended);
  const ended = answer.queues.map((queue) => [queue.name, queue.done + queue.failed]);
  rates.note(new Map([['', answer.done + answer.failed], ...ended]), performance.now());
  document.body.classList.remove('away');
  at('notice').hidden = true;
  show();
}

/** Asks for the graph that was chosen, if one was. */
async function showGraph() {
  if (graphOf === '') return;
  const asked = graphOf;
  let note;
  try {
    const query = queuesOf(asked).map((name) => `queue=${encodeURIComponent(name)}`);
    const answer = await ask(`v1/graph?${query.join('&')}`);
    if (asked !== graphOf) return;
    note = graph.show(answer);
  } catch (error) {
    if (asked !== graphOf) return;
    graph.clear();
    note = error.message;
  }
  if (at('graph-note').textContent !== note) at('graph-note').textContent = note;
}

/** Several names have commas between them; a name may have one itself. */
function queuesOf(text) {
  if (picture?.queues.some(({ name }) => name === text)) return [text];
  return text.split(',').map((name) => name.trim()).filter((name) => name !== '');
}

function chooseGraph(event) {
  event.preventDefault();
  graphOf = at('graph-queue').value.trim();
  if (graphOf === '') {
    graph.clear();
    at('graph-note').textContent = '';
  }
  showGraph();
}

function away(reason) {
  failures += 1;
  document.body.classList.add('away');
  at('notice').hidden = false;
  const text = `The store does not answer (${reason}). The page tries again.`;
  if (at('alert').textContent !== text) at('alert').textContent = text;
}

function show() {
  if (picture === null) return;
  const began = performance.now();
  const { queues, workers, running } = picture;
  showQueues(at('queues'), queues, rates);
  showWorkers(at('workers'), workers);
  showFailures(at('failures'), picture.failures);
  at('graph-queues').replaceChildren(...queues.map(({ name }) =>
    element('option', { value: name })));
  at('queues-count').textContent = shown(queues.length, picture.queues_total);
  at('workers-count').textContent = `${workers.length}`;
  // The coordinator's clock may be ahead of this machine's.
  const now = Math.max(picture.now_ms, ...running.map((one) => one.ended_ms));
  const span = Number(at('window').value);
  at('timeline-note').textContent = timeline.show(at('timeline'), running, now, span);
  at('span').textContent = `${clock(now - span)} to ${clock(now)}`;
  summarise();
  at('cost').textContent = `Received ${clock(picture.now_ms)}${paused ? ', paused' : ''} · `
    + `shown in ${(performance.now() - began).toFixed(1)} ms`;
}

function shown(count, total) {
  return total > count ? `${count} of ${total}` : `${count}`;
}

function summarise() {
  const rate = rates.of('');
  const board = picture.board ? '' : ' · no agent on the coordinator’s host';
  at('summary').textContent = `${picture.store} · ${picture.tasks} tasks wait or run · since the `
    + `coordinator began ${picture.done} done, ${picture.failed} failed, ${picture.lost} tries lost`
    + `${rate === null ? '' : ` · ${rate.toFixed(1)} end a second`}${board}`;
}

function pause() {
  paused = !paused;
  at('pause').setAttribute('aria-pressed', paused);
  at('pause').textContent = paused ? 'Resume' : 'Pause';
  if (paused) clearTimeout(timer);
  else poll();
  show();
}

at('graph-form').addEventListener('submit', chooseGraph);
at('controls').addEventListener('submit', (event) => event.preventDefault());
at('window').addEventListener('change', show);
at('pause').addEventListener('click', pause);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !paused && failures === 0) poll();
});
poll();
