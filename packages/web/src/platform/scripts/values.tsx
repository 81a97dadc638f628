/** Variables of a run and what is in them. */
import type { Json } from '../data/schema.ts';

/** Names and values; those in `marked` stand out. */
export const Values = ({ values, marked }: { values: Json; marked?: ReadonlySet<string> }) => (
  <dl className="values small">
    {Object.entries(values).map(([name, value]) => (
      <div key={name} data-marked={marked?.has(name) ?? false}>
        <dt className="mono">{name}</dt>
        <dd className="mono">{JSON.stringify(value)}</dd>
      </div>
    ))}
  </dl>
);
