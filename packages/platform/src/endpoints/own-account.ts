/** The account behind a caller, as it is now. */
import { problem } from '../codes.ts';
import type { Caller, User } from '../domains/types.ts';

/** 401 when it was removed since the caller was proven. */
export const readOwnAccount = async ({ home, userId }: Pick<Caller, 'home' | 'userId'>): Promise<User> => {
  const user = await home.read((rows) => rows.user(userId));
  if (!user) throw problem('unauthorized');
  return user;
};
