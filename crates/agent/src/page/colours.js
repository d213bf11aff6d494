// Colours of values: cividis, whose lightness grows in even steps for every kind of colour vision.
//
// Nuñez, Anderton and Renslow, "Optimizing colormaps with consideration for color vision
// deficiency to enable accurate interpretation of scientific data" (2018). Seventeen of its
// colours, between which the scale is linear. A missing value is hatched, without a colour.

import { isNumeric, roundUp, valueOf } from './readings.js';

const CIVIDIS = [
  '00224e', '002e6a', '1a386f', '32436d', '434e6c', '535a6d', '61656f', '6f7073', '7d7c78',
  '8c8878', '9b9476', 'aba072', 'bcae6c', 'cdbb63', 'dec958', 'f0d846', 'fee838',
].map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

const STEPS = 256;

/** The scale: red, green and blue from 0 to 255, at a place from 0 to 1. */
export function scale(place) {
  const at = Math.min(1, Math.max(0, place)) * (CIVIDIS.length - 1);
  const low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return CIVIDIS[low].map((part, i) => part + (CIVIDIS[low + 1][i] - part) * (at - low));
}

const TABLE = Array.from({ length: STEPS }, (_, i) => css(scale(i / (STEPS - 1))));

function css(rgb) {
  return `rgb(${rgb.map(Math.round).join(' ')})`;
}

/** The colour at a place from 0 to 1, for CSS. */
export function colour(place) {
  return TABLE[Math.round(Math.min(1, Math.max(0, place)) * (STEPS - 1))];
}

/** Black or white, whichever reads better on the colour at a place. */
export function ink(place) {
  return place > 0.5 ? '#000' : '#fff';
}

/** The scale as a CSS background. */
export function gradient() {
  return `linear-gradient(to right, ${CIVIDIS.map(css).join(', ')})`;
}

/** The load of a core to which the scale goes: one process runs and another one waits. */
const LOAD_MOST = 2;

/** Whether values may be beyond the end of the scale. */
export function saturates(column) {
  return column.key === 'load_per_core';
}

/**
 * From which value to which the scale goes for a column: fixed where a value says by itself what it
 * means, per cent from 0 to 100 and loads of a core from 0 to 2. Else round numbers, so that the
 * scale does not move while values move a little: from 0, or around the values if some are
 * negative. Nodes that are gone do not stretch it: their ages only grow.
 */
export function rangeOf(all, column) {
  if (column.kind === 'percent') return [0, 100];
  if (saturates(column)) return [0, LOAD_MOST];
  const here = all.filter(({ shown }) => shown !== 'dead' && shown !== 'left');
  const nodes = here.length > 0 ? here : all;
  let [low, high] = [Infinity, -Infinity];
  for (const node of isNumeric(column) ? nodes : []) {
    const value = valueOf(node, column);
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  return [low < 0 ? -roundUp(-low, column.kind) : 0, roundUp(Math.max(high, 0), column.kind)];
}

/** The position of a value in a range, from 0 to 1. */
export function placeOf(value, [low, high]) {
  return high > low ? (value - low) / (high - low) : 0;
}
