import type { PageLoaders } from "./shell/layout.js";

/** Each page is a file of its own, loaded when it is first shown. `src/model/web-page.ts` has their addresses. */
export const pages: PageLoaders = {
  search: async () => (await import("./search/search-page.js")).SearchPage,
  "sign-in": async () => (await import("./sign-in/sign-in-page.js")).SignInPage,
  account: async () => (await import("./account/account-page.js")).AccountPage,
  admin: async () => (await import("./admin/admin-page.js")).AdminPage,
  organizations: async () => (await import("./organizations/organizations-page.js")).OrganizationsPage,
  jobs: async () => (await import("./jobs/jobs-page.js")).JobsPage,
  contexts: async () => (await import("./contexts/contexts-page.js")).ContextsPage,
  console: async () => (await import("./console/console-page.js")).ConsolePage,
  schema: async () => (await import("./console/schema-page.js")).SchemaPage,
  code: async () => (await import("./code/code-page.js")).CodePage,
};
