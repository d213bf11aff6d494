// What pages are made of: elements, and values in readable form.

/** A value in readable form, rounded, scaled and with its unit. */
export function format(value, kind) {
  if (value === null || value === undefined) return '–';
  switch (kind) {
    case 'count': return String(Math.round(value * 100) / 100);
    case 'whole': return value.toFixed(0);
    case 'load': return value.toFixed(2);
    case 'bytes': return bytes(value);
    case 'rate': return `${bytes(value)}/s`;
    case 'percent': return `${value.toFixed(1)} %`;
    case 'ms': return time(value);
    case 's': return time(value * 1000);
    case 'celsius': return `${value.toFixed(0)} °C`;
    case 'watts': return `${value.toFixed(1)} W`;
    default: return String(value);
  }
}

function bytes(value) {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let power = 0;
  while (Math.abs(value) >= 1023.5 && power + 1 < names.length) {
    value /= 1024;
    power += 1;
  }
  return `${value.toFixed(power === 0 ? 0 : 1)} ${names[power]}`;
}

function time(ms) {
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 59950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days > 0) return `${days} d ${hours - days * 24} h`;
  return hours > 0 ? `${hours} h ${minutes - hours * 60} m` : `${minutes} m ${seconds % 60} s`;
}

/** The time of day, to the second. */
export function clock(at) {
  return new Date(at).toTimeString().slice(0, 8);
}

/** The same, with the date before it where that is another day. */
export function moment(at, now = Date.now()) {
  const day = (time) => new Date(time).toDateString();
  const date = new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return day(at) === day(now) ? clock(at) : `${date}, ${clock(at)}`;
}

/** Makes an element with attributes and children; text becomes text, never markup. */
export function element(name, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'path', 'rect', 'polyline', 'line', 'text', 'circle'].includes(name);
  const made = svg
    ? document.createElementNS('http://www.w3.org/2000/svg', name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
