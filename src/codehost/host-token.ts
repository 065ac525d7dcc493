/** What requests to a host are authorized with. */
export interface HostToken {
  /** Without one, hosts list only what everybody may read. */
  readonly isGiven: boolean;
  /** "" if none is given. Rejects if there should be one, and cannot be had. */
  current(): Promise<string>;
  /** Another one, after the host has refused this one; undefined if there is none. */
  replace(refused: string): Promise<string | undefined>;
}

/** A token that the operator has written; "" for none. */
export function fixedToken(token: string): HostToken {
  return {
    isGiven: token !== "",
    current: () => Promise.resolve(token),
    replace: () => Promise.resolve(undefined),
  };
}
