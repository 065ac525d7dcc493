import { SmallRequests } from "../load/small-requests.js";
import type { Findings } from "../report/run-report.js";
import { measureDeep } from "./graphql-history.js";
import { reportGraphql } from "./graphql-report.js";
import { measureWide } from "./graphql-wide.js";
import type { Suite, SuiteContext } from "./suite.js";

/** GraphQL: beside other servers, on many repositories, on a long history, and beside streams. */
export const graphqlSuite: Suite = {
  name: "graphql",
  title: "GraphQL beside other servers",
  estimateSeconds: { quick: 60, full: 140 },
  measure,
};

async function measure(context: SuiteContext): Promise<Findings> {
  const generator = await SmallRequests.compile(context.workFolder);
  const wide = await measureWide(generator, context);
  const deep = await measureDeep(generator, context);
  return reportGraphql({ ...wide, ...deep }, context.isQuick);
}
