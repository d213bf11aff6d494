// The readings of a node: their names, units and readable forms; and a node's state.
//
// A column is named as its field in /v1/nodes; `user.KEY` is a metric that a node published. What
// a machine lacks is null there and stays null here: it is never shown as a zero.

import { format } from './elements.js';

export { element, format } from './elements.js';

/** From this age on, in units of time, a living node counts as stale. */
export const STALE_UNITS = 64;

/** Columns that few look at: the table has them when they are chosen. */
export const RARE = ['load5', 'load15', 'swap_total_bytes', 'mem_available_percent', 'kernel',
  'address', 'incarnation', 'sequence'];

/** States, the worst first: sorting by state puts nodes that need attention first. */
export const STATES = ['dead', 'suspected', 'stale', 'unheard', 'left', 'alive'];

const FIXED = [
  ['name', 'node', 'text'], ['state', 'state', 'state'], ['age_ms', 'age', 'ms'],
  ['load1', 'load, 1 min', 'load'], ['load5', 'load, 5 min', 'load'],
  ['load15', 'load, 15 min', 'load'], ['cores', 'cores', 'whole'],
  ['load_per_core', 'load per core', 'load'], ['cpu_busy_percent', 'CPU busy', 'percent'],
  ['mem_available_percent', 'memory available, share', 'percent'],
  ['mem_available_bytes', 'memory available', 'bytes'],
  ['mem_total_bytes', 'memory', 'bytes'],
  ['swap_used_bytes', 'swap used', 'bytes'], ['swap_total_bytes', 'swap', 'bytes'],
  ['psi_cpu_percent', 'CPU pressure', 'percent'],
  ['psi_memory_percent', 'memory pressure', 'percent'],
  ['psi_io_percent', 'I/O pressure', 'percent'],
  ['disk_read_bytes_s', 'disk read', 'rate'], ['disk_write_bytes_s', 'disk write', 'rate'],
  ['net_rx_bytes_s', 'net in', 'rate'], ['net_tx_bytes_s', 'net out', 'rate'],
  ['temperature_c', 'temperature', 'celsius'], ['power_w', 'power', 'watts'],
  ['uptime_s', 'machine up', 's'], ['kernel', 'kernel', 'text'], ['address', 'address', 'text'],
  ['incarnation', 'incarnation', 'whole'], ['sequence', 'sequence', 'whole'],
].map(([key, title, kind]) => ({ key, title, kind }));

/** At most this many user metrics get a column. */
const USER_COLUMNS_MOST = 64;

/** The columns with a value of any node, the users' ones last. */
export function columnsOf(nodes) {
  const fixed = FIXED.filter(({ key, kind }) =>
    kind === 'state' || nodes.some((node) => present(node[key])));
  const keys = new Set(nodes.flatMap((node) => Object.keys(node.user ?? {})));
  const user = [...keys].sort().slice(0, USER_COLUMNS_MOST).map((key) => {
    const texts = nodes.map((node) => node.user?.[key]).filter(present);
    const kind = texts.every((text) => numberOf(text) !== null) ? 'count' : 'text';
    const decimals = kind === 'count' ? Math.max(0, ...texts.map(decimalsOf)) : undefined;
    return { key: `user.${key}`, title: key, kind, decimals };
  });
  return [...fixed, ...user];
}

/** Whether a column holds numbers. */
export function isNumeric(column) {
  return column.kind !== 'text' && column.kind !== 'state';
}

/** The value of a node in a column: a number, a text, or null. */
export function valueOf(node, column) {
  const { key, kind } = column;
  const raw = key.startsWith('user.') ? node.user?.[key.slice(5)] : node[key];
  if (!present(raw)) return null;
  return isNumeric({ kind }) ? numberOf(raw) : String(raw);
}

/** The value of a node in a column as text, with as many decimals as the whole column has. */
export function shownIn(node, column) {
  if (column.kind === 'state') return node.shown;
  const value = valueOf(node, column);
  const even = value !== null && column.decimals !== undefined;
  return even ? value.toFixed(column.decimals) : format(value, column.kind);
}

/** Adds what follows from a node's readings. */
export function derive(node) {
  const share = (part, whole) => present(part) && whole > 0 ? part / whole : null;
  node.load_per_core = share(node.load1, node.cores);
  const free = share(node.mem_available_bytes, node.mem_total_bytes);
  node.mem_available_percent = free === null ? null : 100 * free;
}

/** The decimals of a number as it was published, at most three. */
function decimalsOf(text) {
  const [, decimals = ''] = /^[^.e]*\.(\d*)$/i.exec(String(text).trim()) ?? [];
  return Math.min(3, decimals.length);
}

function present(raw) {
  return raw !== null && raw !== undefined && raw !== '';
}

function numberOf(raw) {
  const value = typeof raw === 'string' && raw.trim() === '' ? NaN : Number(raw);
  return Number.isFinite(value) ? value : null;
}

/** A node's state as shown: that of the agent, and `stale` for living nodes with an old entry. */
export function stateOf(node, intervalMs) {
  const old = node.age_ms !== null && node.age_ms >= STALE_UNITS * intervalMs;
  return node.state === 'alive' && old ? 'stale' : String(node.state ?? 'unheard');
}

/** The smallest round number that is not below `value`; bytes are round in powers of two. */
export function roundUp(value, kind) {
  if (!(value > 0)) return 1;
  const binary = kind === 'bytes' || kind === 'rate';
  const base = binary ? 2 : 10;
  const power = base ** Math.floor(Math.log2(value) / Math.log2(base) + 1e-9);
  const steps = binary ? [1, 1.25, 1.5, 2] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  return steps.map((step) => step * power).find((step) => step >= value * (1 - 1e-9));
}
