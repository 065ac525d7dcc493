import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { wholeText, type QueryState } from "../query/query-state.js";
import { copyRefusal, copyText } from "../ui/copy.js";
import { callAfter } from "../ui/delay.js";
import { shellWord } from "../ui/shell-word.js";
import { queryParameters } from "./search-run.js";

const confirmationMs = 1500;

export interface ShareMenuProps {
  readonly query: QueryState;
}

/** Copies the search in the form of another tool. */
export function ShareMenu({ query }: ShareMenuProps) {
  const first = useRef<HTMLButtonElement>(null);
  // In place of the button that opened it, which had the focus.
  useLayoutEffect(() => first.current?.focus(), []);
  const said = useSignal("");
  const copy = async (what: string, text: string): Promise<void> => {
    said.value = (await copyText(text)) ? `Copied ${what}` : copyRefusal();
    callAfter(confirmationMs, () => {
      said.value = "";
    });
  };
  const forms = [
    ["Link", () => window.location.href],
    ["curl", () => curlCommand(query)],
    ["src", () => srcCommand(query)],
  ] as const;
  return (
    <span class="share">
      <span class="soft small" role="status">
        {said.value === "" ? "Copy as" : said.value}
      </span>
      {forms.map(([name, text], at) => (
        <button
          key={name}
          ref={at === 0 ? first : null}
          type="button"
          class="button quiet"
          onClick={() => copy(name, text())}
        >
          {name}
        </button>
      ))}
    </span>
  );
}

function curlCommand(query: QueryState): string {
  const url = `${window.location.origin}/.api/search/stream?${queryParameters(query)}`;
  return `curl --no-buffer -H "Authorization: token $SRC_ACCESS_TOKEN" ${shellWord(url)}`;
}

function srcCommand(query: QueryState): string {
  return `SRC_ENDPOINT=${shellWord(window.location.origin)} src search -stream ${shellWord(wholeText(query))}`;
}
