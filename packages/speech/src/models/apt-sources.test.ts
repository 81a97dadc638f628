import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pickSources, publicSources, readDistribution } from './apt-sources.ts';

const DEB822 = `# a comment
Types: deb deb-src
URIs: http://mirror.corp.example/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
Trusted: yes

Types: deb
URIs: https://deb.nodesource.com/node_20.x
Suites: nodistro
Components: main

Enabled: no
Types: deb
URIs: http://other.example/debian
Suites: bookworm
Components: main
`;

describe('package sources', () => {
  it('keep the distribution and its keys, leave third parties, backports and waived signatures out', () => {
    const { 'system.sources': text } = pickSources([{ name: 'a.sources', content: DEB822 }], 'bookworm');
    assert.equal(
      text,
      'Types: deb\nURIs: http://mirror.corp.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n' +
        'signed-by: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n',
    );
  });

  it('keep the same of one-line files', () => {
    const content = `deb [arch=amd64 trusted=yes signed-by=/k.gpg] http://a.example/ubuntu noble main universe # x
deb http://a.example/ubuntu noble-security universe
deb https://download.docker.com/linux/ubuntu noble stable
deb http://apt.example/pub noble-pgdg main
deb cdrom:[disc]/ noble main
deb-src http://a.example/ubuntu noble main
#deb http://a.example/ubuntu noble main
`;
    const { 'system.list': text } = pickSources([{ name: 'sources.list', content }], 'noble');
    assert.equal(
      text,
      'deb [arch=amd64 signed-by=/k.gpg] http://a.example/ubuntu noble main universe\ndeb http://a.example/ubuntu noble-security universe\n',
    );
    assert.deepEqual(pickSources([{ name: 'sources.list', content: '' }], 'noble'), {});
  });

  it('fall back on the public archive of the distribution', () => {
    assert.match(
      publicSources({ id: 'debian', codename: 'trixie' }, 'amd64')?.['public.list'] ?? '',
      /deb\.debian\.org\/debian trixie main/,
    );
    assert.match(
      publicSources({ id: 'ubuntu', codename: 'noble' }, 'arm64')?.['public.list'] ?? '',
      /ports\.ubuntu\.com/,
    );
    assert.equal(publicSources({ id: 'debian', codename: 'x"; evil' }, 'amd64'), undefined);
  });

  it('know a derivative by what it is made from', () => {
    assert.deepEqual(readDistribution('ID=debian\nVERSION_CODENAME=bookworm\n'), {
      id: 'debian',
      codename: 'bookworm',
    });
    assert.deepEqual(
      readDistribution('ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n'),
      {
        id: 'ubuntu',
        codename: 'noble',
      },
    );
    assert.equal(readDistribution('ID=alpine\nVERSION_ID=3.20\n'), undefined);
  });
});
