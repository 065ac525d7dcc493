import { countWords, type DocumentTable } from "../../../src/native/kernel/document-table.js";
import { resultWordCount, resultWords, type Kernel } from "../../../src/native/kernel/kernel.js";
import { forEachKernel, holds } from "../../support/kernel-support.js";
import { fc } from "../../support/property.js";

/** A document of a generated shard; its content is ten bytes long. */
interface Document {
  readonly repository: number;
  readonly branches: number;
  readonly info: number;
  readonly isDead: boolean;
}

const contentBytes = 10;
const repositoryCount = 3;
const languageCount = 2;

const document = fc.record({
  repository: fc.nat({ max: repositoryCount - 1 }),
  branches: fc.nat({ max: 7 }),
  info: fc
    .tuple(fc.nat({ max: languageCount - 1 }), fc.nat({ max: 255 }))
    .map(([language, kinds]) => (language << 16) | (kinds << 8)),
  isDead: fc.boolean(),
});

/** The documents of each content; those of the last element have no content. */
const shard = fc.array(fc.array(document, { maxLength: 3 }), { minLength: 1, maxLength: 8 });

function tableOf(contents: readonly (readonly Document[])[], masks: readonly number[]): DocumentTable {
  const documents = contents.flat();
  const words = (value: (one: Document, i: number) => number): Uint32Array => Uint32Array.from(documents, value);
  const tombstones = new Uint32Array(1);
  documents.forEach(({ isDead }, i) => {
    if (isDead) tombstones[i >>> 5] |= 1 << (i & 31);
  });
  const contentCount = contents.length - 1;
  return {
    contentStart: Uint32Array.from({ length: contentCount + 1 }, (_, i) => i * contentBytes),
    contentFirstLine: Uint32Array.from({ length: contentCount }, (_, i) => i * 7),
    contentFirstDocument: Uint32Array.from(
      { length: contents.length + 1 },
      (_, i) => contents.slice(0, i).flat().length,
    ),
    pathStart: Uint32Array.from({ length: documents.length + 1 }, (_, i) => i * 5),
    documentRepository: words(({ repository }) => repository),
    documentBranches: words(({ branches }) => branches),
    documentInfo: words(({ info }) => info),
    tombstones: documents.some(({ isDead }) => isDead) ? tombstones : new Uint32Array(0),
    repositories: Uint32Array.from(masks.flatMap((mask, i) => [mask, 100 * i, 100 * i + 9])),
    tailStarts: Uint32Array.from({ length: languageCount + 1 }, (_, i) => i * 3),
  };
}

/** What a kernel lists for all contents, with `rowCounts[i]` rows in content i, and what it counts. */
function listed(kernel: Kernel, table: DocumentTable, rowCounts: readonly number[]): unknown {
  const all = Uint32Array.from({ length: table.contentFirstDocument.length - 1 }, (_, i) => i);
  const rows = rowCounts.flatMap((count, i) =>
    Array.from({ length: count }, (_, k) => [i * contentBytes + k, i * contentBytes + k + 1]).flat(),
  );
  const out = new Uint32Array(all.length);
  const counted = new Uint32Array(1);
  const visibleCount = kernel.visibleContents(table, all, all.length, out, counted);
  const documents = new Uint32Array(counted[0]);
  const results = new Uint32Array(counted[0] * resultWordCount);
  const counts = new Uint32Array(countWords(table));
  const totals = new Uint32Array(3);
  kernel.listResults({
    table,
    contents: all,
    contentCount: all.length,
    rows: Uint32Array.from(rows),
    rowCount: rows.length / 2,
    results,
    documents,
    counts,
    totals,
  });
  return {
    visible: [...out.subarray(0, visibleCount)],
    documentCount: counted[0],
    totals: [...totals],
    documents: [...documents.subarray(0, totals[0])],
    results: [...results.subarray(0, totals[0] * resultWordCount)],
    counts: [...counts],
  };
}

/** The contract of both functions, document by document. */
function naive(
  contents: readonly (readonly Document[])[],
  table: DocumentTable,
  masks: readonly number[],
  rowCounts: readonly number[],
): unknown {
  const numbered = contents.flatMap((documents, content) => documents.map((one) => ({ ...one, content })));
  const visible = numbered
    .map((one, number) => ({ ...one, number }))
    .filter(({ isDead, branches, repository }) => !isDead && (branches & masks[repository]) !== 0);
  const found = visible.filter(({ content }) => (rowCounts[content] ?? 0) > 0);
  const rowFrom = (content: number): number => rowCounts.slice(0, content).reduce((sum, count) => sum + count, 0);
  const counts = new Array<number>(countWords(table)).fill(0);
  for (const { repository, info, content } of found) {
    counts[repository] += rowCounts[content];
    counts[repositoryCount + (info >>> 16)] += rowCounts[content];
    for (let kind = 0; kind < 8; kind++)
      if ((info >>> (8 + kind)) & 1) counts[repositoryCount + languageCount + kind] += rowCounts[content];
  }
  const wordsOf = ({ number, content, repository, info }: (typeof found)[number]): number[] => {
    const words = new Array<number>(resultWordCount).fill(0);
    words[resultWords.pathFrom] = number * 5;
    words[resultWords.pathTo] = number * 5 + 4;
    words[resultWords.headFrom] = repository * 100;
    words[resultWords.headTo] = repository * 100 + 9;
    words[resultWords.tailFrom] = (info >>> 16) * 3;
    words[resultWords.tailTo] = (info >>> 16) * 3 + 3;
    words[resultWords.contentFrom] = content * contentBytes;
    words[resultWords.contentTo] = (content + 1) * contentBytes;
    words[resultWords.linesBefore] = content * 7;
    words[resultWords.rowFrom] = rowFrom(content);
    words[resultWords.rowTo] = rowFrom(content) + rowCounts[content];
    return words;
  };
  return {
    visible: [...new Set(visible.map(({ content }) => content))],
    documentCount: visible.length,
    totals: [found.length, found.reduce((sum, { content }) => sum + rowCounts[content], 0), Math.max(0, ...rowCounts)],
    documents: found.map(({ number }) => number),
    results: found.flatMap(wordsOf),
    counts,
  };
}

