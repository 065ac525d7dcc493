#include "file-weight.h"

#include <cstring>
#include <string_view>

namespace trawl {
namespace {

using std::string_view;

template <size_t count>
bool isOneOf(string_view name, const string_view (&names)[count]) {
  for (string_view one : names) {
    if (name == one) return true;
  }
  return false;
}

constexpr string_view vendoredFolders[] = {"vendor", "vendored", "thirdparty", "third_party", "third-party",
                                           "node_modules", "bower_components", "external", "deps"};
constexpr string_view generatedFolders[] = {"dist", "build", "out", "generated", "__generated__"};
constexpr string_view testFolders[] = {"test", "tests", "testing", "testdata", "testutil", "testutils", "__tests__", "__mocks__",
                                       "mock", "mocks", "spec", "specs", "fixtures", "selftests", "kunit"};
constexpr string_view exampleFolders[] = {"example", "examples", "sample", "samples", "demo", "demos", "tutorial",
                                          "tutorials", "benchmark", "benchmarks", "tools", "scripts"};
constexpr string_view textNames[] = {"doc", "documentation", "changelog", "changes", "license", "copying"};
constexpr string_view textExtensions[] = {"md", "markdown", "rst", "txt", "adoc", "htm", "html", "css", "json", "yml",
                                          "yaml", "toml", "xml", "svg", "po", "pot", "csv", "tsv", "log", "lock", "dts", "dtsi"};
constexpr string_view generatedEndings[] = {".min.js", ".min.css", ".js.map", ".css.map", ".pb.go", ".pb.h", ".pb.cc",
                                            "_pb2.py", "-lock.json", ".lock", ".sum"};
constexpr string_view declarationEndings[] = {".d.ts", ".d.cts", ".d.mts"};

bool endsWithOneOf(string_view path, const string_view* endings, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (path.ends_with(endings[i])) return true;
  }
  return false;
}

// Whether `[._-]generated\.` matches.
bool namesGenerated(string_view path) {
  constexpr string_view word = "generated.";
  for (size_t at = path.find(word); at != string_view::npos; at = path.find(word, at + 1)) {
    if (at > 0 && (path[at - 1] == '.' || path[at - 1] == '_' || path[at - 1] == '-')) return true;
  }
  return false;
}

struct Extension {
  // What precedes the last dot, and what follows it.
  string_view stem, text;
  // Whether it consists of letters, of which it has some.
  bool isWord;
};

Extension extensionOf(string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == string_view::npos) return {path, {}, false};
  Extension extension = {path.substr(0, dot), path.substr(dot + 1), dot + 1 < path.size()};
  for (char byte : extension.text) extension.isWord = extension.isWord && byte >= 'a' && byte <= 'z';
  return extension;
}

// The parts of a test's name that come before its extension: `_test`, or `.`, `_` or `-` and `test` or `spec`.
bool namesTest(const Extension& extension) {
  if (!extension.isWord || extension.stem.size() < 5) return false;
  const string_view end = extension.stem.substr(extension.stem.size() - 5);
  return (end[0] == '.' || end[0] == '_' || end[0] == '-') && (end.substr(1) == "test" || end.substr(1) == "spec");
}

// The flags of a document, as `documentFlags` of src/shard/format.ts.
constexpr uint32_t areKindsGiven = 2, isGenerated = 4, isVendored = 8;

// What the folders and the name of a path tell.
struct PathKinds {
  bool isVendored = false, isGenerated = false, isTest = false, isExample = false, isText = false;

  void addFolder(string_view name) {
    isVendored = isVendored || isOneOf(name, vendoredFolders);
    isGenerated = isGenerated || isOneOf(name, generatedFolders);
    isTest = isTest || isOneOf(name, testFolders);
    isExample = isExample || isOneOf(name, exampleFolders);
  }

  // A folder or the name of the file.
  void addName(string_view name) {
    isGenerated = isGenerated || name.starts_with("zz_generated");
    for (string_view start : textNames) isText = isText || name.starts_with(start);
  }
};

}  // namespace

double weighFile(Text text, uint32_t info) {
  const string_view path(reinterpret_cast<const char*>(text.data), text.length);
  PathKinds kinds;
  size_t from = 0;
  for (size_t slash = path.find('/'); slash != string_view::npos; slash = path.find('/', from)) {
    const string_view name = path.substr(from, slash - from);
    kinds.addFolder(name);
    kinds.addName(name);
    from = slash + 1;
  }
  const string_view name = path.substr(from);
  kinds.addName(name);
  const Extension extension = extensionOf(path);
  const bool isPythonTest = name.starts_with("test_") && name.size() >= 8 && name.ends_with(".py");
  kinds.isGenerated = kinds.isGenerated || endsWithOneOf(path, generatedEndings, std::size(generatedEndings)) || namesGenerated(path);
  kinds.isTest = kinds.isTest || namesTest(extension) || isPythonTest || path.ends_with("_mock.go");
  const bool isDeclaration = endsWithOneOf(path, declarationEndings, std::size(declarationEndings));
  kinds.isText = kinds.isText || (extension.stem.size() < path.size() && isOneOf(extension.text, textExtensions));
  const uint32_t flags = info >> 4;
  if (flags & areKindsGiven) {
    kinds.isGenerated = (flags & isGenerated) != 0;
    kinds.isVendored = (flags & isVendored) != 0;
  }
  double factor = 1;
  if (kinds.isVendored) factor *= 0.4;
  if (kinds.isGenerated) factor *= 0.4;
  if (kinds.isTest) factor *= 0.5;
  if (isDeclaration) factor *= 0.7;
  if (kinds.isExample) factor *= 0.7;
  if (kinds.isText) factor *= 0.6;
  return factor;
}

}  // namespace trawl
