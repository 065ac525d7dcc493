import type { PageViewer } from "../../model/web-page.js";

/** Who looks at the page, as the document tells. A sign-in or sign-out loads the document again. */
export const viewer: PageViewer = readViewer();

function readViewer(): PageViewer {
  const given = document.querySelector<HTMLMetaElement>('meta[name="trawl-viewer"]')?.content ?? "{}";
  return { name: "", isSiteAdmin: false, isSignedIn: false, ...(JSON.parse(given) as Partial<PageViewer>) };
}
