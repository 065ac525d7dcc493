import { pathOfMatch, type StreamMatch, type SymbolMatch } from "../../../model/stream-events.js";
import { button, element } from "../../ui/element.js";
import { commitResult } from "./commit-result.js";
import { contentResult } from "./content-result.js";
import { fileUrl, ownUrl, resultFrame, titleOfFile, titleOfRepository } from "./result-frame.js";
import type { ResultContext } from "./result-context.js";

const symbolsShownMax = 10;

/** The element of a result, in the form of its kind. */
export function resultView(match: StreamMatch, key: string, context: ResultContext): HTMLElement {
  switch (match.type) {
    case "content":
      return contentResult(match, key, context);
    case "symbol":
      return symbolResult(match, key, context);
    case "path":
      return resultFrame({
        title: titleOfFile(match),
        label: match.path ?? "",
        note: match.language ?? "",
        ...(pathOfMatch(match).endsWith("/") ? {} : { preview: fileUrl(match) }),
      });
    case "repo":
      return repositoryResult(match);
    case "commit":
    case "diff":
      return commitResult(match, key, context);
    default:
      return ownerResult(match);
  }
}

/** Members of a repository result that other results lack. */
interface RepositoryMatch extends StreamMatch {
  readonly description?: string;
  readonly fork?: boolean;
  readonly archived?: boolean;
  readonly private?: boolean;
  readonly repoStars?: number;
  readonly topics?: readonly string[];
}

function repositoryResult(match: RepositoryMatch): HTMLElement {
  const { description = "", fork, archived, topics = [], repoStars } = match;
  const notes = [fork && "fork", archived && "archived", match.private && "private", repoStars && `★ ${repoStars}`];
  const body = element("div", { class: "repository-body" });
  if (description !== "") body.append(element("p", {}, description));
  for (const topic of topics) body.append(element("span", { class: "badge" }, topic));
  return resultFrame({
    title: titleOfRepository(match),
    label: match.repository ?? "",
    note: notes.filter(Boolean).join(" · "),
    body: body.childElementCount > 0 ? body : undefined,
  });
}

function symbolResult(match: StreamMatch, key: string, context: ResultContext): HTMLElement {
  const symbols = match.symbols ?? [];
  const list = element("ul", { class: "symbols" });
  const show = (shown: readonly SymbolMatch[]): void => list.append(...shown.map((symbol) => symbolRow(symbol)));
  const isWhole = context.state(key).isWhole === true || symbols.length <= symbolsShownMax;
  show(isWhole ? symbols : symbols.slice(0, symbolsShownMax));
  const body = element("div", {}, list);
  if (!isWhole) {
    const more = button("more", `${symbols.length - symbolsShownMax} more symbols`, () => {
      context.state(key).isWhole = true;
      show(symbols.slice(symbolsShownMax));
      more.remove();
    });
    body.append(more);
  }
  return resultFrame({
    title: titleOfFile(match),
    label: match.path ?? "",
    note: `${symbols.length} ${symbols.length === 1 ? "symbol" : "symbols"}`,
    body,
    fold: { state: context.state(key) },
    preview: `${fileUrl(match)}?L${symbols[0]?.line ?? 1}`,
  });
}

function symbolRow({ url, name, containerName, kind, line }: SymbolMatch): HTMLElement {
  return element(
    "li",
    {},
    element("span", { class: "badge" }, kind.toLowerCase()),
    element("a", { href: ownUrl(url) }, element("code", {}, name)),
    containerName === "" ? undefined : element("span", { class: "soft small" }, `in ${containerName}`),
    element("span", { class: "soft small end" }, `line ${line}`),
  );
}

/** An owner of files: an account, a team or an address. */
function ownerResult({ handle = "", email = "", type }: StreamMatch): HTMLElement {
  const name = handle === "" ? email : handle;
  return resultFrame({ title: element("span", {}, name), label: name, note: type });
}
