/** Which documents of a shard are written. A ranked search writes the best ones one by one, and then all but those. */
export interface WantedDocuments {
  readonly only: number | undefined;
  readonly except: ReadonlySet<number> | undefined;
  /** The member `debug` of the results; undefined for none. */
  readonly debug: string | undefined;
}
