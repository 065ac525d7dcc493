/** A document, and whether and how often it is executed. */
export interface WarmUpDocument {
  readonly text: string;
  readonly runCount: number;
}

/** Enough for the engine to compile the functions that each document uses, according to measurements. */
const rounds = 2;

/**
 * Documents that exercise parsing, limits, validation and execution, a second after startup: without warm-up, a
 * document of the maximum size takes 60 ms, and a page of 100 repositories three times as long as the next one.
 */
export function* warmUpDocuments(): Generator<WarmUpDocument> {
  const page =
    "nodes { id name description url stars isFork isArchived isPrivate } totalCount pageInfo { endCursor hasNextPage }";
  for (let round = 0; round < rounds; round++) {
    const name = (at: number): string => `a${round}_${at}`;
    yield { text: `query ${name(0)} { repositories(first: 100) { ${page} } }`, runCount: 3 };
    yield { text: `{ ${many(200, (at) => `${name(at)}: repository(name: "${at}") { id name }`)} }`, runCount: 0 };
    yield {
      text: `query (${many(100, (at) => `$${name(at)}: String!`)}) { ${many(100, (at) => `${name(at)}: repository(name: $${name(at)}) { id }`)} }`,
      runCount: 0,
    };
    yield { text: `{ ${many(150, (at) => `repository(name: "${name(at)}") { id }`)} }`, runCount: 0 };
    yield {
      text: `{ ${many(30, (at) => `...${name(at)}`)} } ${many(30, (at) => `fragment ${name(at)} on Query { repository(name: "") { id name } }`)}`,
      runCount: 0,
    };
    yield {
      text: `{ repositories(first: 1, names: [${many(500, (at) => `"${name(at)}"`)}]) { totalCount } }`,
      runCount: 0,
    };
    yield { text: `{ ${many(1500, (at) => `${name(at)}: __typename`)} }`, runCount: 0 };
  }
}

function many(count: number, text: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => text(at)).join(" ");
}
