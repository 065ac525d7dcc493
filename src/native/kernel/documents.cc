#include "documents.h"

#include <algorithm>
#include <cstring>

namespace trawl {
namespace {

// The words of a repository in the table.
struct Repository {
  uint32_t branchMask, headFrom, headTo;
};

constexpr size_t repositoryWordCount = sizeof(Repository) / sizeof(uint32_t);
constexpr size_t fileKindCount = 8;
constexpr size_t noContents = SIZE_MAX;

// Language, file kinds and skip reason of a document, as format.ts packs them.
struct DocumentInfo {
  uint32_t word;

  size_t language() const { return word >> 16; }
  uint32_t fileKinds() const { return word >> 8 & 0xff; }
};

// The documents of one content.
struct Documents {
  size_t from, to;
};

// Whether the documents of the content, or of the number after the last one, are in the table.
bool documentsOf(const DocumentTable& table, size_t content, Documents& documents) {
  if (content > table.contentCount()) return false;
  documents = {table.contentFirstDocument[content], table.contentFirstDocument[content + 1]};
  return documents.from <= documents.to && documents.to <= table.documentRepository.length;
}

bool repositoryOf(const DocumentTable& table, size_t document, Repository& repository) {
  size_t at = repositoryWordCount * table.documentRepository[document];
  if (at + repositoryWordCount > table.repositories.length) return false;
  memcpy(&repository, table.repositories.data + at, sizeof repository);
  return true;
}

bool isVisible(const DocumentTable& table, size_t document, const Repository& repository) {
  if ((table.documentBranches[document] & repository.branchMask) == 0) return false;
  return document / 32 >= table.tombstones.length || (table.tombstones[document / 32] >> (document % 32) & 1) == 0;
}

// Where matches are counted: by repository, by language, and by kind of file.
struct Counts {
  const DocumentTable& table;
  uint32_t* words;

  size_t repositoryCount() const { return table.repositories.length / repositoryWordCount; }
  size_t languageCount() const { return table.tailStarts.length - 1; }
  bool fits(size_t length) const { return length >= repositoryCount() + languageCount() + fileKindCount; }

  // Caller guarantees: the repository and the language are in the table.
  void add(size_t document, const DocumentInfo& info, uint32_t count) {
    words[table.documentRepository[document]] += count;
    words[repositoryCount() + info.language()] += count;
    if (info.fileKinds() == 0) return;
    uint32_t* kinds = words + repositoryCount() + languageCount();
    for (size_t i = 0; i < fileKindCount; i++) kinds[i] += info.fileKinds() >> i & 1 ? count : 0;
  }
};

// Appends the document as a result; false if a value points outside its array.
bool append(ListJob& job, size_t content, size_t document, const Repository& repository, size_t rowFrom, size_t rowTo) {
  const DocumentTable& table = job.table;
  const DocumentInfo info = {table.documentInfo[document]};
  const size_t languageCount = table.tailStarts.length - 1;
  if (info.language() >= languageCount || job.resultCount == job.capacity) return false;
  const ResultWords words = {
      table.pathStart[document], table.pathStart[document + 1] - 1,
      repository.headFrom, repository.headTo,
      table.tailStarts[info.language()], table.tailStarts[info.language() + 1],
      table.contentStart[content], table.contentStart[content + 1],
      table.contentFirstLine[content],
      static_cast<uint32_t>(rowFrom), static_cast<uint32_t>(rowTo),
  };
  memcpy(job.results + job.resultCount * resultWordCount, &words, sizeof words);
  job.documents[job.resultCount++] = static_cast<uint32_t>(document);
  const uint32_t count = static_cast<uint32_t>(rowTo - rowFrom);
  job.matchCount += count;
  Counts{table, job.counts}.add(document, info, count);
  return true;
}

bool appendDocuments(ListJob& job, size_t content, size_t rowFrom, size_t rowTo) {
  Documents documents;
  if (!documentsOf(job.table, content, documents)) return false;
  if (rowTo - rowFrom > job.rowCountMax) job.rowCountMax = rowTo - rowFrom;
  for (size_t document = documents.from; document < documents.to; document++) {
    Repository repository;
    if (!repositoryOf(job.table, document, repository)) return false;
    if (!isVisible(job.table, document, repository)) continue;
    if (!append(job, content, document, repository, rowFrom, rowTo)) return false;
  }
  return true;
}

}  // namespace

bool DocumentTable::isSound() const {
  const size_t documentCount = documentRepository.length;
  return contentStart.length == contentCount() + 1 && contentFirstDocument.length == contentCount() + 2 &&
         pathStart.length == documentCount + 1 && documentBranches.length == documentCount &&
         documentInfo.length == documentCount && tailStarts.length > 0;
}

size_t visibleContents(VisibleJob& job) {
  size_t kept = 0;
  job.documentCount = 0;
  for (size_t i = 0; i < job.contents.length; i++) {
    Documents documents;
    if (!documentsOf(job.table, job.contents[i], documents)) return noContents;
    size_t visible = 0;
    for (size_t document = documents.from; document < documents.to; document++) {
      Repository repository;
      if (!repositoryOf(job.table, document, repository)) return noContents;
      visible += isVisible(job.table, document, repository);
    }
    job.documentCount += visible;
    if (visible > 0) job.out[kept++] = job.contents[i];
  }
  return kept;
}

bool listResults(ListJob& job) {
  const DocumentTable& table = job.table;
  if (!Counts{table, job.counts}.fits(job.countsLength)) return false;
  size_t row = 0;
  for (size_t i = 0; i < job.contents.length && row < job.rowCount; i++) {
    const size_t content = job.contents[i];
    if (content >= table.contentCount()) break;
    const size_t rowFrom = row, end = table.contentStart[content + 1];
    while (row < job.rowCount && job.rows[2 * row] < end) row++;
    if (row > rowFrom && !appendDocuments(job, content, rowFrom, row)) return false;
  }
  return row == job.rowCount;
}

CountEnd countDocuments(CountJob& job) {
  const DocumentTable& table = job.table;
  Counts counts = {table, job.counts};
  if (!counts.fits(job.countsLength)) return CountEnd::misuse;
  const uint32_t* leftOutEnd = job.leftOut.data + job.leftOut.length;
  for (size_t at = 0; at + 2 <= job.found.length; at += 2) {
    const uint32_t document = job.found[at], rows = job.found[at + 1] & ~rangesInPath;
    Repository repository;
    if (document >= table.documentRepository.length || !repositoryOf(table, document, repository)) return CountEnd::misuse;
    const DocumentInfo info = {table.documentInfo[document]};
    if (info.language() >= counts.languageCount()) return CountEnd::misuse;
    if (std::binary_search(job.leftOut.data, leftOutEnd, document)) continue;
    const uint32_t count = std::max(1u, rows);
    job.matchCount += count;
    if (job.matchCount > job.countMax) return CountEnd::tooMany;
    job.contentMatches += rows;
    job.pathMatches += rows == 0 || (job.found[at + 1] & rangesInPath) != 0;
    counts.add(document, info, count);
  }
  return CountEnd::counted;
}

}  // namespace trawl
