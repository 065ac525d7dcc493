/** An image: Vite replaces the import with the address of the file. */
declare module "*.svg" {
  const url: string;
  export default url;
}

/** The text of a file. */
declare module "*?raw" {
  const text: string;
  export default text;
}
