import { readPagePath, type PagePath } from "../../model/page-path.js";
import { address } from "../route/router.js";
import { State } from "../ui/states.js";
import { CommitPage } from "./commits/commit-page.js";
import { ComparePage } from "./commits/compare-page.js";
import { HistoryPage } from "./commits/history-page.js";
import { ContributorsPage, IndexesPage, RefsPage } from "./repository-lists.js";
import { DirectoryPage } from "./files/directory-page.js";
import { FilePage } from "./files/file-page.js";
import { RepositoryFrame } from "./repository-frame.js";
import "./code.css";

/** The pages of a repository: `/NAME[@REVISION][/-/PAGE[/PATH]]`. */
export function CodePage() {
  const path = readPagePath(address.value.pathname);
  if (path === undefined || path.name === "")
    return (
      <State title="There is no such page">
        <p>The address is not one of a repository.</p>
      </State>
    );
  return (
    <RepositoryFrame path={path}>
      <Content path={path} />
    </RepositoryFrame>
  );
}

function Content({ path }: { readonly path: PagePath }) {
  switch (path.page) {
    case "":
    case "tree":
      return <DirectoryPage path={path} />;
    case "blob":
      return <FilePage path={path} />;
    case "commit":
      return <CommitPage path={path} />;
    case "commits":
      return <HistoryPage path={path} />;
    case "compare":
      return <ComparePage path={path} />;
    case "branches":
    case "tags":
      return <RefsPage path={path} />;
    case "code-intelligence":
      return <IndexesPage path={path} />;
    case "stats":
      return <ContributorsPage path={path} />;
    default:
      return (
        <State title="There is no such page">
          <p>
            A repository has no page <code>{path.page}</code>.
          </p>
        </State>
      );
  }
}
