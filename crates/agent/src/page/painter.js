// Paints the cells of the map: a colour for the value, a sign and red for what is wrong.

import { colour, ink } from './colours.js';
import { element } from './readings.js';

const FONT = '11px system-ui, sans-serif';

/** Smaller cells have no edge, and dead ones are red beyond it: a cross would hide the colour. */
const EDGED_LEAST = 11;

export class Painter {
  #context;
  #across;
  #down;
  #hatch;
  #style;

  constructor(context, ratio, [across, down]) {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name);
    this.#context = context;
    [this.#across, this.#down] = [across, down];
    this.#style = Object.fromEntries(['hatch', 'panel', 'edge', 'text', 'muted', 'focus', 'dead']
      .map((name) => [name, read(`--${name}`)]));
    this.#hatch = hatch(context, this.#style.hatch, this.#style.panel, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = 'middle';
  }

  clear(width, height) {
    this.#context.clearRect(0, 0, width, height);
  }

  /** A cell; `place` is that of its value on the scale, null without one. */
  node(x, y, node, place, matches, label = '') {
    const context = this.#context;
    const dead = node.shown === 'dead';
    const gap = Math.min(this.#across, this.#down) > 10 ? 2 : 1;
    const [wide, high] = [this.#across - gap, this.#down - gap];
    context.globalAlpha = matches ? 1 : 0.15;
    context.fillStyle = dead ? this.#style.dead : place === null ? this.#hatch : colour(place);
    const small = Math.min(wide, high);
    const swollen = dead && small < EDGED_LEAST ? 1 : 0;
    context.fillRect(x - swollen, y - swollen, wide + 2 * swollen, high + 2 * swollen);
    if (small >= EDGED_LEAST) {
      context.strokeStyle = this.#style.edge;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
    }
    const clearing = place === null && !dead && (label !== '' || node.shown !== 'alive');
    if (clearing) this.#clearing(x, y, wide, high);
    const paint = dead ? '#fff' : place === null ? this.#style.text : ink(place);
    if (label !== '') this.#label(x, y, wide, high, node, paint, label);
    else if (node.shown !== 'alive' && swollen === 0) {
      this.#mark(x + wide / 2, y + high / 2, small * 0.3, node.shown, paint, small);
    }
    context.globalAlpha = 1;
  }

  /** A name, and before it or above it the sign. */
  #label(x, y, wide, high, node, paint, text) {
    const context = this.#context;
    const marked = node.shown !== 'alive' && high >= 32;
    context.fillStyle = paint;
    context.textAlign = 'center';
    context.fillText(text, x + wide / 2, marked ? y + high - 10 : y + high / 2 + 0.5);
    if (marked) this.#mark(x + wide / 2, y + high * 0.32, 6.5, node.shown, paint, 24);
    else if (node.shown !== 'alive') this.#mark(x + 5, y + 5, 3, node.shown, paint, 12);
  }

  /** Text beside cells, cut to a room: titles of groups, names of rows. */
  text(text, x, y, room, { align = 'left', strong = false } = {}) {
    const context = this.#context;
    context.font = strong ? `600 ${FONT}` : FONT;
    context.textAlign = align;
    context.fillStyle = strong ? this.#style.text : this.#style.muted;
    context.fillText(cut(text, room, (part) => context.measureText(part).width), x, y);
    context.font = FONT;
  }

  /** Makes room for a sign in the hatching. */
  #clearing(x, y, wide, high) {
    this.#context.fillStyle = this.#style.panel;
    const inset = Math.max(1, Math.min(wide, high) * 0.07);
    this.#context.fillRect(x + inset, y + inset, wide - 2 * inset, high - 2 * inset);
  }

  /** One sign per state: a cross, a question mark, a clock, a dash, a point. */
  #mark(centre, middle, reach, state, paint, size) {
    const context = this.#context;
    context.strokeStyle = paint;
    context.fillStyle = paint;
    context.lineWidth = Math.max(1.2, size / 12);
    context.beginPath();
    if (state === 'dead') {
      context.moveTo(centre - reach, middle - reach);
      context.lineTo(centre + reach, middle + reach);
      context.moveTo(centre + reach, middle - reach);
      context.lineTo(centre - reach, middle + reach);
    } else if (state === 'left') {
      context.moveTo(centre - reach, middle);
      context.lineTo(centre + reach, middle);
    } else if (state === 'stale') {
      context.arc(centre, middle, reach, 0, 2 * Math.PI);
      context.moveTo(centre, middle - reach * 0.7);
      context.lineTo(centre, middle);
      context.lineTo(centre + reach * 0.5, middle);
    } else if (state === 'unheard') {
      context.arc(centre, middle, Math.max(1, reach * 0.6), 0, 2 * Math.PI);
      context.fill();
    } else {
      context.arc(centre, middle - reach * 0.4, reach * 0.55, Math.PI, 2.4 * Math.PI);
      context.lineTo(centre, middle + reach * 0.4);
      context.moveTo(centre, middle + reach * 0.8);
      context.lineTo(centre, middle + reach * 1.1);
    }
    context.stroke();
  }

  /** Shows that a cell is the current one. */
  frame(x, y) {
    const context = this.#context;
    const [wide, high] = [this.#across - 1, this.#down - 1];
    context.lineWidth = 4;
    context.strokeStyle = this.#style.panel;
    context.strokeRect(x + 1, y + 1, wide - 2, high - 2);
    context.lineWidth = 2;
    context.strokeStyle = this.#style.focus;
    context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
  }
}

/** The width of texts in cells. */
export function measurer(context) {
  context.font = FONT;
  return (text) => context.measureText(text).width;
}

/** A text with its end left off where there is no room for it. */
export function cut(text, room, measure) {
  if (measure(text) <= room) return text;
  let letters = text.length - 1;
  while (letters > 0 && measure(`${text.slice(0, letters)}…`) > room) letters -= 1;
  return letters > 0 ? `${text.slice(0, letters)}…` : '';
}

function hatch(context, line, ground, ratio) {
  const size = 6 * Math.ceil(ratio);
  const tile = element('canvas', { width: size, height: size });
  const paint = tile.getContext('2d');
  paint.fillStyle = ground;
  paint.fillRect(0, 0, size, size);
  paint.strokeStyle = line;
  paint.lineWidth = ratio;
  for (const shift of [-size, 0, size]) {
    paint.moveTo(shift, size);
    paint.lineTo(shift + size, 0);
  }
  paint.stroke();
  const pattern = context.createPattern(tile, 'repeat');
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}
