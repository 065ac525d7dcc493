import type { PageLoaders } from "./shell/layout.js";

/** Each page is a file of its own, loaded when it is first shown. `src/model/web-page.ts` has their addresses. */
export const pages: PageLoaders = {
  search: async () => (await import("./search/search-page.js")).SearchPage,
  code: async () => (await import("./code/code-page.js")).CodePage,
};
