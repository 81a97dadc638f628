/** The policy for passwords that people choose for themselves, and the codes by which it refuses one. */
import type { Domain } from '../domains/types.ts';
import type { Passwords } from './password.ts';

/** Why a password is refused: `errorCode` of the answer, `msgCode` of its details. */
type PolicyFault = { readonly errorCode: number; readonly msgCode: number; readonly message: string };

export type PolicyLimits = { readonly minLength: number; readonly maxLength: number; readonly alphabet: RegExp };

/** A pattern of passwords made of these signs alone. Throws a SyntaxError when they are not understood. */
export const alphabetOf = (signs: string): RegExp => new RegExp(`^[${signs}]*$`);

/** Whose password it would be. */
type Holder = {
  readonly login: string;
  readonly name: string;
  readonly domain: string;
  /** Hash of the present password, which the new one must not repeat. */
  readonly presentHash?: string;
};

/** The alphabet is the specification's rule for invitations. */
const DEFAULT_POLICY: PolicyLimits = { minLength: 8, maxLength: 128, alphabet: /^[A-Za-z0-9_.~!-]*$/ };

const COMMONEST = 10_000;

const FAULTS = {
  symbols: { errorCode: 1501, msgCode: 15101, message: 'Only letters, digits and _-.~! are allowed' },
  short: { errorCode: 1502, msgCode: 15102, message: 'The password is too short' },
  long: { errorCode: 1503, msgCode: 15103, message: 'The password is too long' },
  common: { errorCode: 1504, msgCode: 15104, message: 'The password is too easy to guess' },
  repeated: { errorCode: 1505, msgCode: 15105, message: 'The password is the present one' },
} as const satisfies Record<string, PolicyFault>;

export type PasswordPolicy = {
  /** The first rule that the password breaks, in the order of their codes; undefined when it is good. */
  check(password: string, holder: Holder, limits?: PolicyLimits): Promise<PolicyFault | undefined>;
};

/** The list of common passwords is loaded with the first password that needs it. */
export const createPasswordPolicy = (passwords: Passwords): PasswordPolicy => {
  let commonest: Promise<ReadonlySet<string>> | undefined;

  const isGuessable = async (password: string, { login, name, domain }: Holder): Promise<boolean> => {
    const folded = password.toLowerCase();
    if ([login, name, domain].some((word) => word.toLowerCase() === folded)) return true;
    commonest ??= loadCommonest();
    return (await commonest).has(folded);
  };

  return {
    check: async (password, holder, limits = DEFAULT_POLICY) => {
      if (!limits.alphabet.test(password)) return FAULTS.symbols;
      if (password.length < limits.minLength) return FAULTS.short;
      if (password.length > limits.maxLength) return FAULTS.long;
      if (await isGuessable(password, holder)) return FAULTS.common;
      const repeats = holder.presentHash !== undefined && (await passwords.verify(holder.presentHash, password)).ok;
      return repeats ? FAULTS.repeated : undefined;
    },
  };
};

/** The setting `iam_password_policy` of a domain over the defaults. */
export const policyLimitsIn = (domain: Domain, alphabet: RegExp): PolicyLimits => {
  const { min_length, max_length } = domain.setting('iam_password_policy') ?? {};
  return {
    minLength: typeof min_length === 'number' ? min_length : DEFAULT_POLICY.minLength,
    maxLength: typeof max_length === 'number' ? max_length : DEFAULT_POLICY.maxLength,
    alphabet,
  };
};

/** The list stands in order of frequency; short entries fail by length already. */
const loadCommonest = async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const words: readonly string[] = dictionary['passwords-common'];
  return new Set(words.slice(0, COMMONEST).map((word) => word.toLowerCase()));
};