forEachKernel("documents with rows are listed", (t, kernel) => {
  const masks = fc.array(fc.nat({ max: 7 }), { minLength: repositoryCount, maxLength: repositoryCount });
  const rowCounts = fc.array(fc.nat({ max: 4 }), { minLength: 8, maxLength: 8 });
  holds(
    t,
    500,
    fc.property(shard, masks, rowCounts, (contents, searched, given) => {
      const counts = given.slice(0, contents.length - 1);
      const table = tableOf(contents, searched);
      const actual = listed(kernel, table, counts);
      const expected = naive(contents, table, searched, counts);
      if (JSON.stringify(actual) !== JSON.stringify(expected))
        throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
    }),
  );
});

/** What a kernel counts of documents with these numbers of rows, without some of them. */
function counted(
  kernel: Kernel,
  table: DocumentTable,
  rowCounts: readonly number[],
  leftOut: readonly number[],
  countMax: number,
): unknown {
  const counts = new Uint32Array(countWords(table));
  const totals = new Uint32Array(3);
  const found = Uint32Array.from(rowCounts.flatMap((count, document) => [document, count]));
  const isCounted = kernel.countDocuments({
    table,
    found,
    leftOut: Uint32Array.from(leftOut),
    countMax,
    counts,
    totals,
  });
  return isCounted && [[...totals], [...counts]];
}

forEachKernel("documents that were found are counted", (t, kernel) => {
  const inPath = 0x8000_0000;
  const rowCount = fc.tuple(fc.nat({ max: 4 }), fc.boolean()).map(([count, hasPath]) => count + (hasPath ? inPath : 0));
  const rowCounts = fc.array(rowCount, { minLength: 24, maxLength: 24 });
  const leftOut = fc.array(fc.boolean(), { minLength: 24, maxLength: 24 });
  holds(
    t,
    300,
    fc.property(shard, rowCounts, leftOut, fc.nat({ max: 40 }), (contents, given, isLeftOut, countMax) => {
      const documents = contents.flat();
      const table = tableOf(contents, [7, 7, 7]);
      const counts = new Array<number>(countWords(table)).fill(0);
      const totals = [0, 0, 0];
      documents.forEach(({ repository, info }, i) => {
        if (isLeftOut[i]) return;
        const rows = given[i] % inPath;
        const count = Math.max(1, rows);
        totals[0] += count;
        totals[1] += rows;
        totals[2] += Number(rows === 0 || given[i] >= inPath);
        counts[repository] += count;
        counts[repositoryCount + (info >>> 16)] += count;
        for (let kind = 0; kind < 8; kind++)
          if ((info >>> (8 + kind)) & 1) counts[repositoryCount + languageCount + kind] += count;
      });
      const numbers = documents.map((_, i) => i).filter((i) => isLeftOut[i]);
      const actual = counted(kernel, table, given.slice(0, documents.length), numbers, countMax);
      const expected = totals[0] <= countMax && [totals, counts];
      if (JSON.stringify(actual) !== JSON.stringify(expected))
        throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
    }),
  );
});

forEachKernel("arrays that contradict each other", (t, kernel) => {
  if (kernel.name === "ts") return;
  const one = { repository: 0, branches: 1, info: 0, isDead: false };
  const table = tableOf([[one], []], [1, 1, 1]);
  const call = (changed: Partial<DocumentTable>, contents: readonly number[]) => (): unknown =>
    kernel.visibleContents(
      { ...table, ...changed },
      Uint32Array.from(contents),
      contents.length,
      new Uint32Array(4),
      new Uint32Array(1),
    );
  t.equal(call({}, [0, 1])(), 1);
  t.throws(call({}, [2]), TypeError, "a content that does not exist");
  t.throws(call({ contentStart: new Uint32Array(0) }, [0]), TypeError, "no starts");
  t.throws(call({ contentFirstDocument: Uint32Array.of(0, 9, 9) }, [0]), TypeError, "a document that does not exist");
  t.throws(call({ documentRepository: Uint32Array.of(7) }, [0]), TypeError, "a repository that does not exist");
  const list = (changed: Partial<DocumentTable>, room: number) => (): void =>
    kernel.listResults({
      table: { ...table, ...changed },
      contents: Uint32Array.of(0),
      contentCount: 1,
      rows: Uint32Array.of(1, 2),
      rowCount: 1,
      results: new Uint32Array(room * resultWordCount),
      documents: new Uint32Array(room),
      counts: new Uint32Array(countWords(table)),
      totals: new Uint32Array(3),
    });
  t.doesNotThrow(list({}, 1));
  t.throws(list({}, 0), TypeError, "no room");
  t.throws(list({ documentInfo: Uint32Array.of(0xffff0000) }, 1), TypeError, "a language that does not exist");
});
