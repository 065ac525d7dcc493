/** Addresses and the history of the browser, with an object in the place of its window. */
import t from "tap";

const origin = "http://trawl.test";
const done: string[] = [];
const listeners = new Map<string, (event: unknown) => void>();
const entry = (how: string) => (_state: unknown, _title: string, url: URL) =>
  void done.push(`${how} ${url.pathname}${url.search}`);

const location = { href: `${origin}/search?q=a`, origin, assign: (url: URL) => void done.push(`load ${url.href}`) };
Object.assign(globalThis, {
  window: {
    location,
    scrollTo: () => void done.push("to the top"),
    addEventListener: (name: string, listener: (event: unknown) => void) => listeners.set(name, listener),
  },
  document: { addEventListener: (name: string, listener: (event: unknown) => void) => listeners.set(name, listener) },
  history: { pushState: entry("push"), replaceState: entry("replace") },
});

const { address, arrival, followLinks, navigate, page } = await import("../../../src/web/route/router.js");

const after = (act: () => void): readonly string[] => {
  done.length = 0;
  act();
  return [...done];
};

t.test("navigation", async (t) => {
  t.equal(page.value?.name, "search");
  t.same(
    after(() => navigate("/search?q=b")),
    ["push /search?q=b"],
    "the same page keeps its place",
  );
  t.equal(address.value.search, "?q=b");
  t.same(
    after(() => navigate("/search?q=b")),
    ["replace /search?q=b"],
    "the same address is no entry of its own",
  );
  t.same(
    after(() => navigate("?q=c", "replace")),
    ["replace /search?q=c"],
  );
  t.same(
    after(() => navigate("/site-admin/users")),
    ["push /site-admin/users", "to the top"],
  );
  t.equal(page.value?.name, "admin");
  t.same(
    after(() => navigate("/host/repo/-/blob/a%20b")),
    ["push /host/repo/-/blob/a%20b", "to the top"],
  );
  t.equal(page.value?.name, "code");
});

t.test("what the pages do not show is loaded by the browser", async (t) => {
  const before = address.value;
  for (const to of [
    "https://elsewhere.test/search",
    "/host/repo/-/raw/a",
    "/.api/graphql",
    "//elsewhere.test/",
    "javascript:alert(1)",
  ])
    t.same(
      after(() => navigate(to)),
      [`load ${new URL(to, before).href}`],
      to,
    );
  t.equal(address.value, before);
});

t.test("back and forward", async (t) => {
  followLinks();
  location.href = `${origin}/contexts`;
  listeners.get("popstate")?.({});
  t.equal(arrival.value, "history");
  t.equal(page.value?.name, "contexts");
  navigate("/search");
  t.equal(arrival.value, "other");
});
