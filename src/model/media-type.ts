/** Files that a browser shows by itself, by the end of their names. */
const typeOfExtension: Readonly<Record<string, string>> = {
  avif: "image/avif",
  bmp: "image/bmp",
  gif: "image/gif",
  ico: "image/x-icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  webp: "image/webp",
};

/** The type of an image or a document at this path; undefined for anything else. */
export function mediaType(path: string): string | undefined {
  const [, extension = ""] = /\.(\w{1,8})$/.exec(path.toLowerCase()) ?? [];
  return Object.hasOwn(typeOfExtension, extension) ? typeOfExtension[extension] : undefined;
}
