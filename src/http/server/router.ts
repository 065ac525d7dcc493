import { assert } from "../../base/assert.js";
import { unescapeUrlPath } from "../../base/path-text.js";

/**
 * Finds the route of a request. A pattern is a path in which words in capitals match any non-empty text, including
 * slashes, because repository names contain them: `/.api/repos/NAME/sync`. Captured text is percent-decoded.
 */
export class Router<Route> {
  readonly #entries: Entry<Route>[] = [];

  add(method: string, pattern: string, route: Route): void {
    assert(pattern.startsWith("/"), `route pattern ${pattern} begins with a slash`);
    // Texts and names alternate, as in ["/.api/repos/", "NAME", "/sync"].
    const parts = pattern.split(/([A-Z]{2,})/);
    const texts = parts.filter((_, at) => at % 2 === 0);
    this.#entries.push({ method, path: pattern, texts, names: parts.filter((_, at) => at % 2 === 1), route });
  }

  patterns(): readonly { readonly method: string; readonly pattern: string }[] {
    return this.#entries.map(({ method, path }) => ({ method, pattern: path }));
  }

  /** Those that some path takes, and `OPTIONS`, which is answered without a route. */
  methods(): readonly string[] {
    return [...new Set([...this.#entries.map(({ method }) => method), "OPTIONS"])];
  }

  /** The first matching route, in the order in which they were added. */
  find(method: string, path: string): Found<Route> {
    const methods: string[] = [];
    for (const entry of this.#entries) {
      const params = match(entry, path);
      if (params === undefined) continue;
      if (entry.method === method) return { kind: "route", route: entry.route, pattern: entry.path, params };
      methods.push(entry.method);
    }
    return methods.length === 0 ? { kind: "none" } : { kind: "other-method", methods: [...new Set(methods)] };
  }
}

export type Found<Route> =
  | {
      readonly kind: "route";
      readonly route: Route;
      readonly pattern: string;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: "other-method"; readonly methods: readonly string[] }
  | { readonly kind: "none" };

interface Entry<Route> {
  readonly method: string;
  readonly path: string;
  /** The texts before, between and after the captures; only the path itself if there are no captures. */
  readonly texts: readonly string[];
  readonly names: readonly string[];
  readonly route: Route;
}

const noParams: Readonly<Record<string, string>> = {};

/** The captures, or undefined if the path does not match or has invalid percent-encoding. */
function match<Route>(
  { path: pattern, texts, names }: Entry<Route>,
  path: string,
): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return pattern === path ? noParams : undefined;
  const captured = captures(texts, path);
  if (captured === undefined) return undefined;
  const params: Record<string, string> = {};
  for (const [at, name] of names.entries()) {
    const text = unescapeUrlPath(captured[at] ?? "");
    if (text === undefined) return undefined;
    params[name] = text;
  }
  return params;
}

/** The texts between the fixed texts, matched from left to right; undefined if one would be empty. */
function captures(texts: readonly string[], path: string): readonly string[] | undefined {
  const [first = "", last = ""] = [texts[0], texts.at(-1)];
  if (!path.startsWith(first) || !path.endsWith(last)) return undefined;
  const found: string[] = [];
  let end = path.length - last.length;
  for (const text of texts.slice(1, -1).reverse()) {
    const at = path.lastIndexOf(text, end - 1 - text.length);
    if (at < first.length) return undefined;
    found.unshift(path.slice(at + text.length, end));
    end = at;
  }
  return end <= first.length ? undefined : [path.slice(first.length, end), ...found];
}
