/** A task that does nothing. */
export function echo(): void {}
