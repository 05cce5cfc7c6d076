// What is used of Node's modules, so that nothing has to be installed to build this.
declare module "node:crypto" {
  export const webcrypto: { subtle: SubtleCrypto };
  export function randomBytes(size: number): { toString(encoding: "hex"): string };
}

declare module "node:fs/promises" {
  interface FileHandle {
    write(data: Uint8Array): Promise<unknown>;
    sync(): Promise<void>;
    close(): Promise<void>;
  }
  export function open(path: string, flags: string): Promise<FileHandle>;
  export function rename(from: string, to: string): Promise<void>;
  export function rm(path: string, options: { force: boolean }): Promise<void>;
}

declare module "node:path" {
  export function basename(path: string): string;
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
}
