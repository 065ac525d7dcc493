import { useSignal } from "@preact/signals";
import type { QueryState } from "../query/query-state.js";
import { callAfter } from "../ui/delay.js";
import { shellWord } from "../ui/shell-word.js";
import { streamParameters } from "./search-run.js";

const confirmationMs = 1500;

/** Copies the search in the form of another tool. */
export function ShareMenu({ query }: { readonly query: QueryState }) {
  const copied = useSignal("");
  const copy = (what: string, text: string): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        copied.value = what;
        callAfter(confirmationMs, () => {
          copied.value = "";
        });
      },
      () => {
        copied.value = "nothing: the browser refused";
      },
    );
  };
  const forms = [
    ["Link", () => window.location.href],
    ["curl", () => curlCommand(query)],
    ["src", () => srcCommand(query)],
  ] as const;
  return (
    <span class="share">
      <span class="soft small" role="status">
        {copied.value === "" ? "Copy as" : `Copied ${copied.value}`}
      </span>
      {forms.map(([name, text]) => (
        <button key={name} type="button" class="button quiet" onClick={() => copy(name, text())}>
          {name}
        </button>
      ))}
    </span>
  );
}

function curlCommand(query: QueryState): string {
  const parameters = new URLSearchParams([...streamParameters(query)].filter(([name]) => name === "q" || name === "t"));
  const url = `${window.location.origin}/.api/search/stream?${parameters}`;
  return `curl --no-buffer -H "Authorization: token $SRC_ACCESS_TOKEN" ${shellWord(url)}`;
}

function srcCommand({ text, patternType, caseSensitive }: QueryState): string {
  const whole = `${text}${caseSensitive ? " case:yes" : ""} patterntype:${patternType}`;
  return `SRC_ENDPOINT=${shellWord(window.location.origin)} src search -stream ${shellWord(whole)}`;
}
