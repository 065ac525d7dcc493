import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { QueryState } from "../query/query-state.js";
import { loadPart } from "../route/load-part.js";
import type { ShareMenuProps } from "./share-menu.js";

/** Opens the forms in which the search can be copied, which are loaded then. */
export function ShareButton({ query }: { readonly query: QueryState }) {
  const menu = useSignal<ComponentType<ShareMenuProps> | undefined>(undefined);
  const Menu = menu.value;
  if (Menu !== undefined) return <Menu query={query} />;
  const open = (): void => {
    loadPart(() => import("./share-menu.js")).then(
      ({ ShareMenu }) => {
        menu.value = ShareMenu;
      },
      () => undefined,
    );
  };
  return (
    <button type="button" class="button quiet" aria-expanded={false} onClick={open}>
      Copy as…
    </button>
  );
}
