/** What collections and pages of their own are called, in both languages, and how they stand in the menu. A collection without a name shows its path. */
import type { Language } from '../shared/i18n.tsx';

type Name = Readonly<Record<Language, string>>;
export type Group = { readonly label: Name; readonly collections: Readonly<Record<string, Name>> };

export const GROUPS: readonly Group[] = [
  {
    label: { en: 'People', ru: 'Люди' },
    collections: {
      'iam/users': { en: 'Users', ru: 'Пользователи' },
      'iam/groups': { en: 'Groups', ru: 'Группы' },
      'domain/roles': { en: 'Roles', ru: 'Роли' },
      'domain/subordinations': { en: 'Subordinations', ru: 'Подчинения' },
    },
  },
  {
    label: { en: 'Address book', ru: 'Адресная книга' },
    collections: {
      'addressbook/contacts': { en: 'Contacts', ru: 'Контакты' },
      'addressbook/contactgroups': { en: 'Contact groups', ru: 'Группы контактов' },
      'addressbook/combined_contacts': { en: 'All contacts', ru: 'Все контакты' },
    },
  },
  {
    label: { en: 'Service', ru: 'Сервис' },
    collections: {
      'service/svcscripts': { en: 'Service scripts', ru: 'Сценарии' },
      'service/integration_points': { en: 'Integration points', ru: 'Точки интеграции' },
      'domain/projects': { en: 'Projects', ru: 'Проекты' },
    },
  },
  {
    label: { en: 'Data', ru: 'Данные' },
    collections: {
      'design/classes': { en: 'Classes', ru: 'Классы' },
      'domain/storages': { en: 'Storages', ru: 'Хранилища' },
      'domain/storagerules': { en: 'Storage rules', ru: 'Правила хранения' },
      'domain/settings': { en: 'Settings', ru: 'Настройки' },
      'iam/dbusers': { en: 'Database accounts', ru: 'Учётные записи БД' },
    },
  },
  {
    label: { en: 'Installation', ru: 'Установка' },
    collections: {
      'master/domains': { en: 'Domains', ru: 'Домены' },
      'master/configurations': { en: 'Configurations', ru: 'Конфигурации' },
      'domain/product_layer': { en: 'Product layers', ru: 'Слои продукта' },
      'master/license': { en: 'Licence', ru: 'Лицензия' },
    },
  },
  {
    label: { en: 'Worked out', ru: 'Вычисляемое' },
    collections: {
      'domain/users_caches': { en: 'Roles of users', ru: 'Роли пользователей' },
      'domain/subordinations_caches': { en: 'Who is under whom', ru: 'Кто под кем' },
    },
  },
];

const NAMES: ReadonlyMap<string, Name> = new Map(GROUPS.flatMap(({ collections }) => Object.entries(collections)));

export const nameOf = (collection: string, language: Language): string =>
  NAMES.get(collection)?.[language] ?? collection;
