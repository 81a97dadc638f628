/** The installed licence: taking a new one, showing the one in force, and the quota it sets. */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import type { JWK } from 'jose';
import { cannotApply, notFound, problem } from '../codes.ts';
import type { LoadedDomains } from '../domains/domains.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Caller } from '../domains/types.ts';
import { createEntry } from '../journal/entry.ts';
import { countItems } from './count.ts';
import { type Counts, type Licence, type Terms, termsAt } from './document.ts';
import { LicenceRefused, openEnvelope } from './envelope.ts';
import { type InstallationKey, openInstallationKey } from './installation-key.ts';
import { createQuota, nowOf, type OpenQuota, type QuotaState, usageOf } from './quota.ts';
import { LICENCE_ID, LICENCE_KIND } from './rows.ts';

/** A licence with when it was issued and how long it is meant to last. */
export type ShownLicence = Terms & { readonly ext: Readonly<Record<string, string>> };

export type Licences = {
  readonly quota: OpenQuota;
  /** What the vendor needs to issue a licence for this installation. */
  addressee(): Promise<{ installation: string; key: JWK }>;
  /** 422 with the reason when the document is not taken; nothing has changed then. */
  install(token: string, caller: Caller): Promise<ShownLicence>;
  /** 404 when there is none. `asIssued`: without the smart conditions. */
  show(asIssued: boolean): Promise<ShownLicence>;
};

export type LicencesParts = {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
  /** Public keys of the vendor. */
  readonly vendorKeys: readonly string[];
  domains(): LoadedDomains;
  stamp(): string;
};

const MAX_TRIES = 20;
/** How far the vendor's clock may be ahead of ours. */
const SKEW_SEC = 300;

const refused = (reason: string) => cannotApply('license', reason);

/** Throws what must not be installed now. */
const checkTime = ({ issuedAt, notBefore = 0, expiresAt }: Licence, current: Licence | undefined, nowSec: number) => {
  if (Math.max(issuedAt, notBefore) > nowSec + SKEW_SEC) throw refused('not_yet_valid');
  if (expiresAt !== undefined && expiresAt <= nowSec) throw refused('expired');
  if (current && issuedAt < current.issuedAt) throw refused('older');
};

const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString();

const shown = ({ products, topleveldnpolicy, dql, sqf }: Terms, licence: Licence): ShownLicence => ({
  products,
  topleveldnpolicy,
  dql,
  sqf,
  ext: {
    number: licence.number,
    issuer: licence.issuer,
    issued: toTime(licence.issuedAt),
    ...(licence.notBefore === undefined ? {} : { not_before: toTime(licence.notBefore) }),
    ...(licence.expiresAt === undefined ? {} : { expires: toTime(licence.expiresAt) }),
  },
});

export const createLicences = (parts: LicencesParts): Licences => {
  const { store, secrets, clock, log, vendorKeys } = parts;
  let key: Promise<InstallationKey> | undefined;
  const keyOf = (): Promise<InstallationKey> => {
    const opening = key ?? openInstallationKey(store, secrets);
    key = opening;
    opening.catch(() => {
      key = undefined;
    });
    return opening;
  };
  const open = async (token: string): Promise<Licence> => {
    const { installation, privateKey } = await keyOf();
    return openEnvelope(token, { installation, key: privateKey, vendorKeys });
  };
  const openKept = async (token: string): Promise<Licence | undefined> => {
    try {
      return await open(token);
    } catch (thrown) {
      if (thrown instanceof LicenceRefused) return undefined;
      throw thrown;
    }
  };
  const quota = createQuota({ store, clock, log, domains: parts.domains, open: openKept });
  const inForce = (licence: Licence, counts: Counts): ShownLicence =>
    shown(termsAt(licence, nowOf(clock), counts), licence);

  const put = async (token: string, licence: Licence, state: QuotaState, caller: Caller): Promise<void> => {
    const master = parts.domains().master.name;
    const { change } = usageOf(master, state, await countItems(store, master));
    await store.commit(master, [
      { op: 'put', kind: LICENCE_KIND, id: LICENCE_ID, data: { token }, expect: state.licenceVersion, quiet: true },
      change,
      { op: 'journal', entry: entryOf(parts, licence, state.licence, caller) },
    ]);
  };
  /** False when something was counted meanwhile. */
  const tryInstall = async (token: string, licence: Licence, caller: Caller): Promise<boolean> => {
    const state = await quota.read();
    checkTime(licence, state.licence, clock.now() / 1000);
    if (token === state.token) return true;
    try {
      await put(token, licence, state, caller);
      log.info({ number: licence.number, userId: caller.userId }, 'licence installed');
      return true;
    } catch (thrown) {
      if (thrown instanceof Conflict) return false;
      throw thrown;
    }
  };
  return {
    quota,
    addressee: async () => {
      const { installation, publicKey } = await keyOf();
      return { installation, key: publicKey };
    },
    install: async (token, caller) => {
      const licence = await open(token).catch((thrown: unknown) => {
        throw thrown instanceof LicenceRefused ? refused(thrown.reason) : thrown;
      });
      return quota.alone(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          if (await tryInstall(token, licence, caller)) return inForce(licence, (await quota.read()).counts);
        }
        throw problem('unavailable', { retryAfterSec: 1 });
      });
    },
    show: async (asIssued) => {
      const { licence, counts } = await quota.read();
      if (!licence) throw notFound();
      return asIssued ? shown(licence, licence) : inForce(licence, counts);
    },
  };
};

/** The journal tells what a licence says, never the document. */
const entryOf = ({ stamp }: LicencesParts, after: Licence, before: Licence | undefined, caller: Caller) => {
  const side = (licence: Licence) => ({ stored: shown(licence, licence), shown: shown(licence, licence) });
  return createEntry(
    {
      objtype: 'license',
      objid: after.number,
      objkey: 'license',
      dtutc: stamp(),
      modifierid: caller.userId,
      modifiername: caller.name,
      addr: caller.address === '' ? null : caller.address,
    },
    before && side(before),
    side(after),
  );
};
