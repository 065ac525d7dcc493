/** The originator of a request. All permissions are derived from it. */
export interface Viewer {
  /** Undefined without an account. */
  readonly userId: number | undefined;
  /** "" without an account. */
  readonly name: string;
  readonly isSiteAdmin: boolean;
  /**
   * Its own name and those of its organizations, in lower case and sorted: the `readers` of private repositories refer
   * to them.
   */
  readonly readerNames: readonly string[];
  /** The site admin who acts as this user with a sudo token; undefined otherwise. */
  readonly sudoBy: string | undefined;
  /** Whether the request comes from a signed-in browser, so that it can sign out. */
  readonly isSignedIn: boolean;
  /** Absent for viewers with all of their rights. */
  readonly narrowed?: NarrowedView;
  /** The credential of the request; undefined without an account, and for the operator. */
  readonly credential?: ViewerCredential;
}

/**
 * What a narrow token leaves of its user's rights: it reads, and acts for nobody. It has the rights of no site admin, except
 * that it sees what a site admin sees.
 */
export interface NarrowedView {
  readonly seesPrivate: boolean;
  /** Names of the only repositories that exist for it, sorted; undefined for all that its user may see. */
  readonly repositories: readonly string[] | undefined;
}

/** `scopes` are the permissions of the token. */
export type ViewerCredential =
  | { readonly kind: "token"; readonly id: number; readonly scopes: readonly string[] }
  /** `id` is that by which `Sessions` knows it. */
  | { readonly kind: "session"; readonly id: string };

export const anonymous: Viewer = {
  userId: undefined,
  name: "",
  isSiteAdmin: false,
  readerNames: [],
  sudoBy: undefined,
  isSignedIn: false,
};

/** The viewer for the control socket: nothing is hidden. */
export const operatorViewer: Viewer = { ...anonymous, isSiteAdmin: true };
