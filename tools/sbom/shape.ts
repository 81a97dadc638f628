/** The parts of a CycloneDX 1.5 bill, and of a lock file of npm, that are read or written here. */

type Licence = { readonly license?: { readonly id?: string; readonly name?: string }; readonly expression?: string };

export type Component = {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: string;
  readonly description?: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly Licence[];
  readonly components?: readonly Component[];
};

export type Bill = {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: string;
  readonly version: number;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies?: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
};

export type LockEntry = {
  readonly name?: string;
  readonly version?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
};
export type Lock = { readonly packages: Readonly<Record<string, LockEntry>> };
