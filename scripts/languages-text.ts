import { readFileSync } from "node:fs";
import * as linguist from "linguist-languages";

/** The description of a language in the package. */
interface LinguistLanguage {
  readonly name: string;
  readonly extensions?: readonly string[];
  readonly filenames?: readonly string[];
  readonly aliases?: readonly string[];
  readonly interpreters?: readonly string[];
}

/** Languages that other implementations of this interface know, and linguist does not. */
const otherLanguages: readonly LinguistLanguage[] = [{ name: "Magik", extensions: [".magik"], aliases: ["magik"] }];

const packageFolder = new URL("../../node_modules/linguist-languages/", import.meta.url);

/**
 * The text of `src/model/languages.tsv`: one line for each language of linguist, in its order, and for a few others, with
 * the properties that Trawl uses. The licences of the package and of linguist come first, as they require.
 */
export function languagesText(): string {
  const licences = ["LICENSE", "ThirdPartyNoticeText.txt"].map((name) =>
    readFileSync(new URL(name, packageFolder), "utf8").trim(),
  );
  const notice = ["Generated from the npm package linguist-languages by `make languages`.", ...licences].join("\n\n");
  const languages: readonly LinguistLanguage[] = [...Object.values(linguist), ...otherLanguages];
  const lines = [
    ...notice.split("\n").map((line) => `# ${line}`.trimEnd()),
    ["# name", "extensions", "filenames", "aliases", "interpreters"].join("\t"),
    ...languages.map(({ name, extensions, filenames, aliases, interpreters }) =>
      [name, ...[extensions, filenames, aliases, interpreters].map((list = []) => list.map(checked).join(","))].join(
        "\t",
      ),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function checked(value: string): string {
  if (/[,\t\n]/.test(value)) throw new RangeError(`languages.tsv cannot represent ${JSON.stringify(value)}`);
  return value;
}
