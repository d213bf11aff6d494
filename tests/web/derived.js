// The page's modules on invented nodes; the result lists the errors.
Promise.all(['readings', 'cluster', 'ages', 'table', 'map'].map((name) =>
  import(`/page/${name}.js`))).then(([readings, cluster, ages, table, map]) => {
  const wrong = [];
  const same = (what, got, wanted) => {
    if (JSON.stringify(got) !== JSON.stringify(wanted)) wrong.push([what, got, wanted]);
  };
  const { format, roundUp, columnsOf, stateOf } = readings;

  same('three figures', [
    format(1023, 'bytes'), format(1024, 'bytes'), format(8 * 2 ** 30, 'bytes'),
    format(3400, 'rate'), format(256, 'ms'), format(1800, 'ms'), format(59.99, 's'),
    format(3725, 's'), format(200000, 's'), format(12.34, 'percent'), format(51.6, 'celsius'),
    format(null, 'bytes'),
  ], ['1023 B', '1.00 KiB', '8.00 GiB', '3.32 KiB/s', '256 ms', '1.8 s', '1 m 0 s', '1 h 2 m',
    '2 d 7 h', '12.3 %', '52 °C', '–']);
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

  const labels = (all, room) => all.map(map.labelOf(all, (text) => text.length <= room));
  same('labels', [labels(['n1', 'n2'], 4), labels(['node08', 'node12'], 4),
    labels(['rack1-n01', 'rack2-n01'], 4), labels(['a-long-name'], 4), labels([], 4)],
    [['n1', 'n2'], ['…08', '…12'], ['', ''], [''], []]);

  const picture = new cluster.Cluster();
  const status = { pid: 1, name: 'a', cluster: 'c' };
  const take = (nodes, at, pid = 1) => picture.take(
    { nodes, interval_ms: 100, observer: 'a' }, { ...status, pid }, at);
  const said = (events) => events.map(({ kind, name }) => `${kind} ${name}`).sort().join();
  same('nothing at first', said(take([node('a', 'alive'), node('b', 'alive')], 0)), '');
  same('joined, dead', said(take([node('a', 'alive'), node('b', 'dead'),
    node('c', 'unheard', { age_ms: null })], 1)), 'dead b,joined c');
  same('back, heard', said(take([node('a', 'alive'), node('b', 'alive', { incarnation: 2 }),
    node('c', 'alive', { load1: 4 })], 2)), 'back b,heard c');
  same('restarted, forgotten, stale', said(take([node('a', 'alive', { incarnation: 2 }),
    node('b', 'alive', { age_ms: 1e5 })], 3)), 'forgotten c,restarted a,stale b');
  same('an agent anew', said(take([node('a', 'alive'), node('b', 'alive')], 4, 2)),
    'agent a,fresh b');
  same('the history', picture.history('c', 'load1').map(([, value]) => value),
    [null, null, 4, null, null]);
  same('of strangers', picture.history('z', 'load1').every(([, value]) => value === null), true);
  const many = Array.from({ length: 100 }, (_, i) => node(`m${i}`, 'alive'));
  same('a hundred are one line', take(many, 5).map(({ text }) => text).includes(
    '100 nodes: joined'), true);
  const refused = (...answers) => {
    try { picture.take(...answers); } catch (error) { return error.message; }
    return '';
  };
  same('not the answers', [refused(null, status, 6), refused({ nodes: [] }, null, 6)],
    ['the answer has no list of nodes', 'the answer has no status']);
  same('and nothing changed', picture.nodes.length, 100);

  same('bins', ages.histogram([0, 10, 20, ...Array(7).fill(30), 1000]),
    { width: 3, counts: [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 7, ...Array(9).fill(0)], beyond: 1 });
  same('no ages', ages.histogram([]), null);
  for (const count of [1, 7, 48, 1024, 8192]) {
    for (const width of [320, 800]) {
      const { columns, rows, cell } = map.shape(count, width);
      same(`${count} cells in ${width}`, [columns * rows >= count, columns * cell <= width,
        (rows - 1) * columns < count], [true, true, true]);
    }
  }
  return wrong;
})
