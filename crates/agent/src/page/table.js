// The table: every node and the chosen readings, sorted by any column.
//
// Only the rows in view are in the document, between two spacers of the height of all others, so
// that ten thousand nodes cost as much as thirty. It is one stop of the Tab key; within it the
// arrows move a current cell, the headings included, which screen readers can follow.

import { STATES, element, isNumeric, shownIn, valueOf } from './readings.js';

const ROW_PIXELS = 30;
const ROWS_AROUND = 4;

const natural = new Intl.Collator('en', { numeric: true });

/** Nodes in natural order of their names: n2 before n10. */
export function byName(nodes) {
  return nodes.toSorted((a, b) => natural.compare(a.name, b.name));
}

/**
 * Nodes, which come in order of their names, sorted by a column. Missing is last both ways; the
 * order of names decides among equals.
 */
export function sorted(nodes, column, descending) {
  const sign = descending ? -1 : 1;
  if (column.key === 'name') return descending ? nodes.toReversed() : nodes;
  const value = column.kind === 'state'
    ? (node) => STATES.indexOf(node.shown)
    : (node) => valueOf(node, column);
  const keyed = nodes.map((node) => [value(node), node]);
  const compare = isNumeric(column) || column.kind === 'state'
    ? (a, b) => a - b
    : (a, b) => natural.compare(a, b);
  return keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * compare(a, b);
  }).map(([, node]) => node);
}

export class Table {
  #table = document.getElementById('table');
  #scroller = document.getElementById('scroller');
  #head = this.#table.tHead.rows[0];
  #body = this.#table.tBodies[0];
  #open;
  #resort;
  #columns = [];
  #rows = [];
  #index = new Map();
  #coloured = '';
  #paint = () => null;
  #selected = null;
  /** The current cell: a node's name, or null for the headings; and a column's key. */
  #current = { name: null, key: 'name' };

