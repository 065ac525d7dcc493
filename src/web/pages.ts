import type { PageLoaders } from "./shell/layout.js";

/** Each page is a file of its own, loaded when it is first shown. `src/model/web-page.ts` has their addresses. */
export const pages: PageLoaders = {
  search: async () => (await import("./search/search-page.js")).SearchPage,
  "sign-in": async () => (await import("./sign-in/sign-in-page.js")).SignInPage,
  account: async () => (await import("./account/account-page.js")).AccountPage,
  code: async () => (await import("./code/code-page.js")).CodePage,
};
