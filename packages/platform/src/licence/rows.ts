/** The rows of the licence, both in the master domain. */

/** Setting that counts licensed items. */
export const OWNERSHIP = 'license_ownership';

export const LICENCE_KIND = 'licence';
export const LICENCE_ID = 'current';

/** The document as it came, so that nothing in the Store can pass for one. */
export type LicenceRow = { readonly token: string };
