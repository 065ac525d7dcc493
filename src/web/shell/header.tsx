import type { ComponentChildren } from "preact";
import { keyListOpen } from "../ui/keys.js";
import { theme, switchTheme } from "../ui/theme.js";
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
