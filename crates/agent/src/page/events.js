// The list of events, newest first: one stop of the Tab key, arrows within, Enter opens the node.

import { element, moment } from './elements.js';

export class Events {
  #list = document.getElementById('events');
  #open;
  #events = [];
  #current = null;

  constructor(open) {
    this.#open = open;
    this.#list.addEventListener('keydown', (event) => this.#key(event));
    this.#list.addEventListener('focus', () => this.#point(this.#at()));
    this.#list.addEventListener('click', (event) => {
      const row = event.target.closest('[role=option]');
      if (!row) return;
      this.#point([...this.#list.children].indexOf(row));
      this.#act();
    });
  }

  /** Shows all events; `latest`, those of the last answer, are also announced, in one sentence. */
  show(events, latest) {
    if (events === this.#events) return;
    this.#events = events;
    const known = new Map([...this.#list.children].map((row) => [row.event, row]));
    this.#list.replaceChildren(...events.map((event) => known.get(event) ?? line(event)));
    this.#point(this.#at(), false);
    if (latest.length === 0) return;
    const said = latest.slice(0, 3).map(words).join('; ');
    const more = latest.length > 3 ? `; and ${latest.length - 3} events more` : '';
    document.getElementById('news').textContent = said + more;
  }

  #at() {
    return Math.max(0, this.#events.indexOf(this.#current));
  }

  #point(at, scroll = true) {
    const index = Math.min(this.#events.length - 1, Math.max(0, at));
    [...this.#list.children].forEach((row, i) => row.setAttribute('aria-selected', i === index));
    const row = this.#list.children[index];
    if (!row) {
      this.#list.removeAttribute('aria-activedescendant');
      return;
    }
    if (scroll) {
      this.#current = this.#events[index];
      row.scrollIntoView({ block: 'nearest' });
    }
    this.#list.setAttribute('aria-activedescendant', row.id);
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const at = this.#at();
    const moves = {
      ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 8, PageDown: at + 8, Home: 0,
      End: this.#events.length - 1,
    };
    if (event.key in moves) this.#point(moves[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') this.#act();
    else return;
    event.preventDefault();
  }

  #act() {
    const name = this.#current?.name;
    if (name) this.#open(name);
  }
}

let rows = 0;

function line(event) {
  rows += 1;
  const row = element('div', { role: 'option', id: `event-${rows}`, class: 'event',
    'data-kind': event.kind, 'aria-selected': 'false' },
  element('time', {}, moment(event.at)), words(event));
  row.event = event;
  return row;
}

function words({ name, text }) {
  return name ? `${name} ${text}` : text;
}
