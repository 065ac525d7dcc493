import type { ComponentChildren } from "preact";
import { keyListOpen } from "../ui/keys.js";
import { theme, switchTheme } from "../ui/theme.js";
import iconUrl from "../ui/icon.svg";
import { address } from "../route/router.js";
import { viewer } from "../route/viewer.js";
import "./header.css";

const themeNames = { system: "as the system", light: "light", dark: "dark" } as const;
const themeSigns = { system: "◐", light: "☀", dark: "☾" } as const;

/** The top of every page: the way home, the search field, and who is signed in. */
export function Header({ children }: { readonly children: ComponentChildren }) {
  return (
    <header class="header">
      <a class="home" href="/search">
        <img src={iconUrl} alt="" width="26" height="26" />
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
