import "./console.css";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { callAfter } from "../ui/delay.js";
import { Editor } from "../editor/editor.js";
import { jsonLanguage, jsonLint } from "../editor/json-language.js";
import { ConsoleBar } from "./console-bar.js";
import { ConsoleRun, type Outcome } from "./console-run.js";
import { ConsoleSide, type Side } from "./console-side.js";
import { addToHistory, type ConsoleState, readConsoleHash, readHistory, writeConsoleHash } from "./console-state.js";
import { examples } from "./examples.js";
import { QueryEditor } from "./query-editor.js";
import { Notice } from "../ui/states.js";

/** How long nothing is typed before the address changes. */
const hashPauseMs = 300;

/** `/api/console`: writes, runs and explains GraphQL requests. */
export function ConsolePage() {
  const run = useMemo(() => new ConsoleRun(), []);
  const [state, change] = useConsoleState();
  const token = useSignal("");
  const side = useSignal<Side>(window.innerWidth > 900 ? "examples" : "none");
  const history = useSignal(useMemo(readHistory, []));
  const shownType = useSignal("Query");
  useLayoutEffect(() => {
    document.title = "API console · Trawl";
    return () => run.stop();
  }, [run]);
  const start = (): void => {
    history.value = addToHistory(state.value);
    void run.start(state.value, token.value);
  };
  const showType = (name: string): void => {
    shownType.value = name;
    side.value = "documentation";
  };
  return (
    <div class="console">
      <h1 class="unseen">API console</h1>
      <ConsoleBar
        state={state.value}
        change={change}
        run={run}
        start={start}
        token={token.value}
        setToken={(text) => {
          token.value = text;
        }}
        side={side}
      />
      <div class={`console-parts${side.value === "none" ? "" : " with-side"}`}>
        <div class="console-write">
          <QueryEditor text={state.value.query} token={token.value} change={change} start={start} showType={showType} />
          <section class="console-part" aria-label="Variables">
            <h2>Variables</h2>
            <Editor
              label="Variables, as JSON"
              text={state.value.variables}
              extensions={variablesExtensions}
              onChange={(variables) => change({ variables })}
              onRun={start}
            />
          </section>
        </div>
        <ResultView outcome={run.outcome.value} />
        <ConsoleSide side={side} shownType={shownType} history={history} change={change} />
      </div>
    </div>
  );
}

const variablesExtensions = [jsonLanguage, jsonLint];

/** The state of the address, of the last run, or an example; a change of it goes to the address. */
function useConsoleState() {
  const initial = useMemo(
    () => readConsoleHash(window.location.hash) ?? readHistory()[0] ?? (examples[0] as { state: ConsoleState }).state,
    [],
  );
  const state = useSignal<ConsoleState>(initial);
  useLayoutEffect(() => {
    const follow = (): void => {
      state.value = readConsoleHash(window.location.hash) ?? state.peek();
    };
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [state]);
  const shown = state.value;
  useLayoutEffect(() => {
    const pending = callAfter(hashPauseMs, () => {
      const { pathname, search } = window.location;
      window.history.replaceState(null, "", `${pathname}${search}${writeConsoleHash(shown)}`);
    });
    return () => pending.cancel();
  }, [shown]);
  const change = (part: Partial<ConsoleState>): void => {
    state.value = { ...state.peek(), ...part };
  };
  return [state, change] as const;
}

const extensions = [jsonLanguage];

/** The answer as it came, with its status, time and size. */
function ResultView({ outcome }: { readonly outcome: Outcome }) {
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
