import "./admin.css";
import { useEffect } from "preact/hooks";
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

const parts = [
  ["", "Health", HealthPart],
  ["repositories", "Repositories", RepositoriesPart],
  ["users", "Users", UsersPart],
  ["organizations", "Organizations", OrganizationsPart],
  ["configuration", "Configuration", ConfigurationPart],
  ["global-settings", "Settings", GlobalSettings],
] as const;

const missingPart = ["", "There is no such page", MissingPart] as const;

function MissingPart() {
  return (
    <p>
      Nothing is at <code>{address.value.pathname}</code>. The parts of the administration are in the list.
    </p>
  );
}

/** `/site-admin` and what is below it, for site admins. */
export function AdminPage() {
  const name = address.value.pathname.split("/")[2] ?? "";
  const isWhole = address.value.pathname.split("/").length <= 3;
  const [, title, Part] = (isWhole ? parts.find(([part]) => part === name) : undefined) ?? missingPart;
  useEffect(() => {
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
          {parts.map(([part, label]) => (
            <li key={part}>
              <a
                href={part === "" ? "/site-admin" : `/site-admin/${part}`}
                aria-current={part === name ? "page" : undefined}
              >
                {label}
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
