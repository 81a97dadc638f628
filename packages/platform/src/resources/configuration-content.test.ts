import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkContent } from './configuration-content.ts';

const GOOD = {
  general: { anything: [1] },
  aliases: { 'www.example.org': 'work' },
  domains: [{ name: 'work' }, { name: 'team.work', parent: 'work' }, { name: 'side', parent: 'master' }],
  sites: [{ name: 's' }],
  servers: [
    { name: 'a', site: 's', address: '192.0.2.1' },
    { name: 'b', site: 's' },
  ],
  roles: [
    { name: 'api', kind: 'platform' },
    { name: 'ear', kind: 'speech', options: { server: { port: 9000 } } },
    { name: 'far', kind: 'speech' },
    { name: 'shop', kind: 'layer' },
  ],
  structure: [
    { server: 'a', role: 'api', index: 1 },
    { server: 'b', role: 'api', index: 1 },
    { server: 'a', role: 'ear', index: 1 },
    { server: 'a', role: 'far', index: 1 },
    { server: 'b', role: 'shop', index: 7 },
  ],
};
const check = (changes: object, isShared = true) =>
  checkContent({ ...GOOD, ...changes }, { isShared, domains: ['master'] });

/** What is changed of a good content, and the one fault it then has. */
const FAULTS: readonly [changes: object, fault: RegExp][] = [
  [{ sites: 'none' }, /^content\.sites/],
  [{ aliases: { host: 7 } }, /aliases: host must name a domain/],
  [{ domains: [{}] }, /^content\.domains/],
  [{ domains: [{ name: 'Big' }] }, /Big is no domain name/],
  [{ domains: [{ name: 'x' }, { name: 'x' }] }, /domains: x is named twice/],
  [{ domains: [{ name: 'x', parent: 'gone' }] }, /x stands below an unknown domain gone/],
  [{ domains: [{ name: 'x', parent: 'x' }] }, /x stands below itself/],
  [{ sites: [{ name: 's' }, { name: 'a b' }] }, /sites: a b may hold/],
  [{ servers: [...GOOD.servers, { name: 'c', site: 'gone' }] }, /c stands on an unknown site/],
  [{ servers: [...GOOD.servers, { name: 'b', site: 's' }] }, /servers: b is named twice/],
  [{ roles: [...GOOD.roles, { name: 'odd', kind: 'odd' }] }, /odd has an unknown kind/],
  [{ roles: [...GOOD.roles, { name: 'x' }] }, /^content\.roles/],
  [{ structure: [...GOOD.structure, { server: 'z', role: 'shop', index: 1 }] }, /unknown server z/],
  [{ structure: [...GOOD.structure, { server: 'a', role: 'zoo', index: 1 }] }, /unknown role zoo/],
  [{ structure: [...GOOD.structure, { server: 'b', role: 'shop', index: 7 }] }, /shop_7@b is named twice/],
  [{ structure: [...GOOD.structure, { server: 'b', role: 'shop', index: -1 }] }, /^content\.structure/],
  [{ structure: GOOD.structure.slice(2) }, /no server runs a role of kind platform/],
  [{ structure: [...GOOD.structure, { server: 'a', role: 'far', index: 2 }] }, /two speech nodes on a, port 8090/],
];

describe('the content of a configuration', () => {
  it('passes when all it names is there', () => {
    assert.deepEqual(check({}), { errors: [], warnings: [] });
    assert.deepEqual(checkContent({}, { isShared: false, domains: [] }), { errors: [], warnings: [] });
  });

  it('has each fault told alone', () => {
    for (const [changes, fault] of FAULTS) {
      const { errors } = check(changes);
      assert.equal(errors.length, 1, `${fault}: ${errors.join('; ')}`);
      assert.match(errors[0]!, fault);
    }
  });

  it('has a circle of domains told by each of them', () => {
    const domains = [
      { name: 'x', parent: 'y' },
      { name: 'y', parent: 'x' },
    ];
    assert.deepEqual(check({ domains }).errors, [
      'content.domains: x stands below itself',
      'content.domains: y stands below itself',
    ]);
  });

  it('needs PostgreSQL for several platform nodes on one server', () => {
    const structure = [...GOOD.structure, { server: 'a', role: 'api', index: 2 }];
    assert.deepEqual(check({ structure }).errors, []);
    assert.match(check({ structure }, false).errors.join(), /several platform nodes on a need storage in PostgreSQL/);
  });

  it('is warned of what likely was not meant', () => {
    const { errors, warnings } = check({
      aliases: { host: 'nowhere' },
      nodes: [],
      servers: [...GOOD.servers, { name: 'c', site: 's' }],
      roles: [...GOOD.roles, { name: 'idle', kind: 'layer' }],
    });
    assert.deepEqual(errors, []);
    assert.deepEqual(warnings, [
      'content.nodes is not known',
      'content.aliases: host names the unknown domain nowhere',
      'content.servers: c is in no line of the structure and runs what its command starts',
      'content.roles: idle is in no line of the structure and runs nowhere',
    ]);
  });
});
