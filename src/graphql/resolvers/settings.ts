import { editedSettings, type JsonPath, type SettingsEdit } from "../../account/settings/settings-text.js";
import { TrawlError } from "../../base/errors.js";
import { actingForOrganization, actingForUser, userSource } from "./account-access.js";
import { OrganizationSource, UserSource } from "../sources/account-sources.js";
import { nothing } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { parseGlobalId } from "../../browse/ids.js";
import type { ResolversOf } from "./resolver-types.js";
import type {
  ConfigurationEdit,
  SettingsEdit as SettingsEditInput,
  SettingsMutationGroupInput,
} from "./schema-types.js";
import {
  subjectKey,
  viewerCascade,
  type CascadeSource,
  type SettingsChangeSource,
  type SettingsSource,
  type SubjectSource,
} from "../sources/settings-sources.js";
import { DefaultSettingsSource, siteKey, SiteSource } from "../sources/site-source.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

export const settingsQueries: Pick<
  Query,
  "settingsSubject" | "viewerSettings" | "viewerConfiguration" | "temporarySettings"
> = {
  settingsSubject: (_, { id }, context) => findSubject(id, context),
  viewerSettings: (_, __, context) => viewerCascade(context),
  viewerConfiguration: (_, __, context) => viewerCascade(context),
  temporarySettings: (_, __, context) => {
    context.requireUser();
    return { contents: context.services.accounts.temporarySettings.contents(context.viewer.userId ?? 0) };
  },
};

export const settingsMutations: Pick<
  Mutation,
  "settingsMutation" | "configurationMutation" | "overwriteTemporarySettings" | "editTemporarySettings"
> = {
  settingsMutation: (_, { input }, context) => beginChange(input, context),
  configurationMutation: (_, { input }, context) => beginChange(input, context),
  overwriteTemporarySettings: async (_, { contents }, context) => {
    await context.services.accounts.temporarySettings.overwrite(context.author.id, contents);
    return nothing;
  },
  editTemporarySettings: async (_, { settingsToEdit }, context) => {
    await context.services.accounts.temporarySettings.edit(context.author.id, settingsToEdit);
    return nothing;
  },
};

export const settingsMutation: ResolversOf<"SettingsMutation"> = {
  editSettings: (source, { edit }, context) => edited(source, edit, context),
  editConfiguration: (source, { edit }, context) => edited(source, edit, context),
  overwriteSettings: (source, { contents }, context) => changed(source, () => contents, context),
};

export const settingsCascade: ResolversOf<"SettingsCascade"> = {
  final: (source, _, context) => finalText(source, context),
  merged: async (source, _, context) => ({ contents: await finalText(source, context), messages: [] }),
};

export const configurationCascade: ResolversOf<"ConfigurationCascade"> = {
  merged: async (source, _, context) => ({ contents: await finalText(source, context), messages: [] }),
};

export const settings: ResolversOf<"Settings"> = {
  id: ({ written }) => written.version,
  author: ({ written }, _, context) => userSource(written.authorId, context),
  createdAt: ({ written }) => written.createdAt,
  contents: ({ written }) => written.contents,
};

/** The settings of a subject as written; null if there are none. */
export function latestSettings(subject: SubjectSource, _: unknown, context: RequestContext): SettingsSource | null {
  const key = subjectKey(subject);
  const written = key === undefined ? undefined : context.services.accounts.settings.latest(key);
  return written === undefined ? null : { written, subject };
}

/** Parsing and merging texts of 64 KiB takes milliseconds, so fields with the same subjects share the result. */
function finalText({ subjects }: CascadeSource, { work, services: { accounts } }: RequestContext): Promise<string> {
  const keys = subjects.flatMap((subject) => subjectKey(subject) ?? []);
  return work.once(`settings ${keys.join(" ")}`, keys.length, function* () {
    // What is read is cached.
    for (const key of keys) yield void accounts.settings.merged([key]);
    return JSON.stringify(accounts.settings.merged(keys));
  });
}

/** Null for an id of another kind; throws `forbidden` if the viewer may not read the settings. */
function findSubject(id: string, context: RequestContext): SubjectSource | null {
  const { kind, key } = parseGlobalId(id);
  switch (kind) {
    case "Site":
      return key === siteKey ? new SiteSource() : null;
    case "DefaultSettings":
      return new DefaultSettingsSource();
    case "Org":
      return new OrganizationSource(actingForOrganization(id, context).of);
    case "User":
      return new UserSource(actingForUser(id, context).of);
    default:
      return null;
  }
}

/** Everyone may read the site's settings, and site admins may change them. */
function beginChange(
  { subject: id, lastID }: SettingsMutationGroupInput,
  context: RequestContext,
): SettingsChangeSource {
  const { author } = context;
  if (parseGlobalId(id).kind === "Site") context.requireSiteAdmin();
  const subject = findSubject(id, context);
  const key = subject === null ? undefined : subjectKey(subject);
  if (key === undefined)
    throw new TrawlError(
      "bad-request",
      `${JSON.stringify(id.slice(0, 200))} does not have settings: give the id of the site, an organization or a user`,
    );
  return { subject: key, lastVersion: lastID ?? undefined, author };
}

function edited(source: SettingsChangeSource, input: SettingsEditInput | ConfigurationEdit, context: RequestContext) {
  const path = parseKeyPath(input);
  const edit = parseEdit(input);
  return changed(source, (contents) => editedSettings(contents, path, edit), context);
}

async function changed(
  { subject, lastVersion, author }: SettingsChangeSource,
  edit: (contents: string) => string,
  context: RequestContext,
) {
  await context.services.accounts.settings.change(subject, lastVersion, edit, author);
  return { empty: nothing };
}

function parseKeyPath({ keyPath }: SettingsEditInput): JsonPath {
  return keyPath.map(({ property, index }) => {
    if (typeof property === "string" && typeof index !== "number") return property;
    if (typeof index === "number" && typeof property !== "string" && index >= 0) return index;
    throw new TrawlError("bad-request", "each step of keyPath must be either a property or a non-negative index");
  });
}

function parseEdit({ value, valueIsJSONCEncodedString }: SettingsEditInput): SettingsEdit {
  if (value === undefined) return { kind: "remove" };
  if (valueIsJSONCEncodedString !== true) return { kind: "value", value };
  if (typeof value !== "string")
    throw new TrawlError("bad-request", "with valueIsJSONCEncodedString the value must be a string that contains JSON");
  return { kind: "text", text: value };
}
