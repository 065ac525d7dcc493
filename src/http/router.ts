import { assert } from "../base/assert.js";

/**
 * Finds the route of a request. A pattern is a path in which words in capitals stand for any text that is not empty,
 * slashes included, as repository names have them: `/.api/repos/NAME/sync`. Captured text is percent-decoded.
 */
export class Router<Route> {
  readonly #entries: Entry<Route>[] = [];

  add(method: string, pattern: string, route: Route): void {
    assert(pattern.startsWith("/"), `route pattern ${pattern} begins with a slash`);
    const names: string[] = [];
    if (!capture.test(pattern)) {
      this.#entries.push({ method, path: pattern, expression: undefined, names, route });
      return;
    }
    const source = pattern.split(capture).map((part, at) => {
      if (at % 2 === 0) return part.replace(/[^\w/]/g, "\\$&");
      names.push(part);
      return "(.+)";
    });
    this.#entries.push({ method, path: pattern, expression: new RegExp(`^${source.join("")}$`), names, route });
  }

  /** The first route that fits, in the order they were added. */
  find(method: string, path: string): Found<Route> {
    const methods: string[] = [];
    for (const entry of this.#entries) {
      const params = match(entry, path);
      if (params === undefined) continue;
      if (entry.method === method) return { kind: "route", route: entry.route, params };
      methods.push(entry.method);
    }
    return methods.length === 0 ? { kind: "none" } : { kind: "other-method", methods: [...new Set(methods)] };
  }
}

export type Found<Route> =
  | { readonly kind: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: "other-method"; readonly methods: readonly string[] }
  | { readonly kind: "none" };

interface Entry<Route> {
  readonly method: string;
  readonly path: string;
  /** Undefined for a pattern that captures nothing, which is the path itself. */
  readonly expression: RegExp | undefined;
  readonly names: readonly string[];
  readonly route: Route;
}

const noParams: Readonly<Record<string, string>> = {};

const capture = /\b([A-Z]{2,})\b/;

/** The captures, or undefined when the path is another one or holds a broken percent-encoding. */
function match<Route>(entry: Entry<Route>, path: string): Readonly<Record<string, string>> | undefined {
  if (entry.expression === undefined) return entry.path === path ? noParams : undefined;
  const found = entry.expression.exec(path);
  if (!found) return undefined;
  const params: Record<string, string> = {};
  try {
    for (const [at, name] of entry.names.entries()) params[name] = decodeURIComponent(found[at + 1] ?? "");
  } catch {
    return undefined;
  }
  return params;
}
