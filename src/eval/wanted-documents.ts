/** Of a ranked search, either one document is written, or the others. */
export interface WantedDocuments {
  readonly only: number | undefined;
  readonly except: ReadonlySet<number> | undefined;
  /** The member `debug` of the results; undefined for none. */
  readonly debug: string | undefined;
}

export const allDocuments: WantedDocuments = { only: undefined, except: undefined, debug: undefined };
