/** Who asks. What a viewer may do and see follows from it alone. */
export interface Viewer {
  /** Undefined for somebody without an account. */
  readonly userId: number | undefined;
  /** "" for somebody without an account. */
  readonly name: string;
  readonly isSiteAdmin: boolean;
  /**
   * Its own name and those of its organisations, in lower case and in order: private repositories name their readers
   * so.
   */
  readonly readerNames: readonly string[];
  /** The site admin who acts as this user with a sudo token; undefined where the user acts alone. */
  readonly sudoBy: string | undefined;
  /** Whether the request comes from a browser that is signed in, so that there is something to sign out of. */
  readonly isSignedIn: boolean;
  /** With what the request was sent; undefined without an account, and for the operator. */
  readonly credential?: ViewerCredential;
}

/** `scopes` are what the token permits. */
export type ViewerCredential =
  | { readonly kind: "token"; readonly id: number; readonly scopes: readonly string[] }
  | { readonly kind: "session" };

export const anonymous: Viewer = {
  userId: undefined,
  name: "",
  isSiteAdmin: false,
  readerNames: [],
  sudoBy: undefined,
  isSignedIn: false,
};

/** Whoever may open the control socket: nothing is hidden. */
export const operatorViewer: Viewer = { ...anonymous, isSiteAdmin: true };
