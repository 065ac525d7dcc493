import "./ui/tokens.css";
import "./ui/base.css";
import { options, render } from "preact";
import { withoutReordering } from "../base/text.js";
import { Layout, type PageLoaders } from "./shell/layout.js";
import { followLinks } from "./route/router.js";
import { viewer } from "./route/viewer.js";
import { keepListsFor } from "./ui/kept-list.js";
import { addKeys, keyListOpen, listenForKeys } from "./ui/keys.js";

/** Each page is a file of its own, loaded when it is first shown. `src/model/web-page.ts` has their addresses. */
const pages: PageLoaders = {
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

// No text of a component reorders what is shown around it, whatever it is from; values of fields stay as they are.
const { vnode: previous } = options;
options.vnode = (made) => {
  const content: unknown = made.props;
  if (typeof content === "string") Object.assign(made, { props: withoutReordering(content) });
  previous?.(made);
};

const root = document.getElementById("page");
if (root !== null) {
  keepListsFor(viewer.name);
  followLinks();
  listenForKeys();
  addKeys([
    {
      key: "?",
      what: "This list of keys",
      act: () => {
        keyListOpen.value = true;
      },
    },
  ]);
  render(<Layout pages={pages} />, root);
}
