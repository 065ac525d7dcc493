import { useSignal } from "@preact/signals";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { Found, Notice } from "../ui/states.js";
import { Editor } from "./editor.js";
import { findJsonProblems, jsonLanguage, jsonLint } from "./json-language.js";
import "./editor.css";

interface SavedSettings {
  readonly id: number;
  readonly contents: string;
}

const settingsQuery = `query Settings($subject: ID!) {
  settingsSubject(id: $subject) { viewerCanAdminister latestSettings { id contents } }
}`;

const saveMutation = `mutation SaveSettings($subject: ID!, $lastID: Int, $contents: String!) {
  settingsMutation(input: { subject: $subject, lastID: $lastID }) {
    overwriteSettings(contents: $contents) { empty { alwaysNil } }
  }
}`;

const extensions = [jsonLanguage, jsonLint];

/** The settings of the site, an organization or a user, as JSON with comments. */
export function SettingsEditor({ subject }: { readonly subject: string }) {
  const used = useGraphql("Settings", settingsQuery, { subject });
  return (
    <Found used={used} what="the settings">
      {({ settingsSubject }) => {
        if (settingsSubject === null) return <p>There are no such settings.</p>;
        const { latestSettings, viewerCanAdminister } = settingsSubject;
        return <SettingsForm subject={subject} saved={latestSettings} isReadOnly={!viewerCanAdminister} />;
      }}
    </Found>
  );
}

interface SettingsFormProps {
  readonly subject: string;
  readonly saved: SavedSettings | null;
  readonly isReadOnly: boolean;
}

type Message = { readonly kind: "none" | "saved" } | { readonly kind: "failed" | "changed"; readonly text: string };

function SettingsForm({ subject, saved, isReadOnly }: SettingsFormProps) {
  const base = useSignal(saved);
  const text = useSignal(saved?.contents ?? "{}");
  const message = useSignal<Message>({ kind: "none" });
  const newest = async (): Promise<SavedSettings | null> =>
    (await graphql("Settings", settingsQuery, { subject })).settingsSubject?.latestSettings ?? null;
  const save = async (): Promise<void> => {
    const contents = text.peek();
    try {
      await graphql("SaveSettings", saveMutation, { subject, lastID: base.peek()?.id ?? null, contents });
      base.value = await newest();
      message.value = { kind: "saved" };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const other = await newest().catch(() => base.peek());
      message.value = { kind: other?.id === base.peek()?.id ? "failed" : "changed", text: reason };
    }
  };
  const take = (what: "text" | "base") => async (): Promise<void> => {
    base.value = await newest();
    if (what === "text") text.value = base.value?.contents ?? "{}";
    message.value = { kind: "none" };
  };
  const isBroken = findJsonProblems(text.value).length > 0;
  const isChanged = text.value !== (base.value?.contents ?? "{}");
  return (
    <div class="settings-editor">
      <div class="settings-text panel">
        <Editor
          label="Settings, as JSON"
          text={text.value}
          extensions={extensions}
          isReadOnly={isReadOnly}
          onChange={(changed) => {
            text.value = changed;
            message.value = { kind: "none" };
          }}
          onRun={() => void save()}
        />
      </div>
      {message.value.kind === "failed" && <Notice kind="bad">{message.value.text}</Notice>}
      {message.value.kind === "changed" && (
        <Notice kind="warn">
          <span>These settings were saved elsewhere since you opened them. Nothing of yours is saved yet.</span>
          <button type="button" class="button" onClick={() => void take("text")()}>
            Show what is saved
          </button>
          <button type="button" class="button" onClick={() => void take("base")()}>
            Keep my text, to save it over that
          </button>
        </Notice>
      )}
      {!isReadOnly && (
        <p>
          <button
            type="button"
            class="button main"
            disabled={isBroken || !isChanged || message.value.kind === "changed"}
            onClick={() => void save()}
          >
            Save
          </button>{" "}
          <span class="soft small" role="status">
            {isBroken
              ? "This is no JSON yet."
              : message.value.kind === "saved"
                ? "Saved."
                : isChanged
                  ? "Not saved."
                  : ""}
          </span>
        </p>
      )}
    </div>
  );
}
