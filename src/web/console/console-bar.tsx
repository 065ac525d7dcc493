import { useSignal, type Signal } from "@preact/signals";
import { viewer } from "../route/viewer.js";
import { copyRefusal, copyText, shellWord } from "../ui/copy.js";
import { callAfter } from "../ui/delay.js";
import { findOperations, formatDocument, readVariables } from "./console-document.js";
import type { ConsoleRun } from "./console-run.js";
import { writeConsoleHash, type ConsoleState } from "./console-state.js";
import type { Side } from "./console-side.js";

const messageMs = 4000;

interface BarProps {
  readonly state: ConsoleState;
  readonly change: (part: Partial<ConsoleState>) => void;
  readonly run: ConsoleRun;
  readonly start: () => void;
  readonly token: string;
  readonly setToken: (token: string) => void;
  readonly side: Signal<Side>;
}

/** What can be done with the query. */
export function ConsoleBar({ state, change, run, start, token, setToken, side }: BarProps) {
  const message = useSignal("");
  const tell = (text: string): void => {
    message.value = text;
    callAfter(messageMs, () => {
      if (message.peek() === text) message.value = "";
    });
  };
  const copy = async (what: string, text: string): Promise<void> =>
    tell((await copyText(text)) ? `Copied ${what}.` : `${copyRefusal()}.`);
  const format = (): void => {
    const made = formatDocument(state.query);
    if (made.kind === "text") change({ query: `${made.text}\n` });
    else tell(made.reason);
  };
  const isRunning = run.outcome.value.kind === "running";
  return (
    <div class="console-bar">
      <button type="button" class="button main" onClick={() => (isRunning ? run.stop() : start())}>
        {isRunning ? "Stop" : "Run"}
      </button>
      <Operations state={state} change={change} />
      <button type="button" class="button" onClick={format}>
        Format
      </button>
      <button type="button" class="button" onClick={() => copyLink(state, copy, tell)}>
        Copy link
      </button>
      <button type="button" class="button" onClick={() => copyCommand(state, copy, tell)}>
        Copy as curl
      </button>
      <span class="soft small console-message" role="status">
        {message.value}
      </span>
      <Credential token={token} setToken={setToken} />
      <SideButtons side={side} />
    </div>
  );
}

type Copy = (what: string, text: string) => Promise<void>;
type Tell = (text: string) => void;

function copyLink(state: ConsoleState, copy: Copy, tell: Tell): void {
  const hash = writeConsoleHash(state);
  if (hash === "") tell("The query is too long for a link.");
  else void copy("the link", `${window.location.origin}/api/console${hash}`);
}

function copyCommand(state: ConsoleState, copy: Copy, tell: Tell): void {
  const variables = readVariables(state.variables);
  if (typeof variables === "string") return tell(variables);
  const { query, operationName } = state;
  const body = JSON.stringify({ query, variables, ...(operationName === "" ? {} : { operationName }) });
  const url = shellWord(`${window.location.origin}/.api/graphql`);
  void copy("the command", `curl -H "Authorization: token $SRC_ACCESS_TOKEN" -d ${shellWord(body)} ${url}`);
}

function Operations({ state, change }: Pick<BarProps, "state" | "change">) {
  const names = findOperations(state.query);
  if (names.length < 2) return null;
  return (
    <select
      class="field console-operation"
      aria-label="Operation"
      value={state.operationName}
      onChange={({ currentTarget }) => change({ operationName: currentTarget.value })}
    >
      {!names.includes(state.operationName) && <option value="">Choose an operation</option>}
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Credential({ token, setToken }: Pick<BarProps, "token" | "setToken">) {
  const who = viewer.name === "" ? "without an account" : `as ${viewer.name}`;
  return (
    <label class="console-token small">
      <span class="soft">{token === "" ? `Runs ${who}, or with` : "Runs with"}</span>
      <input
        class="field"
        type="password"
        autoComplete="off"
        placeholder="access token"
        aria-label="Access token"
        // A request for each letter of a token that is typed would count as failed sign-ins.
        onChange={({ currentTarget }) => setToken(currentTarget.value.trim())}
      />
    </label>
  );
}

const sides: readonly (readonly [side: Side, label: string])[] = [
  ["documentation", "Documentation"],
  ["examples", "Examples"],
  ["history", "History"],
];

function SideButtons({ side }: { readonly side: Signal<Side> }) {
  return (
    <div class="console-sides">
      {sides.map(([name, label]) => (
        <button
          key={name}
          type="button"
          class="button quiet"
          aria-pressed={side.value === name}
          onClick={() => {
            side.value = side.value === name ? "none" : name;
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
