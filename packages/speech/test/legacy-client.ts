/** Posts recordings to the legacy paths and takes the answers apart. */

export type LegacyAnswer = {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** Codes in `X-Service-Warnings`. */
  readonly warnings: string[];
  /** The body's `detail`. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what the tests look into.
  detail(): any;
};

export type LegacyClient = ReturnType<typeof createLegacyClient>;

type Service = { fetch(path: string, init: RequestInit & { key?: string }): Promise<Response> };

export const createLegacyClient = (service: Service) => {
  const take = async (response: Response): Promise<LegacyAnswer> => {
    const text = await response.text();
    return {
      status: response.status,
      text,
      headers: response.headers,
      warnings: (response.headers.get('x-service-warnings') ?? '').split(',').filter(Boolean),
      detail: () => JSON.parse(text).detail,
    };
  };
  return {
    get: async (path: string, init: RequestInit & { key?: string } = {}) => take(await service.fetch(path, init)),
    /** Posts a form with the recording (or none) and the fields. */
    post: async (
      path: string,
      file: Blob | undefined,
      fields: Readonly<Record<string, string>> = {},
      init: RequestInit & { key?: string } = {},
    ) => {
      const form = new FormData();
      if (file) form.append('audio_file', file);
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      return take(await service.fetch(path, { method: 'POST', body: form, ...init }));
    },
  };
};
