import { reloadWithQuery } from "../query/query-state.js";
import { isOutdated } from "../route/load-part.js";
import { Notice } from "../ui/states.js";

/** Offers to load the page of a server that was upgraded. It does not do so by itself: forms may hold what was typed. */
export function UpgradeNotice() {
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
