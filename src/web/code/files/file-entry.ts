/** What GraphQL tells about the entry at a path; sizes and languages are those of a file. */
export interface FileEntry {
  readonly isDirectory: boolean;
  readonly byteSize?: number;
  readonly totalLines?: number;
  readonly binary?: boolean;
  readonly languages?: readonly string[];
  readonly externalURLs: readonly { readonly url: string; readonly serviceKind: string | null }[];
}
