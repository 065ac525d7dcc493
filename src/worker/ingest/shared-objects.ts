import { hashObject, type ObjectKind, type ObjectName, type Objects } from "../../objects/object-store.js";
import { type ObjectSettings, openObjects } from "../../objects/open-objects.js";

/** The store of this thread, with its connections, and how it is reached. */
let opened: { readonly key: string; readonly objects: Objects } | undefined;

export function openThreadObjects(settings: ObjectSettings): Objects {
  const key = JSON.stringify(settings);
  if (opened?.key !== key) opened = { key, objects: openObjects(settings) };
  return opened.objects;
}

/** Stores bytes as an object; returns its name. */
export async function storeObject(
  settings: ObjectSettings,
  kind: ObjectKind,
  bytes: Buffer,
  stop: Int32Array,
): Promise<ObjectName> {
  const name = hashObject(kind, bytes);
  await openThreadObjects(settings).put(name, bytes, () => Atomics.load(stop, 0) !== 0);
  return name;
}
