/** What GraphQL tells about the entry at a path; the size is that of a file. */
export interface FileEntry {
  readonly isDirectory: boolean;
  readonly byteSize?: number | null | undefined;
}
