/** The encodings of texts, by the names that `iconv` knows. */
export type TextEncoding =
  | "UTF-8"
  | "UTF-16LE"
  | "UTF-16BE"
  | "UTF-32LE"
  | "UTF-32BE"
  | "ISO-2022-JP"
  | "GB18030"
  | "CP932"
  | "EUC-JP"
  | "CP949"
  | "BIG5"
  | "WINDOWS-1252";

/** A text that was decoded, as a string. */
export interface DecodedText {
  readonly text: string;
  readonly encoding: TextEncoding;
}
