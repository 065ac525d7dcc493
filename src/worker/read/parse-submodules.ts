import { splitOnce } from "../../base/text.js";

/** Limit on the size of a `.gitmodules` file. 10,000 submodules take about 1 MiB. */
export const submodulesBytesMax = 1 << 20;

/** Sections with `path = …` and `url = …`, by path; values with other quoting or continuation lines are skipped. */
export function parseSubmodules(text: string): Map<string, string> {
  const urls = new Map<string, string>();
  let section: Map<string, string> | undefined;
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line.startsWith("[submodule ") && line.endsWith("]")) section = new Map();
    const [name = "", value = ""] = splitOnce(line, "=") ?? [];
    addSetting(section, name.trim(), value.trim());
    const [path, url] = [section?.get("path"), section?.get("url")];
    if (path !== undefined && url !== undefined) urls.set(path, url);
  }
  return urls;
}

/** Only the first setting of each name counts. */
function addSetting(section: Map<string, string> | undefined, name: string, value: string): void {
  if (section !== undefined && (name === "path" || name === "url") && value !== "" && !section.has(name))
    section.set(name, value);
}
