import "./layout.css";
import { signal, type Signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { themeCookie, type WebPageName } from "../../model/web-page.js";
import { QueryField } from "../query/query-field.js";
import { type FinderScope, finderScope } from "../finder/finder-state.js";
import { addKeys, holdKeysWhile, keyListOpen, type PageKey } from "../ui/keys.js";
import { Failure, Notice, State, Waiting } from "../ui/states.js";
import { isOutdated, loadPart, usePart } from "../route/load-part.js";
import { address, page } from "../route/router.js";
import { reloadWithQuery } from "../query/query-state.js";
import { viewer } from "../route/viewer.js";

/** Loads the module of each page. */
export type PageLoaders = Readonly<Record<WebPageName, () => Promise<ComponentType>>>;

type Loaded =
  | { readonly kind: "waiting" }
  | { readonly kind: "ready"; readonly view: ComponentType }
  | { readonly kind: "failed"; readonly error: unknown };

const loaded = new Map<WebPageName, Signal<Loaded>>();

/** The frame of all pages, around the one at the address. */
export function Layout({ pages }: { readonly pages: PageLoaders }) {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header>
        <QueryField />
      </Header>
      <UpgradeNotice />
      <main id="main" tabIndex={-1}>
        <Page pages={pages} />
      </main>
      <Keys />
      <FinderDialog />
    </>
  );
}

/** The list of keys is loaded when it is first opened. */
function Keys() {
  const list = usePart(keyListOpen.value, () => import("./key-list.js"));
  useLayoutEffect(() => {
    if (list.error !== undefined) keyListOpen.value = false;
  }, [list.error]);
  return list.part === undefined ? null : <list.part.KeyList />;
}

/** So is what finds files, symbols and repositories by their names. */
function FinderDialog() {
  const finder = usePart(finderScope.value !== undefined, () => import("../finder/finder.js"));
  useLayoutEffect(() => {
    if (finder.error !== undefined) finderScope.value = undefined;
  }, [finder.error]);
  useLayoutEffect(() => holdKeysWhile(() => finderScope.peek() !== undefined), []);
  useLayoutEffect(() => addKeys([findKey("t", "Find a file", "files"), findKey("Ctrl-K", "Find by name", "all")]), []);
  return finder.part === undefined ? null : <finder.part.Finder />;
}

function findKey(key: string, what: string, scope: FinderScope): PageKey {
  return {
    key,
    what,
    act: () => {
      finderScope.value = scope;
    },
  };
}

function Page({ pages }: { readonly pages: PageLoaders }) {
  const name = page.value?.name;
  useLayoutEffect(() => {
    document.title = "Trawl";
  }, [name]);
  if (name === undefined)
    return (
      <State title="There is no such page">
        <p>
          Nothing is at <code>{address.value.pathname}</code>.
        </p>
      </State>
    );
  const state = load(name, pages);
  switch (state.value.kind) {
    case "waiting":
      return <Waiting what="the page" />;
    case "failed":
      return (
        <Failure
          what="The page could not be loaded"
          error={state.value.error}
          retry={() => {
            window.location.reload();
          }}
        />
      );
    case "ready": {
      const { view: View } = state.value;
      return <View />;
    }
  }
}

function load(name: WebPageName, pages: PageLoaders): Signal<Loaded> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const state = signal<Loaded>({ kind: "waiting" });
  loaded.set(name, state);
  loadPart(pages[name]).then(
    (view) => {
      state.value = { kind: "ready", view };
    },
    (error: unknown) => {
      // The page is at an address of its own already, and nothing was typed in it yet.
      if (isOutdated.peek()) window.location.reload();
      else state.value = { kind: "failed", error };
    },
  );
  return state;
}

/** Offers to load the page of a server that was upgraded. It does not do so by itself: forms may hold what was typed. */
function UpgradeNotice() {
  if (!isOutdated.value) return null;
  return (
    <Notice kind="warn">
      <span>The server was upgraded while this page was open: parts of this page no longer work.</span>
      <button type="button" class="button" onClick={reloadWithQuery}>
        Load the page again
      </button>
    </Notice>
  );
}

const themeNames = { system: "as the system", light: "light", dark: "dark" } as const;
const themeSigns = { system: "◐", light: "☀", dark: "☾" } as const;

/** The top of every page: the way home, the search field, and who is signed in. */
function Header({ children }: { readonly children: ComponentChildren }) {
  return (
    <header class="header">
      <a class="home" href="/search">
        <Icon />
        <span>Trawl</span>
      </a>
      <div class="header-field">{children}</div>
      <div class="header-tools">
        <a class="button quiet wide-only" href="/api/console">
          API
        </a>
        <button
          type="button"
          class="button quiet"
          aria-label={`Colours: ${themeNames[theme.value]}`}
          title={`Colours: ${themeNames[theme.value]}`}
          onClick={switchTheme}
        >
          {themeSigns[theme.value]}
        </button>
        <button
          type="button"
          class="button quiet wide-only"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => {
            keyListOpen.value = true;
          }}
        >
          ?
        </button>
        <Account />
      </div>
    </header>
  );
}

/** The same as `icon.png`, without a file of its own, and without the document that a browser makes of such a file. */
function Icon() {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0b6e74" />
      <path
        d="M7 9h18M9 9c0 9 3 14 7 14s7-5 7-14M12.5 9c0 6 1.4 10.500 3.5 13.5M19.5 9c0 6-1.4 10.500-3.5 13.5M9.8 15h12.4"
        fill="none"
        stroke="#fff"
        stroke-width="2"
        stroke-linecap="round"
      />
    </svg>
  );
}

function Account() {
  const { pathname, search } = address.value;
  if (viewer.name === "")
    return (
      <a class="button" href={`/sign-in?returnTo=${encodeURIComponent(pathname + search)}`}>
        Sign in
      </a>
    );
  return (
    <a class="button quiet account" href={`/users/${encodeURIComponent(viewer.name)}/settings`}>
      {viewer.name}
    </a>
  );
}

type Theme = "system" | "light" | "dark";

const themes: readonly Theme[] = ["system", "light", "dark"];
const yearSeconds = 31_536_000;

/** The chosen colours. The daemon sends the same choice in the document, so that no page appears in the wrong ones. */
const theme = signal<Theme>(currentTheme());

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** System, light, dark, and again. */
function switchTheme(): void {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
  theme.value = next;
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  const seconds = next === "system" ? 0 : yearSeconds;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing from some supported browsers.
  document.cookie = `${themeCookie}=${next}; Path=/; Max-Age=${seconds}; SameSite=Lax`;
}
