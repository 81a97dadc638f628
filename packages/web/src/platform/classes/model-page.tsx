/** The rows of a class: table, filters, forms, and the files attached to a row. */
import { Blocks } from 'lucide-react';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Empty, Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { CollectionPage } from '../data/collection-page.tsx';
import type { Attached } from '../data/item-dialog.tsx';
import { FaultText } from '../faults.tsx';
import { Attachments } from './attachments.tsx';
import { byIdOf, CLASS_LIST, type ClassEntity, classAt, collectionOf, effectiveOf } from './class-model.ts';

const useTexts = createTexts({
  en: { lost: 'There is no such class.', abstract: 'This class is abstract: it holds no rows.', edit: 'Class' },
  ru: { lost: 'Такого класса нет.', abstract: 'Этот класс абстрактный: строк в нём нет.', edit: 'Класс' },
});

/** `rest`: what follows `/model/` in the address: a class, perhaps a row of it. */
export const ModelPage = ({ rest }: { rest: string }) => {
  const t = useTexts();
  const { api } = useConsole();
  const classes = useLoaded((signal) => api.json<ClassEntity[]>(CLASS_LIST, { signal }), [api]);
  if (classes.error) return <FaultText error={classes.error} />;
  if (!classes.data) return <Loading />;
  const place = classAt(rest, classes.data);
  if (!place) {
    return (
      <>
        <PageTitle>{rest}</PageTitle>
        <Empty title={t.lost} />
      </>
    );
  }
  return <Rows key={place.found.id} of={place.found} classes={classes.data} openId={place.rest} />;
};

type RowsProps = { readonly of: ClassEntity; readonly classes: readonly ClassEntity[]; readonly openId: string };

const Rows = ({ of, classes, openId }: RowsProps) => {
  const t = useTexts();
  const collection = useMemo(() => collectionOf(of, byIdOf(classes)), [of, classes]);
  const attached = useMemo((): Attached | undefined => {
    const files = effectiveOf(of, byIdOf(classes)).filter(({ data_type: type }) => type === 'attachment');
    if (files.length === 0) return undefined;
    return (shown) => <Attachments {...shown} path={collection.path} properties={files} />;
  }, [of, classes, collection]);
  const aside = (
    <Link href={`/design/classes/${of.id}`} className="button quiet small">
      <Blocks aria-hidden /> {t.edit}
    </Link>
  );
  if (of.storage_mode === 'abstract') {
    return (
      <>
        <PageTitle aside={aside}>{collection.name}</PageTitle>
        <Empty title={t.abstract} />
      </>
    );
  }
  return (
    <CollectionPage
      collection={collection}
      openId={openId === '' ? undefined : decodeURIComponent(openId)}
      aside={aside}
      {...(attached ? { attached } : {})}
    />
  );
};
