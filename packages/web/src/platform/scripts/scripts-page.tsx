/** Service scripts as a list. */
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';

/** `rest`: what follows `/service/svcscripts/` in the address. */
export const ScriptsPage = ({ rest }: { rest: string }) => {
  const { collections } = useConsole();
  const collection = collections.find(({ name }) => name === 'service/svcscripts');
  return collection ? <CollectionPage collection={collection} openId={rest === '' ? undefined : rest} /> : null;
};
