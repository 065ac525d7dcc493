import { useSignal } from "@preact/signals";
import { useGraphql } from "../api/use-graphql.js";
import { Editor } from "../editor/editor.js";
import { jsonLanguage } from "../editor/json-language.js";
import { Found, Notice } from "../ui/states.js";
import { setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { useRef } from "preact/hooks";
import type { ConfigurationProblem } from "../../model/configuration-problem.js";
import { graphql } from "../api/graphql.js";
import { ActionError, useAction } from "../ui/action.js";
import { configurationSchema } from "virtual:configuration-schema";

const configurationQuery =
  "query SiteConfiguration { site { configuration { effectiveContents(compatible: false) validationMessages } } }";

const extensions = [jsonLanguage];
const options = listOptions();

/** The configuration that is in force, and what each option means. */
export function ConfigurationPart() {
  const used = useGraphql("SiteConfiguration", configurationQuery, {});
  const wanted = useSignal("");
  return (
    <Found used={used} what="the configuration">
      {(value) => {
        const { effectiveContents = "", validationMessages = [] } = value.site.configuration ?? {};
        const text = wanted.value.trim().toLowerCase();
        const found = options.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text));
        return (
          <>
            <p class="soft">
              The configuration is a file on the server, which operators edit; this is what is in force, without
              secrets. Repositories and contexts are read again by <code>trawl reload</code>, everything else at the
              next start.
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
      }}
    </Found>
  );
}

const checkQuery = `query CheckConfiguration($text: JSONCString!) {
  site { configurationProblems(text: $text) { line message } }
}`;

/** Checks a text as the configuration file, before an operator copies it there. */
function ConfigurationCheck() {
  const text = useSignal("");
  const found = useSignal<readonly ConfigurationProblem[] | undefined>(undefined);
  const view = useRef<EditorView>(undefined);
  const action = useAction();
  const check = (): void =>
    void action.run(async () => {
      const checked = text.peek();
      const { site } = await graphql("CheckConfiguration", checkQuery, { text: checked });
      if (text.peek() !== checked) return;
      const problems = site.configurationProblems ?? [];
      found.value = problems;
      if (view.current !== undefined) mark(view.current, problems);
    });
  return (
    <section class="configuration-check" aria-labelledby="check">
      <h2 id="check">Check a text</h2>
      <p class="soft">
        Paste the file, edit it, and see whether the server could start with it. Nothing is saved here: the file names
        commands that the server runs and files that it reads, so only those who can write it on the server change it.
      </p>
      <div class="configuration-text panel">
        <Editor
          label="Configuration to check"
          text={text.value}
          extensions={extensions}
          onChange={(changed) => {
            text.value = changed;
            found.value = undefined;
          }}
          onRun={check}
          onView={(made) => {
            view.current = made;
          }}
        />
      </div>
      <p>
        <button
          type="button"
          class="button main"
          disabled={text.value.trim() === "" || action.isRunning.value}
          onClick={check}
        >
          Check
        </button>
      </p>
      <ActionError action={action} />
      {found.value?.length === 0 && <Notice kind="info">The server could start with it.</Notice>}
      {found.value !== undefined && found.value.length > 0 && (
        <Problems problems={found.value} show={(line) => view.current !== undefined && goTo(view.current, line)} />
      )}
    </section>
  );
}

interface ProblemsProps {
  readonly problems: readonly ConfigurationProblem[];
  readonly show: (line: number) => void;
}

function Problems({ problems, show }: ProblemsProps) {
  return (
    <Notice kind="bad">
      <ul class="configuration-problems" aria-label="Problems">
        {problems.map(({ line, message }) => (
          <li key={`${line} ${message}`}>
            {line !== null && (
              <button type="button" class="button" onClick={() => show(line)}>
                Line {line}
              </button>
            )}{" "}
            {message}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function mark(view: EditorView, problems: readonly ConfigurationProblem[]): void {
  const { doc } = view.state;
  const marks = problems.flatMap(({ line, message }) => {
    if (line === null || line > doc.lines) return [];
    const { from, to, text } = doc.line(line);
    return [{ from: from + text.length - text.trimStart().length, to, message, severity: "error" as const }];
  });
  view.dispatch(setDiagnostics(view.state, marks));
}

function goTo(view: EditorView, line: number): void {
  const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
  view.focus();
}

/** A part of config/trawl.schema.json, as far as it is used there. */
export interface ConfigurationSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, ConfigurationSchema>>;
}

interface ConfigurationOption {
  /** With dots, as in `search.queue`. */
  readonly name: string;
  readonly description: string;
  /** As JSON, or "". */
  readonly defaultText: string;
}

/** Every option, in the order of the schema. */
function listOptions(schema: ConfigurationSchema = configurationSchema, prefix = ""): readonly ConfigurationOption[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, part]) => {
    const name = `${prefix}${key}`;
    if (part.properties !== undefined) return listOptions(part, `${name}.`);
    if (key === "$schema") return [];
    const defaultText = part.default === undefined ? "" : JSON.stringify(part.default);
    return [{ name, description: part.description ?? "", defaultText }];
  });
}
