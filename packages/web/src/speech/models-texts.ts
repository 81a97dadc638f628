/** Texts of models and the catalog. */
import type { ModelInfo, ModelKind, ModelState } from '@parley/speech/core/types.ts';
import { createTexts } from '../shared/i18n.tsx';

type Texts = {
  title: string;
  installed: string;
  catalog: string;
  model: string;
  kind: string;
  kinds: Record<ModelKind, string>;
  state: string;
  states: Record<ModelState, string>;
  languages: string;
  licence: string;
  commercial: Record<ModelInfo['commercial_use'], string>;
  size: string;
  memory: string;
  actions: string;
  standard: string;
  live: string;
  inUse: (count: number) => string;
  load: string;
  unload: string;
  pin: string;
  unpin: string;
  swap: string;
  swapTitle: string;
  swapText: string;
  revision: string;
  download: string;
  downloads: Record<string, string>;
  again: string;
  search: string;
  language: string;
  any: string;
  noneInstalled: string;
  noneFound: string;
  untested: string;
  pinnedTitle: string;
  pinnedText: string;
  done: (name: string) => string;
};

export const useModelsTexts = createTexts<Texts>({
  en: {
    title: 'Models',
    installed: 'Installed',
    catalog: 'Catalog',
    model: 'Model',
    kind: 'Kind',
    kinds: {
      asr: 'Transcription',
      vad: 'Speech detection',
      punctuation: 'Punctuation',
      diarization: 'Speakers',
      segmentation: 'Speaker changes',
      embedding: 'Voices',
      itn: 'Numbers',
      denoise: 'Noise',
    },
    state: 'State',
    states: {
      available: 'Available',
      installed: 'On disk',
      resident: 'In memory',
      pinned: 'Pinned',
      downloading: 'Downloading',
      loading: 'Loading',
      draining: 'Leaving',
    },
    languages: 'Languages',
    licence: 'Licence',
    commercial: { yes: 'commercial use allowed', no: 'no commercial use', unknown: 'commercial use unclear' },
    size: 'Size',
    memory: 'Memory',
    actions: 'Actions',
    standard: 'Default',
    live: 'live',
    inUse: (count) => `${count} in use`,
    load: 'Load',
    unload: 'Unload',
    pin: 'Pin',
    unpin: 'Unpin',
    swap: 'Swap',
    swapTitle: 'Swap in a revision',
    swapText: 'The revision is loaded beside the serving one; no request is dropped.',
    revision: 'Revision',
    download: 'Download',
    downloads: {
      queued: 'Waiting',
      downloading: 'Downloading',
      verifying: 'Checking',
      unpacking: 'Unpacking',
      installing: 'Installing',
    },
    again: 'Try again',
    search: 'Search',
    language: 'Language',
    any: 'All',
    noneInstalled: 'No model is installed.',
    noneFound: 'Nothing in the catalog fits.',
    untested: 'not tried by us',
    pinnedTitle: 'Unload a pinned model?',
    pinnedText: 'It is kept in memory on purpose.',
    done: (name) => `${name} is installed.`,
  },
  ru: {
    title: 'Модели',
    installed: 'Установлены',
    catalog: 'Каталог',
    model: 'Модель',
    kind: 'Вид',
    kinds: {
      asr: 'Распознавание',
      vad: 'Поиск речи',
      punctuation: 'Пунктуация',
      diarization: 'Говорящие',
      segmentation: 'Смена говорящих',
      embedding: 'Голоса',
      itn: 'Числа',
      denoise: 'Шум',
    },
    state: 'Состояние',
    states: {
      available: 'Доступна',
      installed: 'На диске',
      resident: 'В памяти',
      pinned: 'Закреплена',
      downloading: 'Скачивается',
      loading: 'Загружается',
      draining: 'Выгружается',
    },
    languages: 'Языки',
    licence: 'Лицензия',
    commercial: { yes: 'можно в коммерции', no: 'нельзя в коммерции', unknown: 'о коммерции не ясно' },
    size: 'Размер',
    memory: 'Память',
    actions: 'Действия',
    standard: 'По умолчанию',
    live: 'вживую',
    inUse: (count) => `используется: ${count}`,
    load: 'Загрузить',
    unload: 'Выгрузить',
    pin: 'Закрепить',
    unpin: 'Открепить',
    swap: 'Сменить',
    swapTitle: 'Сменить версию',
    swapText: 'Версия загружается рядом с работающей; запросы не теряются.',
    revision: 'Версия',
    download: 'Скачать',
    downloads: {
      queued: 'Ожидание',
      downloading: 'Скачивание',
      verifying: 'Проверка',
      unpacking: 'Распаковка',
      installing: 'Установка',
    },
    again: 'Повторить',
    search: 'Поиск',
    language: 'Язык',
    any: 'Все',
    noneInstalled: 'Моделей нет.',
    noneFound: 'В каталоге ничего подходящего.',
    untested: 'нами не проверена',
    pinnedTitle: 'Выгрузить закреплённую модель?',
    pinnedText: 'Её держат в памяти намеренно.',
    done: (name) => `Модель ${name} установлена.`,
  },
});
