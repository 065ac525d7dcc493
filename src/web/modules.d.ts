/** An image: Vite replaces the import with the address of the file. */
declare module "*.svg" {
  const url: string;
  export default url;
}
