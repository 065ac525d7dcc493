/** Who asks. What a viewer may do follows from it alone. */
export interface Viewer {
  /** Undefined for somebody without an account. */
  readonly userId: number | undefined;
  readonly isSiteAdmin: boolean;
}

export const anonymous: Viewer = { userId: undefined, isSiteAdmin: false };
