/** Calls of the platform's interface. */
import type { Answer, Client, Question } from './client.ts';
import { PASSWORD, type Stage } from './stage.ts';

type Rest = Omit<Question, 'url' | 'body'> & { readonly path: string; readonly json?: unknown };
/** What a call needs; without a token it is a guest's. */
export type Asking = { readonly client: Client; readonly stage: Pick<Stage, 'platformUrl'>; readonly token?: string };

/** A call below `/rest/v1/`. */
export const askRest = (
  { client, stage, token }: Asking,
  { path, json, headers, ...question }: Rest,
): Promise<Answer | undefined> =>
  client.ask({
    ...question,
    url: `${stage.platformUrl}/rest/v1/${path}`,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });

/** Signs in; undefined when it was not answered with a token. */
export const signIn = async (asking: Asking): Promise<string | undefined> => {
  const json = { domain: 'master', login: 'admin', pwd: PASSWORD, session_type: 'token' };
  const answer = await askRest(asking, { what: 'platform sign-in', method: 'POST', path: 'iam/sessions', json });
  return answer?.status === 200 ? answer.body.session_token : undefined;
};
