import { globalId } from "../../browse/ids.js";

/** The id of the site, of which there is only one. */
export const siteKey = "site";

/** The only way to sign in. */
const passwords = {
  serviceType: "builtin",
  serviceID: "",
  clientID: "",
  configID: "",
  displayName: "Username and password",
  isBuiltin: true,
  authenticationURL: null,
};

/** This instance. */
export class SiteSource {
  readonly __typename = "Site";
  readonly id = globalId("Site", siteKey);
  readonly settingsURL = "/site-admin/global-settings";
  readonly canReloadSite = false;
  readonly permissionsUserMappingBindID = "USERNAME" as const;
  readonly authProviders = { nodes: [passwords], totalCount: 1, pageInfo: { endCursor: null, hasNextPage: false } };
  readonly updateCheck = { pending: false, checkedAt: null, errorMessage: null, updateVersionAvailable: null };
  readonly externalServicesFromFile = true;
  readonly allowEditExternalServicesWithFile = false;
  readonly allowSiteSettingsEdits = false;
  readonly freeUsersExceeded = false;
  readonly hasCodeIntelligence = false;
  readonly sendsEmailVerificationEmails = false;
  readonly isCodyEnabled = false;
  readonly requiresVerifiedEmailForCody = false;
  readonly codyLLMConfiguration = null;
}

/** The built-in defaults. */
export class DefaultSettingsSource {
  readonly __typename = "DefaultSettings";
  readonly id = globalId("DefaultSettings", "singleton");
  readonly latestSettings = null;
  readonly settingsURL = null;
  readonly viewerCanAdminister = false;
}
