import { escapeRegexp } from "../../base/text.js";
import type { PersonFilter } from "../../query/plan/history-plan.js";
import type { SearchPlan } from "../../query/plan/plan.js";

/** The verified addresses of a user; undefined if there is no such user. */
export type AddressLookup = (userName: string) => readonly string[] | undefined;

const matchesNothing = String.raw`[^\x00-\x{10FFFF}]`;

/**
 * Replaces `author:@ann` and `committer:@ann` by the addresses of the user ann, whatever `case:` says. A name that no
 * user has remains a regexp.
 */
export function replaceUsers(plan: SearchPlan, addressesOf: AddressLookup): SearchPlan {
  const isNamed = plan.basicQueries.some(({ history }) => history.some(({ persons }) => persons.some(namesUser)));
  if (!isNamed) return plan;
  return {
    ...plan,
    basicQueries: plan.basicQueries.map((basic) => ({
      ...basic,
      history: basic.history.map((history) => ({
        ...history,
        persons: history.persons.map((filter) => (namesUser(filter) ? replaceUser(filter, addressesOf) : filter)),
      })),
    })),
  };
}

function namesUser({ source }: PersonFilter): boolean {
  return /^@[\w.-]+$/.test(source);
}

function replaceUser(filter: PersonFilter, addressesOf: AddressLookup): PersonFilter {
  const addresses = addressesOf(filter.source.slice(1));
  if (addresses === undefined) return filter;
  const source = addresses.length === 0 ? matchesNothing : `^(?:${addresses.map(escapeRegexp).join("|")})$`;
  return { ...filter, source, foldCase: true };
}
