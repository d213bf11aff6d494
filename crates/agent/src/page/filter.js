// The filter: words that are looked for in the page, or a condition that the agent reads.
//
// A condition is the command line's `--where`: the agent answers which nodes it holds for, or what
// is wrong with it and where. Until the answer is there the last one holds.

/** What words do not contain: a comparison. */
const OPERATOR = /[<>=!]/;

/** Whether a filter is a condition. */
export function isCondition(text) {
  return OPERATOR.test(text);
}

/** Whether all words of a filter are somewhere in a node's texts. */
export function matcher(filter) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return () => true;
  return (node) => {
    const user = Object.entries(node.user ?? {}).map(([key, value]) => `${key}=${value}`);
    const texts = [node.name, node.shown, node.address, node.kernel ?? '', ...user];
    const text = texts.join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

export class Filter {
  text = '';
  /** What is wrong with the condition; empty if nothing is. */
  error = '';
  /** How often another condition was asked for: an answer to an earlier one is late. */
  #asked = 0;
  #names = null;
  #matches = () => true;

  /** Sets the text; words hold at once. */
  set(text) {
    this.text = text;
    this.#asked += 1;
    if (isCondition(text)) return;
    this.error = '';
    this.#names = null;
    this.#matches = matcher(text);
  }

  /** Asks which nodes the condition holds for, if it is one; `ask(path)` throws what is wrong. */
  async refresh(ask) {
    if (!isCondition(this.text)) return;
    const asked = this.#asked;
    let [names, error] = [null, ''];
    try {
      const answer = await ask(`/v1/names?${new URLSearchParams({ where: this.text })}`);
      names = new Set(JSON.parse(answer).names);
    } catch (thrown) {
      error = thrown.name === 'TimeoutError' ? 'no answer in time' : thrown.message;
    }
    if (asked !== this.#asked) return;
    this.error = error.replace(/^where: /, '');
    this.#names = names ?? this.#names;
  }

  /** Whether a node is shown. */
  get matches() {
    const names = this.#names;
    return names && isCondition(this.text) ? ({ name }) => names.has(name) : this.#matches;
  }
}
