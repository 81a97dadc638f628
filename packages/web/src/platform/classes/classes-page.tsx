/** Classes as a list. */
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';

/** `rest`: what follows `/design/classes/` in the address. */
export const ClassesPage = ({ rest }: { rest: string }) => {
  const { collections } = useConsole();
  const collection = collections.find(({ name }) => name === 'design/classes');
  return collection ? <CollectionPage collection={collection} openId={rest === '' ? undefined : rest} /> : null;
};