  /** `open(name)` is called for the node that was chosen, `resort(key)` for a heading. */
  constructor(open, resort) {
    this.#open = open;
    this.#resort = resort;
    this.#table.addEventListener('keydown', (event) => this.#key(event));
    this.#table.addEventListener('focus', () => this.#mark());
    this.#table.addEventListener('blur', () => this.#mark());
    this.#table.addEventListener('click', (event) => this.#click(event));
    this.#scroller.addEventListener('scroll', () => requestAnimationFrame(() => this.#fill()));
    new ResizeObserver(() => this.#fill()).observe(this.#scroller);
  }

  show(columns, rows, { key, descending, coloured, paint, selected }) {
    const names = columns.map((column) => column.key).join();
    if (names !== this.#columns.map((column) => column.key).join()) this.#headings(columns);
    this.#columns = columns;
    this.#rows = rows;
    this.#index = new Map(rows.map((node, index) => [node.name, index]));
    this.#coloured = coloured;
    this.#paint = paint;
    this.#selected = selected;
    this.#table.setAttribute('aria-rowcount', rows.length + 1);
    this.#table.setAttribute('aria-colcount', columns.length);
    for (const heading of this.#head.cells) {
      const order = descending ? 'descending' : 'ascending';
      heading.setAttribute('aria-sort', heading.dataset.key === key ? order : 'none');
    }
    this.#fill();
  }

  #headings(columns) {
    this.#head.replaceChildren(...columns.map((column, index) => element('th', {
      id: `head-${index}`, role: 'columnheader', scope: 'col', 'aria-colindex': index + 1,
      class: isNumeric(column) ? 'number' : 'text', 'data-key': column.key,
      title: `Sort by ${column.title}`,
    }, column.title)));
    this.#body.replaceChildren();
  }

  /** Puts the rows in view into the document. */
  #fill() {
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / ROW_PIXELS) - ROWS_AROUND);
    const room = Math.ceil(this.#scroller.clientHeight / ROW_PIXELS) + 2 * ROWS_AROUND;
    const last = Math.min(this.#rows.length, first + room);
    const wanted = last - first;
    this.#pool(wanted);
    const rows = [...this.#body.rows];
    spacer(rows[0], first);
    spacer(rows[rows.length - 1], this.#rows.length - last);
    for (let index = first; index < last; index += 1) {
      this.#row(rows[index - first + 1], this.#rows[index], index);
    }
    this.#mark();
  }

  #pool(wanted) {
    const empty = () => element('tr', { class: 'spacer', 'aria-hidden': 'true' });
    if (this.#body.rows.length === 0) this.#body.append(empty(), empty());
    while (this.#body.rows.length - 2 > wanted) this.#body.rows[1].remove();
    while (this.#body.rows.length - 2 < wanted) {
      const cells = this.#columns.map((column, index) => element(index === 0 ? 'th' : 'td', {
        role: index === 0 ? 'rowheader' : 'gridcell', 'aria-colindex': index + 1,
        class: isNumeric(column) ? 'number' : 'text',
      }));
      this.#body.lastElementChild.before(element('tr', { role: 'row' }, ...cells));
    }
    [...this.#body.rows].forEach((row, at) => {
      [...row.cells].forEach((cell, index) => { cell.id = `cell-${at}-${index}`; });
    });
  }

  #row(row, node, index) {
    row.dataset.name = node.name;
    row.dataset.state = node.shown;
    row.setAttribute('aria-rowindex', index + 2);
    row.setAttribute('aria-selected', node.name === this.#selected);
    this.#columns.forEach((column, at) => {
      const text = shownIn(node, column);
      const cell = row.cells[at];
      if (cell.textContent !== text) cell.textContent = text;
      if (column.key === this.#coloured) chip(cell, this.#paint(node));
      else cell.querySelector('.chip')?.remove();
    });
  }

  /** Shows which cell is the current one, where it is in view. */
  #mark() {
    const focused = document.activeElement === this.#table;
    this.#table.querySelectorAll('.current').forEach((cell) => cell.classList.remove('current'));
    const cell = this.#cell();
    if (cell) this.#table.setAttribute('aria-activedescendant', cell.id);
    else this.#table.removeAttribute('aria-activedescendant');
    if (cell && focused) cell.classList.add('current');
    this.#table.classList.toggle('adrift', focused && !cell);
  }

  #cell() {
    const column = this.#column();
    if (this.#current.name === null) return this.#head.cells[column];
    const row = [...this.#body.rows].find((row) => row.dataset.name === this.#current.name);
    return row?.cells[column];
  }

  #column() {
    return Math.max(0, this.#columns.findIndex((column) => column.key === this.#current.key));
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const row = this.#current.name === null ? -1 : this.#index.get(this.#current.name) ?? 0;
    const column = this.#column();
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW_PIXELS) - 2);
    const moves = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [Math.max(0, row - page), column], PageDown: [row + page, column],
      Home: [0, column], End: [this.#rows.length - 1, column],
    };
    if (event.key in moves) this.#move(...moves[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') this.#act();
    else return;
    event.preventDefault();
  }

  #act() {
    if (this.#current.name === null) this.#resort(this.#columns[this.#column()].key);
    else this.#open(this.#current.name);
  }

  #move(row, column) {
    const index = Math.min(this.#rows.length - 1, Math.max(-1, row));
    const at = Math.min(this.#columns.length - 1, Math.max(0, column));
    this.#current = { name: this.#rows[index]?.name ?? null, key: this.#columns[at].key };
    if (index >= 0) {
      const [top, room] = [index * ROW_PIXELS, this.#scroller.clientHeight - 2 * ROW_PIXELS];
      const scrolled = this.#scroller.scrollTop;
      if (top < scrolled) this.#scroller.scrollTop = top;
      else if (top > scrolled + room) this.#scroller.scrollTop = top - room;
    }
    this.#fill();
    this.#aside(this.#cell());
  }

  /** Scrolls sideways as far as a cell needs to be right of the first column. */
  #aside(cell) {
    if (!cell || cell.cellIndex === 0) {
      this.#scroller.scrollLeft = 0;
      return;
    }
    const left = cell.offsetLeft - this.#head.cells[0].offsetWidth;
    const right = cell.offsetLeft + cell.offsetWidth - this.#scroller.clientWidth;
    if (this.#scroller.scrollLeft > left) this.#scroller.scrollLeft = left;
    else if (this.#scroller.scrollLeft < right) this.#scroller.scrollLeft = Math.min(left, right);
    const low = cell.getBoundingClientRect().bottom - window.innerHeight;
    if (low > 0) window.scrollBy(0, low + ROW_PIXELS);
  }

  #click(event) {
    const cell = event.target.closest('th, td');
    const row = cell?.parentElement;
    if (!row || row.classList.contains('spacer')) return;
    const key = this.#columns[cell.cellIndex].key;
    this.#current = { name: row.dataset.name ?? null, key };
    this.#mark();
    this.#act();
  }
}

/** The colour that the map has for the node, before the value; none where it is missing. */
function chip(cell, colour) {
  const there = cell.querySelector('.chip');
  if (colour === null) {
    there?.remove();
    return;
  }
  const made = there ?? element('span', { class: 'chip' });
  made.style.background = colour;
  if (!there) cell.prepend(made);
}

function spacer(row, rows) {
  row.style.height = `${rows * ROW_PIXELS}px`;
  row.hidden = rows === 0;
}
