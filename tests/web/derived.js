// The page's modules on invented nodes; the result lists the errors.
Promise.all(['readings', 'cluster', 'ages', 'table', 'layout', 'groups',
  'header', 'filter', 'colours'].map((name) =>
  import(`/page/${name}.js`))).then(([readings, cluster, ages, table, layout,
  groups, header, filter, colours]) => {
  const wrong = [];
  const same = (what, got, wanted) => {
    if (JSON.stringify(got) !== JSON.stringify(wanted)) wrong.push([what, got, wanted]);
  };
  const { format, roundUp, columnsOf, stateOf } = readings;

  same('even decimals', [
    format(1023, 'bytes'), format(1024, 'bytes'), format(8 * 2 ** 30, 'bytes'),
    format(3400, 'rate'), format(256, 'ms'), format(1800, 'ms'), format(59.99, 's'),
    format(3725, 's'), format(200000, 's'), format(12.34, 'percent'), format(51.6, 'celsius'),
    format(null, 'bytes'), format(0.5, 'load'), format(64, 'whole'),
  ], ['1023 B', '1.0 KiB', '8.0 GiB', '3.3 KiB/s', '256 ms', '1.8 s', '1 m 0 s', '1 h 2 m',
    '2 d 7 h', '12.3 %', '52 °C', '–', '0.50', '64']);
  same('round ends', [roundUp(0.7, 'count'), roundUp(3, 'ms'), roundUp(1e6, 'ms'),
    roundUp(2.9 * 2 ** 30, 'bytes'), roundUp(0, 'count')], [0.8, 3, 1e6, 3 * 2 ** 30, 1]);

  const node = (name, state, more = {}) =>
    ({ name, state, age_ms: 100, incarnation: 1, sequence: 1, user: {}, ...more });
  same('stale', [stateOf(node('a', 'alive', { age_ms: 6400 }), 100),
    stateOf(node('a', 'alive', { age_ms: 6399 }), 100),
    stateOf(node('a', 'left', { age_ms: 9999 }), 100),
    stateOf(node('a', 'of tomorrow'), 100)], ['stale', 'alive', 'left', 'of tomorrow']);
  const users = columnsOf([node('a', 'alive', { user: { gpu: '3', rack: 'r1' } }),
    node('b', 'alive', { user: { gpu: '' } })]).slice(-2);
  same('columns of users', users.map(({ key, kind }) => [key, kind]),
    [['user.gpu', 'count'], ['user.rack', 'text']]);

  const column = { key: 'load1', kind: 'count' };
  const loads = [node('n2', 'alive', { load1: 3 }), node('n9', 'alive', { load1: null }),
    node('n10', 'alive', { load1: 1 })];
  const names = (nodes) => nodes.map(({ name }) => name).join();
  same('sorted', [false, true].map((down) => names(table.sorted(loads, column, down))),
    ['n10,n2,n9', 'n2,n10,n9']);
  same('by name', names(table.byName(loads.toReversed())), 'n2,n9,n10');

  const waits = { key: 'user.wait', title: 'wait', kind: 'count', decimals: 2 };
  const waiting = columnsOf([node('a', 'alive', { user: { wait: '1.25' } }),
    node('b', 'alive', { user: { wait: '3' } })]).at(-1);
  same('decimals of a column', [waiting,
    readings.shownIn(node('b', 'alive', { user: { wait: '3' } }), waits)], [waits, '3.00']);

  const numbered = (from, to, before = 'n', digits = 2) => Array.from({ length: to - from + 1 },
    (_, i) => `${before}${String(from + i).padStart(digits, '0')}`);
  same('hostlists', [groups.fold(numbered(8, 12)), groups.fold(['n1', 'n2', 'n9', 'n10']),
    groups.fold([...numbered(1, 3), 'n07', 'login', 'r1-n1', 'r1-n2', 'r2-n1']),
    groups.fold(['a', 'b', 'c', 'd'], 2), groups.fold(['n1', 'n3', 'n5', 'n7'], 2),
    groups.fold(['n01.hall', 'n02.hall'])],
  ['n[08-12]', 'n[1-2,9-10]', 'n[01-03,07], login, r1-n[1-2], r2-n1', 'a, b and 2 more',
    'n[1,3,…]', 'n[01-02].hall']);

  const racks = ['r2', 'r10', 'r2', null].map((rack, i) =>
    node(`n${i}`, 'alive', { user: rack ? { rack } : {} }));
  const rackColumns = columnsOf(racks);
  const titled = (by, all = racks, columns = rackColumns) => groups.groupsOf(all, by, columns)
    .map(({ title, nodes }) => `${title}: ${nodes.length}`);
  const two = [...numbered(1, 2, 'a-'), ...numbered(1, 3, 'b-')].map((name) => node(name, 'alive'));
  same('groups', [titled('name'), titled('name', two), titled('', two), titled('user.rack', two),
    titled('user.rack', [...racks, ...racks], rackColumns)],
  [[': 4'], ['a-[01-02]: 2', 'b-[01-03]: 3'], [': 5'], [': 5'],
    ['rack r2: 4', 'rack r10: 2', 'no rack: 2']]);
  same('what can be grouped by', groups.choices([...racks, ...racks], rackColumns),
    [{ key: 'user.rack', title: 'rack' }]);

  const measure = (text) => 7 * text.length;
  for (const count of [1, 24, 1000, 8192]) {
    for (const width of [300, 1000, 1900]) {
      for (const size of [count, 64]) {
        const all = numbered(1, count, 'node', 4).map((name) => ({ name }));
        const blocks = Array.from({ length: Math.ceil(count / size) }, (_, i) =>
          ({ title: size < count ? `rack ${i}` : '', nodes: all.slice(i * size, (i + 1) * size) }));
        const made = layout.layout(blocks, width, 400, measure);
        const cells = new Set(Array.from({ length: count }, (_, i) =>
          `${made.places[2 * i]} ${made.places[2 * i + 1]}`));
        const inside = made.places.every((at, i) => at >= 0
          && at + made.cell[i % 2] <= [width, made.height][i % 2]);
        const texts = (made.labels?.length ?? 0) + made.titles.length + made.rowNames.length;
        same(`${count} by ${size} in ${width}`, [cells.size, inside, texts > 0],
          [count, true, true]);
      }
    }
  }
  same('a scale that is fixed', [colours.rangeOf([], { key: 'load_per_core', kind: 'load' }),
    colours.rangeOf([], { key: 'cpu_busy_percent', kind: 'percent' })], [[0, 2], [0, 100]]);
  same('the dead stretch no scale', colours.rangeOf([{ shown: 'alive', age_ms: 400 },
    { shown: 'dead', age_ms: 1e6 }], { key: 'age_ms', kind: 'ms' }), [0, 400]);

  same('totals', header.totals([
    { shown: 'alive', cores: 8, load1: 4, cpu_busy_percent: 50,
      mem_available_bytes: 2 ** 30, mem_total_bytes: 2 ** 31 },
    { shown: 'suspected', cores: 24, load1: 12, cpu_busy_percent: 10, mem_available_bytes: null },
    { shown: 'dead', cores: 64, load1: 64, cpu_busy_percent: 100 }, { shown: 'unheard' }]),
  [['nodes', '2 of 4'], ['cores', '32'], ['busy', '20.0 %'], ['load per core', '0.50'],
    ['memory free', '1.0 GiB of 2.0 GiB']]);
  same('what is wrong', ['alive', 'dead', 'stale', 'dead'].map(
    (shown, i) => ({ shown, name: `n${i}` })).map(
    (_, i, all) => header.wrongIn(header.byState(all.slice(0, i + 1)))),
  ['', '1 dead (n1)', '1 dead (n1), 1 stale (n2)', '2 dead (n[1,3]), 1 stale (n2)']);
  same('conditions', ['load1>2', 'user.rack == r1', 'gpu-07 alive', ''].map(filter.isCondition),
    [true, true, false, false]);

  const picture = new cluster.Cluster();
  const status = { pid: 1, name: 'a', cluster: 'c' };
  let told = 0;
  const take = (nodes, at, { pid = 1, events = [], first = told + 1 } = {}) => {
    told = first - 1 + events.length;
    return picture.take({ nodes, interval_ms: 100, observer: 'a' }, { ...status, pid },
      { first, events }, at);
  };
  const event = (kind, name, time) => ({ event: kind, name, time_ms: time });
  const said = (events) => events.map(({ kind, name }) => `${kind} ${name}`).sort().join();
  const earlier = [event('dead', 'b', -5), event('back', 'b', -3)];
  same('what was before', said(take([node('a', 'alive'), node('b', 'alive')], 0,
    { events: earlier })), 'back b,dead b');
  same('newest first', picture.events.map(({ at }) => at), [-3, -5]);
  same('the agent says who is dead', said(take([node('a', 'alive'), node('b', 'dead'),
    node('c', 'unheard', { age_ms: null })], 1, { events: [event('dead', 'b', 1)] })), 'dead b');
  same('the number of the next', picture.nextEvent, 4);
  same('heard', said(take([node('a', 'alive'), node('b', 'alive', { incarnation: 2 }),
    node('c', 'alive', { load1: 4 })], 2)), 'heard c');
  same('stale', said(take([node('a', 'alive', { incarnation: 2 }),
    node('b', 'alive', { age_ms: 1e5 })], 3)), 'stale b');
  same('an agent anew', [said(take([node('a', 'alive'), node('b', 'alive')], 4,
    { pid: 2, first: 1, events: [event('joined', 'b', 4)] })), picture.nextEvent],
  ['agent a,fresh b,joined b', 2]);
  same('the history', picture.history('c', 'load1').map(([, value]) => value),
    [null, null, 4, null, null]);
  same('of strangers', picture.history('z', 'load1').every(([, value]) => value === null), true);
  const many = Array.from({ length: 100 }, (_, i) => node(`m${i}`, 'alive'));
  const joined = many.map(({ name }, i) => event('joined', name, 5 + i));
  same('a hundred are one line', take(many, 5, { pid: 2, events: joined }).map(({ text }) => text),
    ['100 nodes: joined (m[0-99])']);
  same('what was lost is said', take(many, 6, { pid: 2, first: told + 8 }).map(({ text }) => text),
    ['7 earlier events were not kept']);
  const refused = (...answers) => {
    try { picture.take(...answers); } catch (error) { return error.message; }
    return '';
  };
  same('not the answers', [refused(null, status, { first: 1, events: [] }, 6),
    refused({ nodes: [] }, null, { first: 1, events: [] }, 6)],
    ['the answer has no list of nodes', 'the answer has no status']);
  same('and nothing changed', picture.nodes.length, 100);

  same('bins', ages.histogram([0, 10, 20, ...Array(7).fill(30), 1000]),
    { width: 3, counts: [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 7, ...Array(9).fill(0)], beyond: 1 });
  same('no ages', ages.histogram([]), null);
  return wrong;
})
