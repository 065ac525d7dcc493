import { Editor } from "../editor/editor.js";
import { jsonLanguage } from "../editor/json-language.js";
import { Notice } from "../ui/states.js";
import type { Outcome } from "./console-run.js";

const extensions = [jsonLanguage];

/** The answer as it came, with its status, time and size. */
export function ResultView({ outcome }: { readonly outcome: Outcome }) {
  return (
    <section class="console-part console-result" aria-label="Result">
      <h2>
        Result{" "}
        <span class="soft small" role="status">
          {describe(outcome)}
        </span>
      </h2>
      {outcome.kind === "failed" && <Notice kind="bad">{outcome.message}</Notice>}
      {outcome.kind === "reply" && outcome.reply.isCut && (
        <Notice kind="warn">The answer is longer than what is shown here. Ask for less, or use curl.</Notice>
      )}
      {outcome.kind === "none" && (
        <p class="console-hint soft">
          Run the query with <kbd>Ctrl</kbd> <kbd>Enter</kbd>. Completion opens as you type, or with <kbd>Ctrl</kbd>{" "}
          <kbd>Space</kbd>; <kbd>Ctrl</kbd> and a click on a field show its documentation.
        </p>
      )}
      {outcome.kind === "reply" && (
        <Editor label="Result" text={outcome.reply.text} extensions={extensions} isReadOnly={true} />
      )}
    </section>
  );
}

function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case "none":
    case "failed":
      return "";
    case "running":
      return "running…";
    case "reply": {
      const { status, durationMs, text } = outcome.reply;
      const size =
        text.length < 2000 ? `${text.length} characters` : `${Math.round(text.length / 1000)} thousand characters`;
      return `status ${status}, ${Math.round(durationMs)} ms, ${size}`;
    }
  }
}
