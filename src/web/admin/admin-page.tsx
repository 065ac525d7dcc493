import "./admin.css";
import type { ComponentType } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { type AdminPart, adminParts, adminPath } from "../../model/web-page.js";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import { Found, State } from "../ui/states.js";
import { ConfigurationPart } from "./configuration-part.js";
import { HealthPart } from "./health-part.js";
import { OrganizationsPart } from "./organizations-part.js";
import { RepositoriesPart } from "./repositories-part.js";
import { UsersPart } from "./users-part.js";
import { useGraphql } from "../api/use-graphql.js";
import { SettingsEditor } from "../editor/settings-editor.js";

const parts: Readonly<Record<AdminPart, readonly [title: string, view: ComponentType]>> = {
  "": ["Health", HealthPart],
  repositories: ["Repositories", RepositoriesPart],
  users: ["Users", UsersPart],
  organizations: ["Organizations", OrganizationsPart],
  configuration: ["Configuration", ConfigurationPart],
  "global-settings": ["Settings", GlobalSettings],
};

const missingPart = ["There is no such page", MissingPart] as const;

function MissingPart() {
  return (
    <p>
      Nothing is at <code>{address.value.pathname}</code>. The parts of the administration are in the list.
    </p>
  );
}

/** `/site-admin` and what is below it, for site admins. */
export function AdminPage() {
  const { pathname } = address.value;
  const name = adminParts.find((part) => adminPath(part) === pathname);
  const [title, Part] = name === undefined ? missingPart : parts[name];
  useLayoutEffect(() => {
    document.title = `${title} · Administration · Trawl`;
  }, [title]);
  if (!viewer.isSiteAdmin)
    return (
      <State title="This page is for site admins">
        <p>{viewer.name === "" ? "You are not signed in." : `${viewer.name} is not a site admin.`}</p>
        <a class="button main" href={`/sign-in?returnTo=${encodeURIComponent(address.value.pathname)}`}>
          Sign in
        </a>
      </State>
    );
  return (
    <div class="admin">
      <nav aria-label="Administration">
        <ul>
          {adminParts.map((part) => (
            <li key={part}>
              <a href={adminPath(part)} aria-current={part === name ? "page" : undefined}>
                {parts[part][0]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="admin-part" key={name}>
        <h1>{title}</h1>
        <Part />
      </div>
    </div>
  );
}

/** The settings of the site, which apply to everyone who has set nothing else. */
function GlobalSettings() {
  const used = useGraphql("SiteId", "query SiteId { site { id } }", {});
  return (
    <Found used={used} what="the settings">
      {(value) => {
        return (
          <>
            <p class="soft">They apply to everyone; organizations and users can set the same values for themselves.</p>
            <SettingsEditor subject={value.site.id} />
          </>
        );
      }}
    </Found>
  );
}
