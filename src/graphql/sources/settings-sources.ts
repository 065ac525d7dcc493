import type { Author } from "../../account/records/audit-log.js";
import { siteSubject, type WrittenSettings } from "../../account/settings/settings-table.js";
import { mapInSteps } from "../../base/yielding.js";
import { OrganisationSource, UserSource } from "./account-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { DefaultSettingsSource, SiteSource } from "./site-source.js";

/** What has settings. */
export type SubjectSource = DefaultSettingsSource | SiteSource | OrganisationSource | UserSource;

/** Those whose settings hold together, the least important first. */
export interface CascadeSource {
  readonly subjects: readonly SubjectSource[];
}

/** Settings as they were written, and whose they are. */
export interface SettingsSource {
  readonly written: WrittenSettings;
  readonly subject: SubjectSource;
}

/** Settings that are about to be changed, by somebody who may. */
export interface SettingsChangeSource {
  readonly subject: number;
  readonly lastVersion: number | undefined;
  readonly author: Author;
}

/** Under what the settings of a subject are kept; undefined for what is built in. */
export function subjectKey(subject: SubjectSource): number | undefined {
  switch (subject.__typename) {
    case "DefaultSettings":
      return undefined;
    case "Site":
      return siteSubject;
    case "Org":
      return subject.organisation.id;
    case "User":
      return subject.user.id;
  }
}

/** What holds for a subject; for a user, also the settings of its organisations. */
export async function loadCascade(subject: SubjectSource, context: RequestContext): Promise<CascadeSource> {
  const common = [new DefaultSettingsSource(), new SiteSource()];
  switch (subject.__typename) {
    case "DefaultSettings":
      return { subjects: [subject] };
    case "Site":
      return { subjects: common };
    case "Org":
      return { subjects: [...common, subject] };
    case "User": {
      const {
        work,
        services: { accounts },
      } = context;
      const { id } = subject.user;
      const organisations = await work.once(`subjects of ${id}`, 1, () =>
        mapInSteps(accounts.organisations.ofUser(id), (organisation) => new OrganisationSource(organisation)),
      );
      await context.takeItems(organisations.length, "organisations of users");
      return { subjects: [...common, ...organisations, subject] };
    }
  }
}

/** What holds for who asks. */
export function viewerCascade(context: RequestContext): Promise<CascadeSource> {
  const {
    viewer: { userId },
    services: { accounts },
  } = context;
  const user = userId === undefined ? undefined : accounts.user(userId);
  return loadCascade(user === undefined ? new SiteSource() : new UserSource(user), context);
}
