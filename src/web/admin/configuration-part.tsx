import { useSignal } from "@preact/signals";
import { useGraphql } from "../api/use-graphql.js";
import { Editor } from "../editor/editor.js";
import { jsonLanguage } from "../editor/json-language.js";
import { Failure, Notice, Waiting } from "../ui/states.js";
import { ConfigurationCheck } from "./configuration-check.js";
import { listOptions } from "./configuration-schema.js";

const configurationQuery =
  "query SiteConfiguration { site { configuration { effectiveContents validationMessages } } }";

const extensions = [jsonLanguage];
const options = listOptions();

/** The configuration that is in force, and what each option means. */
export function ConfigurationPart() {
  const { answer, retry } = useGraphql("SiteConfiguration", configurationQuery, {});
  const wanted = useSignal("");
  if (answer.kind === "waiting") return <Waiting what="the configuration" />;
  if (answer.kind === "failed")
    return <Failure what="The configuration could not be read" error={answer.error} retry={retry} />;
  const { effectiveContents = "", validationMessages = [] } = answer.value.site.configuration ?? {};
  const text = wanted.value.trim().toLowerCase();
  const found = options.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text));
  return (
    <>
      <p class="soft">
        The configuration is a file on the server, which operators edit; this is what is in force, without secrets.
        Repositories and contexts are read again by <code>trawl reload</code>, everything else at the next start.
      </p>
      {validationMessages.length === 0 && <Notice kind="info">The server has checked it: it is valid.</Notice>}
      {validationMessages.map((message) => (
        <Notice key={message} kind="bad">
          {message}
        </Notice>
      ))}
      <div class="configuration-text panel">
        <Editor label="Configuration" text={effectiveContents} extensions={extensions} isReadOnly={true} />
      </div>
      <ConfigurationCheck />
      <h2 id="options">Options</h2>
      <div class="admin-bar">
        <input
          class="field"
          type="search"
          aria-label="Find an option"
          placeholder="Find an option"
          onInput={({ currentTarget }) => {
            wanted.value = currentTarget.value;
          }}
        />
        <span class="soft small" role="status">
          {found.length} of {options.length} options
        </span>
      </div>
      <dl class="options" aria-labelledby="options">
        {found.map(({ name, description, defaultText }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
              {defaultText !== "" && <span class="soft small"> default {defaultText}</span>}
            </dt>
            <dd class="soft small">{description}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
