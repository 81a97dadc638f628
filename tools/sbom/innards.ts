/** What is compiled into packages and can be asked for its version: Node's own libraries, and ONNX Runtime beside sherpa-onnx. */
import { existsSync, readFileSync } from 'node:fs';
import type { Component } from './shape.ts';

const NODE_PACKAGE = /^node(?:-bin)?-(?:linux|darwin)-(?:x64|arm64)$/;
/** That of this system: only here the library lies to be asked. */
const ENGINE_PACKAGE = `sherpa-onnx-${process.platform}-${process.arch}`;
const INSTALLED_ENGINE = new URL(`../../node_modules/${ENGINE_PACKAGE}/libonnxruntime.so`, import.meta.url);
/** Entries of `process.versions` that are programs of others; the rest are numbers of interfaces and tables. */
const NODE_LIBRARIES = ['ada', 'ares', 'brotli', 'icu', 'llhttp', 'nghttp2', 'openssl', 'simdjson', 'sqlite', 'undici', 'uv', 'v8', 'zlib', 'zstd']; // biome-ignore format: names

const inner = (outer: Component, name: string, version: string): Component => ({
  'bom-ref': `${outer['bom-ref']}/${name}`,
  type: 'library',
  name,
  version,
});

const onnxVersion = (): string | undefined => {
  if (!existsSync(INSTALLED_ENGINE)) return undefined;
  return /VERS_(\d+\.\d+\.\d+)/.exec(readFileSync(INSTALLED_ENGINE, 'latin1'))?.[1];
};

/** The component with what is known to be in it; versions of another Node than the running one are not known. */
export const withInnards = (component: Component): Component => {
  if (NODE_PACKAGE.test(component.name) && component.version === process.versions.node) {
    const components = NODE_LIBRARIES.map((name) => inner(component, name, process.versions[name] ?? ''));
    return { ...component, components: components.filter(({ version }) => version !== '') };
  }
  if (component.name !== ENGINE_PACKAGE) return component;
  const version = onnxVersion();
  return version === undefined ? component : { ...component, components: [inner(component, 'onnxruntime', version)] };
};
