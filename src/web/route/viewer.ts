import type { PageViewer } from "../../model/web-page.js";

/** By the clock of this machine. */
const loadedMs = new Date().getTime();

/** Who looks at the page, as the document tells. A sign-in or sign-out loads the document again. */
export const viewer: PageViewer = readViewer();

function readViewer(): PageViewer {
  const given = document.querySelector<HTMLMetaElement>('meta[name="trawl-viewer"]')?.content ?? "{}";
  return {
    name: "",
    isSiteAdmin: false,
    isSignedIn: false,
    sentMs: loadedMs,
    ...(JSON.parse(given) as Partial<PageViewer>),
  };
}

/** The time by the clock of the server, which made the times that pages show. That of this machine may be wrong. */
export function serverTimeMs(): number {
  return new Date().getTime() - loadedMs + viewer.sentMs;
}
