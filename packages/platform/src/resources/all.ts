/** The list of resources: what is not named here is not served. */

import type { RowsOfClasses } from '../model/class-options.ts';
import type { Resource } from '../rest/resource.ts';
import type { ScriptChecks } from '../scripts/validate.ts';
import { createClasses } from './classes.ts';
import { type ConfigurationsParts, createConfigurations } from './configurations.ts';
import { contactGroups } from './contact-groups.ts';
import { contacts } from './contacts.ts';
import { createDomainsResource, type DomainsResourceParts } from './domains.ts';
import { groups } from './groups.ts';
import { integrationPoints } from './integration-points.ts';
import { projects } from './projects.ts';
import { roles } from './roles.ts';
import { settings } from './settings.ts';
import { storageRules } from './storage-rules.ts';
import { createStorages, type StoragesParts } from './storages.ts';
import { subordinations } from './subordinations.ts';
import { createSvcscripts } from './svcscripts.ts';
import { createUsers, type UsersParts } from './users.ts';

export type ResourcesParts = {
  readonly storages: StoragesParts;
  readonly users: UsersParts;
  readonly classes: RowsOfClasses;
  readonly domains: DomainsResourceParts;
  readonly scripts: ScriptChecks;
  readonly configurations: ConfigurationsParts;
};

export type Resources = Readonly<
  Record<'users' | 'roles' | 'classes' | 'svcscripts' | 'settings' | 'domains' | 'configurations', Resource>
> & {
  readonly all: readonly Resource[];
};

export const createResources = (parts: ResourcesParts): Resources => {
  const users = createUsers(parts.users);
  const classes = createClasses(parts.classes);
  const domains = createDomainsResource(parts.domains);
  const configurations = createConfigurations(parts.configurations);
  const svcscripts = createSvcscripts(parts.scripts);
  const all = [
    createStorages(parts.storages),
    users,
    classes,
    svcscripts,
    integrationPoints,
    roles,
    contacts,
    subordinations,
    configurations,
    storageRules,
    projects,
    groups,
    contactGroups,
    settings,
    domains,
  ];
  return { users, roles, classes, svcscripts, settings, domains, configurations, all };
};
