/** The page's routes. */
import { PageTitle, Shell } from '../shared/layout.tsx';

export const App = () => (
  <Shell service="platform" nav={[{ items: [{ href: '/', label: 'Home' }] }]}>
    <PageTitle>Parley</PageTitle>
  </Shell>
);
