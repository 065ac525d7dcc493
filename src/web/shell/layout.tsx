import { signal, useSignal, type Signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { WebPageName } from "../../model/web-page.js";
import { QueryField } from "../query/query-field.js";
import { keyListOpen } from "../ui/keys.js";
import { Failure, State, Waiting } from "../ui/states.js";
import { Header } from "./header.js";
import { UpgradeNotice } from "./upgrade-notice.js";
import { isOutdated, loadPart } from "../route/load-part.js";
import { address, page } from "../route/router.js";
import "./layout.css";

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
    </>
  );
}

/** The list of keys is loaded when it is first opened. */
function Keys() {
  const list = useSignal<ComponentType | undefined>(undefined);
  const isOpen = keyListOpen.value;
  useEffect(() => {
    if (!isOpen || list.peek() !== undefined) return;
    loadPart(() => import("./key-list.js")).then(
      ({ KeyList }) => {
        list.value = KeyList;
      },
      () => {
        keyListOpen.value = false;
      },
    );
  }, [isOpen, list]);
  const List = list.value;
  return List === undefined ? null : <List />;
}

function Page({ pages }: { readonly pages: PageLoaders }) {
  const name = page.value?.name;
  useEffect(() => {
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
