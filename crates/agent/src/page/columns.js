// Which columns the table has: chosen in a dialog, and remembered by the browser.
//
// Remembered is only what differs from what is usual, so that a column that comes later is seen.

import { RARE, element } from './readings.js';

const KEPT_AS = 'tidings.columns';
const ALWAYS = ['name', 'state'];

export class Columns {
  #dialog = document.getElementById('columns');
  #list = document.getElementById('columns-list');
  /** By key: whether the column is shown, where that was chosen. */
  #chosen = read();
  #known = [];
  #changed;

  /** `changed()` is called when others are to be shown. */
  constructor(changed) {
    this.#changed = changed;
    document.getElementById('columns-button').addEventListener('click', () => this.#open());
    document.getElementById('columns-close').addEventListener('click', () => this.#dialog.close());
    document.getElementById('columns-usual').addEventListener('click', () => {
      this.#chosen = {};
      this.#keep();
      this.#fill();
    });
  }

  /** Those of all columns that are shown. */
  shown(all) {
    this.#known = all;
    return all.filter(({ key }) => this.#has(key));
  }

  #has(key) {
    if (ALWAYS.includes(key)) return true;
    return Object.hasOwn(this.#chosen, key) ? this.#chosen[key] : !RARE.includes(key);
  }

  #open() {
    this.#fill();
    this.#dialog.showModal();
  }

  #fill() {
    const offered = this.#known.filter(({ key }) => !ALWAYS.includes(key));
    this.#list.replaceChildren(...offered.map(({ key, title }) => {
      const box = element('input', { type: 'checkbox', value: key });
      box.checked = this.#has(key);
      box.addEventListener('change', () => this.#choose(key, box.checked));
      return element('label', {}, box, title);
    }));
  }

  #choose(key, shown) {
    if (shown === !RARE.includes(key)) delete this.#chosen[key];
    else this.#chosen[key] = shown;
    this.#keep();
  }

  #keep() {
    try {
      localStorage.setItem(KEPT_AS, JSON.stringify(this.#chosen));
    } catch {
      // A browser that keeps nothing: the choice holds until the page is closed.
    }
    this.#changed();
  }
}

/** What was chosen before; nothing where it cannot be read. */
function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT_AS) ?? '{}');
    return Object.fromEntries(Object.entries(kept).filter(([, shown]) =>
      typeof shown === 'boolean'));
  } catch {
    return {};
  }
}
