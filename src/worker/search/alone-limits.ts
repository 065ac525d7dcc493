/**
 * A slice that is alone requests others when it has found more candidates than this, or has taken longer than this. To
 * wake another thread takes 0.1 ms of processor time on each side, in which a thread examines 20 shards or 50 contents.
 */
export const aloneContentsMax = 32;
export const aloneMs = 1;
