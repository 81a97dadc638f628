/** The part of s3rver that tests use; the package brings no types. */
declare module '@20minutes/s3rver' {
  import type { AddressInfo } from 'node:net';

  type Context = { readonly path: string };
  type Middleware = (context: Context, next: () => Promise<void>) => Promise<void>;

  // biome-ignore lint/style/noDefaultExport: so the package has it
  export default class S3rver {
    constructor(options: {
      readonly directory: string;
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    allowMismatchedSignatures: boolean;
    readonly middleware: Middleware[];
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
}
