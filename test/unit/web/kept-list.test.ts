/** What browsers keep for their users, and when it is forgotten. */
import t from "tap";
import { forgetKeptLists, KeptList, keepListsFor } from "../../../src/web/ui/kept-list.js";

/** As in a browser: what is kept is also a property. */
class FakeStorage {
  [name: string]: unknown;

  getItem(name: string): string | null {
    return (this[name] as string | undefined) ?? null;
  }

  setItem(name: string, text: string): void {
    this[name] = text;
  }

  removeItem(name: string): void {
    delete this[name];
  }
}

const isText = (value: unknown): value is string => typeof value === "string";
const limits = { count: 3, length: 100 };

t.test("lists are forgotten when someone else looks at the page", async (t) => {
  const storages = { localStorage: new FakeStorage(), sessionStorage: new FakeStorage() };
  Object.assign(globalThis, storages);
  const { localStorage, sessionStorage } = storages;
  const searches = new KeptList("searches", limits, isText);
  const folders = new KeptList("folders", limits, isText, () => sessionStorage as unknown as Storage);
  const add = (): void => {
    for (const list of [searches, folders]) list.add("secret", () => false);
  };
  const kept = () => [searches.read().length, folders.read().length];
  localStorage.setItem("trawl-tree", "yes");

  keepListsFor("alice");
  add();
  keepListsFor("alice");
  t.same(kept(), [1, 1], "a page of the same user");
  for (const name of ["", "bob", "alice"]) {
    keepListsFor(name);
    t.same(kept(), [0, 0], JSON.stringify(name));
    add();
    t.same(kept(), [1, 1], "and keeps lists again");
  }
  forgetKeptLists();
  t.same(Object.keys(localStorage), ["trawl-tree"], "choices stay");
  t.same(Object.keys(sessionStorage), []);
  add();
  t.same(Object.keys(sessionStorage), [], "a page that is left keeps nothing more");

  keepListsFor("alice");
  add();
  localStorage.setItem("trawl-kept-for", "bob");
  t.same(kept(), [0, 1], "another tab signed in as someone else");
  searches.add("late", () => false);
  t.notMatch(localStorage.getItem("trawl-kept-searches"), "late");
});

t.test("without storage", async (t) => {
  const refused = {
    get(): never {
      throw new Error("The operation is insecure.");
    },
  };
  Object.defineProperties(globalThis, {
    localStorage: { ...refused, configurable: true },
    sessionStorage: { ...refused, configurable: true },
  });
  keepListsFor("alice");
  const list = new KeptList("searches", limits, isText);
  t.same(
    list.add("a", () => false),
    ["a"],
  );
  t.same(list.read(), []);
  forgetKeptLists();
});
