/** Scripts that work as they are, to be put in with one command. */
import { oauthAccounts } from './oauth-accounts.ts';
import type { Sample } from './sample.ts';
import { signInWithCode } from './sign-in-with-code.ts';

export const SAMPLES: readonly Sample[] = [signInWithCode, oauthAccounts];
