/** `/metrics` for administrative keys. */
import type { Metrics } from '@parley/kit/metrics.ts';
import { problem } from '../core/codes.ts';
import type { SpeechEndpoint } from '../dialects/dialect.ts';

export type MetricsParts = { readonly metrics: Metrics };

/** Answers 404 where the setting leaves it off. */
export const metricsEndpoint = ({ metrics }: MetricsParts): SpeechEndpoint => ({
  method: 'GET',
  path: '/metrics',
  access: 'admin',
  tag: 'server',
  summary: 'Measures for Prometheus',
  description: 'Off unless `metrics.enabled`; `metrics.addr` serves it on a listener of its own that asks for no key.',
  handle: async ({ reply }) => {
    if (!metrics.isOn) throw problem('not_found', 'Measures are off: metrics.enabled.');
    const { contentType, body } = await metrics.render();
    return reply.type(contentType).send(body);
  },
});
