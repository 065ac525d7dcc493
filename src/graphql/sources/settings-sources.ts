import type { Author } from "../../account/records/audit-log.js";
import { siteSubject, type WrittenSettings } from "../../account/settings/settings-table.js";
import { mapInSteps } from "../../base/yielding.js";
import { OrganizationSource, UserSource } from "./account-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { DefaultSettingsSource, SiteSource } from "./site-source.js";

/** Objects that have settings. */
export type SubjectSource = DefaultSettingsSource | SiteSource | OrganizationSource | UserSource;

/** The subjects whose settings apply together, in increasing precedence. */
export interface CascadeSource {
  readonly subjects: readonly SubjectSource[];
}

/** Settings as written, and their subject. */
export interface SettingsSource {
  readonly written: WrittenSettings;
  readonly subject: SubjectSource;
}

/** Settings that a viewer with permission is about to change. */
export interface SettingsChangeSource {
  readonly subject: number;
  readonly lastVersion: number | undefined;
  readonly author: Author;
}

/** The key under which the settings of a subject are stored; undefined for built-in settings. */
export function subjectKey(subject: SubjectSource): number | undefined {
  switch (subject.__typename) {
    case "DefaultSettings":
      return undefined;
    case "Site":
      return siteSubject;
    case "Org":
      return subject.organization.id;
    case "User":
      return subject.user.id;
  }
}

/** The settings that apply to a subject; for a user, including those of its organizations. */
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
      const organizations = await work.once(`subjects of ${id}`, 1, () =>
        mapInSteps(accounts.organizations.ofUser(id), (organization) => new OrganizationSource(organization)),
      );
      await context.takeItems(organizations.length, "organizations of users");
      return { subjects: [...common, ...organizations, subject] };
    }
  }
}

/** The settings that apply to the viewer. */
export function viewerCascade(context: RequestContext): Promise<CascadeSource> {
  const {
    viewer: { userId },
    services: { accounts },
  } = context;
  const user = userId === undefined ? undefined : accounts.user(userId);
  return loadCascade(user === undefined ? new SiteSource() : new UserSource(user), context);
}
