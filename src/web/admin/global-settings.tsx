import { useGraphql } from "../api/use-graphql.js";
import { SettingsEditor } from "../editor/settings-editor.js";
import { Failure, Waiting } from "../ui/states.js";

/** The settings of the site, which apply to everyone who has set nothing else. */
export function GlobalSettings() {
  const { answer, retry } = useGraphql("SiteId", "query SiteId { site { id } }", {});
  if (answer.kind === "waiting") return <Waiting what="the settings" />;
  if (answer.kind === "failed")
    return <Failure what="The settings could not be read" error={answer.error} retry={retry} />;
  return (
    <>
      <p class="soft">They apply to everyone; organizations and users can set the same values for themselves.</p>
      <SettingsEditor subject={answer.value.site.id} />
    </>
  );
}
