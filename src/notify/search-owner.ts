import type { SavedSearch } from "../account/settings/saved-searches.js";
import { anonymous, type Viewer } from "../model/viewer.js";
import type { NotifyEnvironment } from "./notify-environment.js";

/**
 * As whom a saved search is evaluated: its owner, with the permissions of this moment. An organization sees what all of
 * its members see. Undefined if whoever turned notifications on may not act for the owner any more, or is gone.
 */
export function ownerViewer(
  { ownerId, notification }: SavedSearch,
  accounts: NotifyEnvironment["accounts"],
): Viewer | undefined {
  const enabler = notification === undefined ? undefined : accounts.user(notification.enabledBy);
  if (enabler === undefined) return undefined;
  const user = accounts.user(ownerId);
  if (user !== undefined) return enabler.id === user.id || enabler.isSiteAdmin ? accounts.toViewer(user) : undefined;
  const organization = accounts.organizations.get(ownerId);
  if (organization === undefined) return undefined;
  if (!enabler.isSiteAdmin && !organization.memberIds.includes(enabler.id)) return undefined;
  return { ...anonymous, name: organization.name, readerNames: [organization.name.toLowerCase()] };
}
